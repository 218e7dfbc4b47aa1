"""Replies of a server: one JSON object, or server-sent events."""

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from needlework.models.model import Request, Response, json_of, part_reasoning
from needlework.models.served.errors import HangUpError, ServerSaidError, UnreadableError
from needlework.models.tokenizers.tokenizer import Tokenizer

Translate = Callable[[dict[str, Any]], dict[str, Any]]
"""Translates an answer, or an event of one, to the fields of OpenAI's."""


def read_body(body: bytes, prompt: str, translate: Translate = dict) -> Response:
    """Read an answer that is one JSON object. Raises `UnreadableError`, `HangUpError`, `ServerSaidError`."""
    if (data := json_of(body)) is None:
        shown = " ".join(body[:200].decode("utf-8", "replace").split())
        raise UnreadableError(f"the answer is not JSON: {shown!r}")
    parts = _Parts(translate)
    parts.add(data)
    return parts.response(prompt)


class Events:
    """Reads an answer that comes as server-sent events. Raises as `read_body`.

    `begun`: the `time.perf_counter()` time of the request. The time of the first token is unknown if all tokens
    came in one piece, because something buffered the stream.
    """

    def __init__(self, prompt: str, begun: float, translate: Translate = dict) -> None:
        self._prompt = prompt
        self._begun = begun
        self._parts = _Parts(translate)
        self._rest = b""
        self._event = ""
        self._data = ""  # of an event whose data is not whole yet
        self._ended = False
        self._with_text = 0  # chunks
        self._ttft_s: float | None = None

    def take(self, chunk: bytes) -> bool:
        """Add a chunk; return whether the answer says that it is complete."""
        before = self._parts.texts
        lines = (self._rest + chunk).splitlines(keepends=True)
        # The rest of a line, or the second half of its end, may follow.
        self._rest = b"" if not lines or lines[-1].endswith(b"\n") else lines.pop()
        for line in lines:
            self._add(line)
        self._with_text += self._parts.texts > before
        return self._ended

    def _add(self, raw: bytes) -> None:
        if self._ended:
            return
        try:
            line = raw.decode().rstrip("\r\n")
        except UnicodeDecodeError:
            shown = raw[:200].decode("utf-8", "replace")
            raise UnreadableError(f"an event of the stream is not UTF-8: {shown!r}") from None
        if not line:
            if self._data:
                raise UnreadableError(f"an event of the stream is not JSON: {self._data[:200]!r}")
            self._event = ""
            return
        name, _, value = line.partition(":")
        value = value.strip()
        if name == "event":
            self._event = value
        elif name == "data" and value:
            self._add_data(f"{self._data}\n{value}" if self._data else value)
        # Comments keep the connection alive; other fields are not needed.

    def _add_data(self, data: str) -> None:
        """Add an event's data once they are complete: they may come in several lines."""
        if data == "[DONE]":
            self._ended = True
            return
        event = json_of(data)
        if self._event == "error":
            raise ServerSaidError(error_in(event) or event if isinstance(event, dict) else {"message": data})
        self._data = data if event is None else ""
        if event is None:
            return
        self._parts.add(event)
        if self._ttft_s is None and self._parts.texts:
            self._ttft_s = time.perf_counter() - self._begun

    def reply(self) -> Response:
        """The answer, when all has come."""
        for line in (self._rest, b""):
            self._add(line)
        parts = self._parts
        if parts.finish_reason is None and not (self._ended and (parts.usage or parts.timings)):
            if not parts.events:
                raise UnreadableError("the answer is an empty stream")
            raise HangUpError("the stream ended in the middle of the answer", begun=True)
        response = parts.response(self._prompt)
        in_pieces = self._with_text > 1 or response.completion_tokens == 1
        return replace(response, ttft_s=self._ttft_s if in_pieces else None)


