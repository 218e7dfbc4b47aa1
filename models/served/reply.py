"""Replies of a server: one JSON object, or server-sent events."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from needlework.models.model import Request, Response, part_reasoning
from needlework.models.served.errors import DroppedError, MalformedError, ServerSaidError
from needlework.models.served.reply_fields import (
    error_in,
    finish_of,
    gave_up,
    list_of,
    table_of,
    text_and_reasoning,
    token_counts,
)
from needlework.models.tokenizers.tokenizer import Tokenizer

Translate = Callable[[dict[str, Any]], dict[str, Any]]
"""From an answer, or an event of one, to the words of OpenAI's answers."""


def read_body(body: bytes, prompt: str, translate: Translate = dict) -> Response:
    """Read an answer that is one JSON object. Raises `MalformedError`, `DroppedError`, `ServerSaidError`."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        shown = " ".join(body[:200].decode("utf-8", "replace").split())
        raise MalformedError(f"the answer is not JSON: {shown!r}") from None
    parts = _Parts(translate)
    parts.add(data)
    return parts.response(prompt)


class Events:
    """Reads an answer that comes as server-sent events. Raises as `read_body`.

    `begun`: the `time.perf_counter()` time of the request. The time of the first token is not known where all tokens
    came in one piece, because something held the stream back.
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
        """Take in a chunk; whether the answer is over, as far as it says so itself."""
        before = self._parts.texts
        chunk = self._rest + chunk
        half = chunk[-1:] if chunk.endswith(b"\r") else b""  # the second half of a line end may follow
        chunk = chunk.removesuffix(half).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *lines, rest = chunk.split(b"\n")
        self._rest = rest + half
        for line in lines:
            self._add(line)
        self._with_text += self._parts.texts > before
        return self._ended

    def _add(self, raw: bytes) -> None:
        if self._ended:
            return
        try:
            line = raw.decode().strip("\r")
        except UnicodeDecodeError:
            shown = raw[:200].decode("utf-8", "replace")
            raise MalformedError(f"an event of the stream is not UTF-8: {shown!r}") from None
        if not line:
            if self._data:
                raise MalformedError(f"an event of the stream is not JSON: {self._data[:200]!r}")
            self._event = ""
            return
        name, _, value = line.partition(":")
        value = value.strip()
        if name == "event":
            self._event = value
        elif name == "error":  # llama.cpp before 2026
            raise _stream_error(_json(value), value)
        elif name == "data" and value:
            self._add_data(f"{self._data}\n{value}" if self._data else value)
        # Comments keep the connection alive; other fields say nothing we need.

    def _add_data(self, data: str) -> None:
        """Take in an event's data once they are whole: the standard lets them come in several lines."""
        if data == "[DONE]":
            self._ended = True
            return
        event = _json(data)
        if self._event == "error":
            raise _stream_error(event, data)
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
        if parts.judged.finish_reason is None and not (self._ended and (parts.usage or parts.timings)):
            if not parts.events:
                raise MalformedError("the answer is an empty stream")
            raise DroppedError("the stream ended in the middle of the answer")
        response = parts.response(self._prompt)
        in_pieces = self._with_text > 1 or response.completion_tokens == 1
        return replace(response, ttft_s=self._ttft_s if in_pieces else None)


def _json(data: str) -> Any:
    """The JSON value; `None` for what is none."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _stream_error(event: Any, data: str) -> ServerSaidError:
    return ServerSaidError(error_in(event) or event if isinstance(event, dict) else {"message": data})


@dataclass(slots=True)
class _ReplyChoice:
    """One of the answers that a server gives to one request."""

    text: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    finish_reason: str | None = None


@dataclass(slots=True)
class _Parts:
    """The parts of an answer so far: one for a body, many for a stream."""

    translate: Translate
    choices: dict[int, _ReplyChoice] = field(default_factory=dict)
    usage: dict[str, Any] = field(default_factory=dict)
    timings: Mapping[str, Any] = field(default_factory=dict)
    events: int = 0
    texts: int = 0
    without_role: int = 0  # pieces of text
    names: dict[str, str] = field(default_factory=dict)
    ids: set[str] = field(default_factory=set)  # of pieces of text

    @property
    def judged(self) -> _ReplyChoice:
        """Several answers may have been asked for, and may come in any order: the one of the lowest index is judged."""
        return self.choices[min(self.choices)] if self.choices else _ReplyChoice()

    def add(self, data: Any) -> None:
        if not isinstance(data, dict):
            raise MalformedError(f"the answer is no JSON object: {str(data)[:200]!r}")
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
            raise MalformedError("pieces of two answers stand in one stream: their ids differ")

    def _add_choice(self, choice: dict[str, Any]) -> None:
        index = choice.get("index")
        into = self.choices.setdefault(index if isinstance(index, int) else 0, _ReplyChoice())
        text, thought = text_and_reasoning(choice)
        begins = "role" in table_of(choice.get("delta"))
        if begins and not (text or thought or choice.get("finish_reason")) and into.text and self.without_role:
            raise MalformedError("the answer begins again in the middle of its stream")
        into.text += [text] if text else []
        into.reasoning += [thought] if thought else []
        self.texts += bool(text or thought)
        self.without_role += bool(text) and not begins
        into.finish_reason = choice.get("finish_reason") or into.finish_reason

    def response(self, prompt: str) -> Response:
        if not self.choices:
            raise MalformedError("the answer has no choices")
        judged = self.judged
        finish = finish_of(judged.finish_reason)
        if gave_up(finish):
            raise DroppedError(f"the server gave up in the middle of the answer: {finish}")
        counts = token_counts(self.usage, self.timings)
        repeats = _repeats_itself(judged.text)
        thought = _joined(judged.reasoning)
        # What the server has parted already is not looked for behind the template's opening mark.
        text = _joined(judged.text[-1:] if repeats else judged.text)
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


def _repeats_itself(pieces: list[str]) -> bool:
    """Whether each piece of a stream holds the whole text so far, as some gateways send them."""
    return len(pieces) > 2 and all(len(one) < len(two) and two.startswith(one) for one, two in pairwise(pieces))


def _joined(parts: list[str]) -> str:
    """The parts as one text. Servers cut emoji in two halves (surrogates); a half that stays alone is replaced."""
    text = "".join(parts)
    if not re.search("[\ud800-\udfff]", text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


_CHARS_A_TOKEN = 32  # hardly any token stands for more
_SPARE_TOKENS = 16  # the server's tokenizer may part the same text otherwise


def checked_by_budget(reply: Response, request: Request, tokenizer: Tokenizer) -> Response:
    """The reply with the finish reason and the flag `over_budget` that its tokens show, whatever the server says.

    `length`: just the whole budget was used. `unfinished`: it ended with reasoning alone. Of a reply that is far longer
    than its budget the beginning is kept, `_CHARS_A_TOKEN` characters a token: such replies can have gigabytes, and
    what was asked for stands at their beginning or nowhere.
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