@dataclass(slots=True)
class _Parts:
    """The parts of an answer so far: one for a body, many for a stream."""

    translate: Translate
    has_choice: bool = False  # of index 0, where several answers were asked for
    text: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    finish_reason: str | None = None
    usage: dict[str, Any] = field(default_factory=dict)
    timings: Mapping[str, Any] = field(default_factory=dict)
    events: int = 0
    texts: int = 0
    without_role: int = 0  # pieces of text
    names: dict[str, str] = field(default_factory=dict)
    ids: set[str] = field(default_factory=set)  # of pieces of text

    def add(self, data: Any) -> None:
        if not isinstance(data, dict):
            raise UnreadableError(f"the answer is no JSON object: {str(data)[:200]!r}")
        if (error := error_in(data)) is not None:
            raise ServerSaidError(error)
        data = self.translate(data)
        self.events += 1
        for name in ("id", "model", "system_fingerprint"):
            if isinstance(value := data.get(name), str) and value:
                self.names[name] = value
        self.usage |= table_of(data.get("usage"))
        self.timings = table_of(data.get("timings")) or self.timings
        before = self.texts
        for choice in list_of(data.get("choices")):
            if isinstance(choice, dict):
                self._add_choice(choice)
        if self.texts > before:
            self.ids.add(self.names.get("id", ""))
        if 1 < len(self.ids) < self.texts:  # some servers give each event an id of its own
            raise UnreadableError("pieces of two answers stand in one stream: their ids differ")

    def _add_choice(self, choice: dict[str, Any]) -> None:
        if choice.get("index") not in (0, None):
            return
        self.has_choice = True
        text, thought = text_and_reasoning(choice)
        begins = "role" in table_of(choice.get("delta"))
        if begins and not (text or thought or choice.get("finish_reason")) and self.text and self.without_role:
            raise UnreadableError("the answer begins again in the middle of its stream")
        self.text += [text] if text else []
        self.reasoning += [thought] if thought else []
        self.texts += bool(text or thought)
        self.without_role += bool(text) and not begins
        self.finish_reason = choice.get("finish_reason") or self.finish_reason

    def response(self, prompt: str) -> Response:
        if not self.has_choice:
            raise UnreadableError("the answer has no choices")
        finish = finish_of(self.finish_reason)
        if finish.lower() in _GAVE_UP:
            raise HangUpError(f"the server gave up in the middle of the answer: {finish}", begun=True)
        counts = token_counts(self.usage, self.timings)
        # Some gateways send the whole text so far in each piece.
        repeats = len(self.text) > 2 and all(
            len(one) < len(two) and two.startswith(one) for one, two in pairwise(self.text)
        )
        thought = _joined(self.reasoning)
        # If the server has parted the reasoning, the prompt's opening mark of it is not looked for.
        text = _joined(self.text[-1:] if repeats else self.text)
        parted = part_reasoning(text, "" if thought or counts["reasoning_tokens"] else prompt)
        reasoning = "\n".join(part for part in (thought, parted.reasoning) if part)
        empty = not parted.answer.strip()
        flags = {
            "unclosed_reasoning": empty and parted.unclosed,
            "reasoning_only": empty and (reasoning or counts["reasoning_tokens"]),
            "no_finish_reason": finish == "missing",
            "cumulative_stream": repeats,
        }
        return Response(
            text=parted.answer,
            reasoning=reasoning,
            finish_reason=finish,
            id=self.names.get("id", ""),
            model=self.names.get("model", ""),
            fingerprint=self.names.get("system_fingerprint", ""),
            prompt_tokens=counts["prompt_tokens"],
            completion_tokens=counts["completion_tokens"],
            reasoning_tokens=counts["reasoning_tokens"],
            cached_tokens=counts["cached_tokens"],
            flags=tuple(flag for flag, is_set in flags.items() if is_set),
        )


def _joined(parts: list[str]) -> str:
    """The parts as one text; halves of emoji (surrogates) are joined, a single one replaced."""
    text = "".join(parts)
    if not re.search("[\ud800-\udfff]", text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


_CHARS_A_TOKEN = 32  # hardly any token has more
_SPARE_TOKENS = 16  # the server's tokenizer may part the same text otherwise


def checked_by_budget(reply: Response, request: Request, tokenizer: Tokenizer) -> Response:
    """The reply with the finish reason and the flag `over_budget` that its own tokens show.

    `length`: just the whole budget was used. `unfinished`: it ended with reasoning alone. Of a reply that is far longer
    than its budget the beginning is kept, `_CHARS_A_TOKEN` characters a token: such replies can have gigabytes, and
    have the answer at their beginning or not at all.
    """
    budget = request.answer_budget + request.thinking_budget
    if reply.finish_reason != "content_filter":
        if reply.completion_tokens in (budget, budget + 1):  # some count the end token; more: no limit was heeded
            reply = replace(reply, finish_reason="length")
        elif reply.finish_reason != "length" and "reasoning_only" in reply.flags:
            reply = replace(reply, finish_reason="unfinished")
    most = _CHARS_A_TOKEN * (budget + _SPARE_TOKENS)
    texts = (reply.text, reply.reasoning)
    if sum(map(len, texts)) <= budget:
        return reply
    if max(map(len, texts)) <= most:
        tokens = sum(len(tokenizer.encode(text).ids) for text in texts if text)
        if tokens <= budget + max(_SPARE_TOKENS, budget // 8):
            return reply
    return replace(reply, text=reply.text[:most], reasoning=reply.reasoning[:most], flags=(*reply.flags, "over_budget"))


# The same text may come under two of these names: the first one counts. DeepSeek and older vLLM; vLLM, OpenRouter;
# Ollama; OpenRouter's and LiteLLM's lists of blocks.
_REASONING = ("reasoning_content", "reasoning", "thinking", "reasoning_text", "reasoning_details", "thinking_blocks")
_FINISH = {
    "stop": "stop eos eos_token end_turn end stop_sequence stop_token complete completed",
    "length": (
        "length max_tokens max_output_tokens max_completion_tokens max_length model_length token_limit incomplete"
        " model_context_window_exceeded continuation"
    ),
    "content_filter": (
        "content_filter content_filtered safety recitation blocklist prohibited_content spii sensitive refusal"
        " guardrail_intervened model_armor jailbreak data_inspection_failed"
    ),
}
_FINISH_OF = {word: meaning for meaning, words in _FINISH.items() for word in words.split()}
# The server itself says that what it sent is not the whole answer.
_GAVE_UP = {
    "abort", "aborted", "cancelled", "canceled", "error", "failed", "network_error", "timeout",
    "insufficient_system_resource", "engine_overloaded",
}  # fmt: skip

_MOST = 10**12  # tokens; whatever is more is no count
# Fields of `Response`, each with its names in `usage`; `timings` is llama.cpp's, cache hits DeepSeek's and Anthropic's,
# names of two words in one Google's.
_COUNTS = {
    "prompt_tokens": "prompt_tokens input_tokens prompt_eval_count promptTokenCount",
    "completion_tokens": "completion_tokens output_tokens eval_count timings.predicted_n",
    "reasoning_tokens": "completion_tokens_details.reasoning_tokens output_tokens_details.reasoning_tokens"
    " output_tokens_details.thinking_tokens reasoning_tokens thoughtsTokenCount",
    "cached_tokens": "prompt_tokens_details.cached_tokens input_tokens_details.cached_tokens prompt_cache_hit_tokens"
    " cache_read_input_tokens cached_tokens timings.cache_n cachedContentTokenCount",
}


def finish_of(word: Any) -> str:
    """`stop`, `length`, `content_filter`, `missing`, or the server's own word where we know none for it."""
    text = str(word).strip()
    return _FINISH_OF.get(text.lower(), text) if word else "missing"


def text_and_reasoning(choice: Mapping[str, Any]) -> tuple[str, str]:
    """(answer text, reasoning) of one choice, whole or a stream's next piece.

    A refusal in a field of its own is the text.
    """
    delta = choice.get("delta")
    # A stream's last event may repeat the whole message beside an empty delta.
    message = delta if isinstance(delta, dict) else choice.get("message")
    if not isinstance(message, dict):
        return _content(choice.get("text"))
    text, thought = _content(message.get("content"))
    text = text or _content(message.get("refusal"))[0]
    return text, next((named for name in _REASONING if (named := _all_text(message.get(name)))), "") or thought


def error_in(data: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The error in an answer, or in an event of one; `None` without one."""
    choices = data.get("choices")
    choices = choices if isinstance(choices, list) else []
    error = data.get("error")
    if isinstance(error, dict) and str(error.get("code")) in ("0", "200") and choices:
        error = None  # some gateways say "no error" beside every good answer
    inside = [choice.get("error") for choice in choices if isinstance(choice, dict)]
    error = error or next(filter(None, inside), None) or data.get("errors")
    if error:
        return error if isinstance(error, dict) else {"message": str(error)}
    status = table_of(data.get("base_resp")).get("status_code")  # MiniMax
    if status or data.get("error_code") or "error" in (data.get("object"), data.get("type")):  # FastChat, vLLM
        return data
    # DashScope, and frameworks below a server: a message in place of an answer.
    message = data.get("message") or data.get("detail")
    bare = not choices and isinstance(message, str) and data.keys() & {"code", "status", "detail", "success"}
    return data if bare else None


def token_counts(usage: Mapping[str, Any], timings: Mapping[str, Any]) -> dict[str, int | None]:
    """The server's counts of tokens, as fields of a `Response`.

    Of the prompt 0 is no count (older Ollama, where all of it was cached); Anthropic, and gateways to it, may count
    cache reads and cache writes apart.
    """
    table = {**usage, "timings": timings}
    counts = {field: _first(table, *names.split()) for field, names in _COUNTS.items()}
    prompt = counts["prompt_tokens"] or 0
    apart = sum(_first(table, f"cache_{name}_input_tokens") or 0 for name in ("read", "creation"))
    if prompt < apart or not _first(table, "prompt_tokens"):
        prompt += apart
    prompt = prompt or sum(_first(table, f"timings.{name}") or 0 for name in ("prompt_n", "cache_n"))
    return {**counts, "prompt_tokens": prompt or None}


def count(value: Any) -> int | None:
    """A number of tokens; `None` for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _MOST:
        return None
    return int(value)


def table_of(value: Any) -> dict[str, Any]:
    """A JSON object, or an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def list_of(value: Any) -> list[Any]:
    """A JSON array, or an empty one for anything else."""
    return value if isinstance(value, list) else []


def field_of(table: Mapping[str, Any], path: str) -> Any:
    """The value at a path: `a.b` is field `b` of table `a`."""
    outer, _, inner = path.rpartition(".")
    return (table_of(table.get(outer)) if outer else table).get(inner)


def _first(table: Mapping[str, Any], *paths: str) -> int | None:
    """The first count above 0 among the values at these paths, 0 where there is no other."""
    counts = [count(field_of(table, path)) for path in paths]
    known = [number for number in counts if number is not None]
    return next(filter(None, known), 0) if known else None


def _content(content: Any) -> tuple[str, str]:
    """(text, reasoning) of a message's content: a string, a number, nothing, or typed blocks."""
    if isinstance(content, str):
        return content, ""
    if isinstance(content, int | float) and not isinstance(content, bool):
        return str(content), ""
    text: list[str] = []
    reasoning: list[str] = []
    for block in content if isinstance(content, list) else [content]:
        if isinstance(block, str):
            text.append(block)
        elif isinstance(block, dict):
            is_text = str(block.get("type", "text")) in ("text", "output_text", "refusal")
            (text if is_text else reasoning).append(_all_text(block))
    return "".join(text), "".join(reasoning)


def _all_text(value: Any) -> str:
    """The text of a field that holds a string, a block, or a list of them; encrypted blocks have none."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(map(_all_text, value))
    names = ("text", "thinking", "reasoning", "content", "summary", "refusal")
    return next((text for name in names if (text := _all_text(table_of(value).get(name)))), "") if value else ""
