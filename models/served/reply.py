"""Replies of a server, JSON or streamed."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from needlework.models.model import Request, Response, part_reasoning
from needlework.models.served.reply_fields import (
    cached_count,
    completion_count,
    error_in,
    finish_of,
    gave_up,
    prompt_count,
    reasoning_count,
    said_and_thought,
    table_of,
)
from needlework.models.tokenizers.tokenizer import Tokenizer

Translate = Callable[[dict[str, Any]], dict[str, Any]]
"""From an answer, or an event of one, to the words of OpenAI's answers."""

# A stream that had begun with status 200 names its fault by type alone (Anthropic's "Errors" page).
_STATUS_OF_TYPE = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}


class MalformedError(Exception):
    """A successful status with a body that is no answer."""


class DroppedError(Exception):
    """The answer ended before its end."""


class ServerSaidError(Exception):
    """An error object inside a successful response."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        super().__init__(str(error.get("message") or error.get("text") or error))
        code = str(error.get("code") or error.get("status"))
        self.status = int(code) if re.fullmatch(r"[3-5]\d\d", code) else _STATUS_OF_TYPE.get(str(error.get("type")))
        self.body = dict(error)


def _unchanged(data: dict[str, Any]) -> dict[str, Any]:
    return data


class Body:
    """An answer that comes as one JSON object."""

    def __init__(self, prompt: str, translate: Translate = _unchanged) -> None:
        self._prompt = prompt
        self._translate = translate
        self._chunks: list[bytes] = []

    def take(self, chunk: bytes) -> bool:
        """Take in a chunk; whether the answer is over, as far as it says so itself."""
        self._chunks.append(chunk)
        return False

    def reply(self) -> Response:
        """The answer, when all has come."""
        body = b"".join(self._chunks)
        try:
            data = json.loads(body)
        except (ValueError, RecursionError):
            shown = " ".join(body[:200].decode("utf-8", "replace").split())
            raise MalformedError(f"the answer is not JSON: {shown!r}") from None
        gathered = _Gathered(self._translate)
        gathered.add(data)
        return gathered.reply(self._prompt)


def read_body(body: bytes, prompt: str) -> Response:
    """An answer that is one JSON object."""
    taking = Body(prompt)
    taking.take(body)
    return taking.reply()


class Events:
    """An answer that comes as server-sent events; `begun` is the `time.perf_counter()` time of the request.

    Where its tokens came in one piece, because something held the stream back, the first one's time is not known.
    """

    def __init__(self, prompt: str, begun: float, translate: Translate = _unchanged) -> None:
        self._prompt = prompt
        self._begun = begun
        self._gathered = _Gathered(translate)
        self._rest = b""
        self._event = ""
        self._data = ""  # of an event whose data is not whole yet
        self._ended = False
        self._with_text = 0  # chunks

    def take(self, chunk: bytes) -> bool:
        """Take in a chunk; whether the answer is over, as far as it says so itself."""
        before = self._gathered.texts
        chunk = self._rest + chunk
        held = chunk[-1:] if chunk.endswith(b"\r") else b""  # the second half of a line end may follow
        chunk = chunk.removesuffix(held).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *lines, rest = chunk.split(b"\n")
        self._rest = rest + held
        for line in lines:
            self._add(line)
        self._with_text += self._gathered.texts > before
        return self._ended

    def _add(self, raw: bytes) -> None:
        if self._ended:
            return
        line = _decoded(raw).strip("\r")
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
            raise ServerSaidError(_error_of(_parsed(value), value))
        elif name == "data" and value:
            self._add_data(f"{self._data}\n{value}" if self._data else value)
        # Comments keep the connection alive; other fields say nothing we need.

    def _add_data(self, data: str) -> None:
        """Take in an event's data once they are whole: the standard lets them come in several lines."""
        if data == "[DONE]":
            self._ended = True
            return
        event = _parsed(data)
        if self._event == "error":
            raise ServerSaidError(_error_of(event, data))
        if event is None:
            self._data = data
            return
        self._data = ""
        self._gathered.add(event)
        if self._gathered.ttft_s is None and self._gathered.texts:
            self._gathered.ttft_s = time.perf_counter() - self._begun

    def reply(self) -> Response:
        """The answer, when all has come."""
        for line in (self._rest, b""):
            self._add(line)
        gathered = self._gathered
        if gathered.finish_reason is None and not (self._ended and (gathered.usage or gathered.timings)):
            if not gathered.events:
                raise MalformedError("the answer is an empty stream")
            raise DroppedError("the stream ended in the middle of the answer")
        if self._with_text < 2 and completion_count(gathered.usage, gathered.timings) != 1:
            gathered.ttft_s = None
        return gathered.reply(self._prompt)


def _decoded(line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError:
        shown = line[:200].decode("utf-8", "replace")
        raise MalformedError(f"an event of the stream is not UTF-8: {shown!r}") from None


def _parsed(data: str) -> Any:
    """The JSON value; `None` for what is none."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _error_of(event: Any, data: str) -> Mapping[str, Any]:
    return error_in(event) or event if isinstance(event, dict) else {"message": data}


@dataclass(slots=True)
class _ReplyChoice:
    """One of the answers that a server gives to one request."""

    text: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    finish_reason: str | None = None


@dataclass(slots=True)
class _Gathered:
    """An answer in the making, for bodies (one addition) and streams (many) alike."""

    translate: Translate
    choices: dict[int, _ReplyChoice] = field(default_factory=dict)
    usage: dict[str, Any] = field(default_factory=dict)
    timings: Mapping[str, Any] = field(default_factory=dict)
    ttft_s: float | None = None
    events: int = 0
    texts: int = 0
    without_role: int = 0  # pieces of text
    names: dict[str, str] = field(default_factory=dict)
    ids: set[str] = field(default_factory=set)  # of pieces of text

    @property
    def finish_reason(self) -> str | None:
        return self._judged.finish_reason

    @property
    def _judged(self) -> _ReplyChoice:
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
            said = data.get(name)
            if isinstance(said, str) and said:
                self.names[name] = said
        self.usage |= table_of(data.get("usage"))
        self.timings = table_of(data.get("timings")) or self.timings
        before = self.texts
        choices = data.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict):
                self._add_choice(choice)
        if self.texts > before:
            self.ids.add(self.names.get("id", ""))
        if 1 < len(self.ids) < self.texts:  # some servers give each event an id of its own
            raise MalformedError("pieces of two answers stand in one stream: their ids differ")

    def _add_choice(self, choice: dict[str, Any]) -> None:
        index = choice.get("index")
        into = self.choices.setdefault(index if isinstance(index, int) else 0, _ReplyChoice())
        text, thought = said_and_thought(choice)
        begins = "role" in table_of(choice.get("delta"))
        if begins and not (text or thought or choice.get("finish_reason")) and into.text and self.without_role:
            raise MalformedError("the answer begins again in the middle of its stream")
        into.text += [text] if text else []
        into.reasoning += [thought] if thought else []
        self.texts += bool(text or thought)
        self.without_role += bool(text) and not begins
        into.finish_reason = choice.get("finish_reason") or into.finish_reason

    def reply(self, prompt: str) -> Response:
        if not self.choices:
            raise MalformedError("the answer has no choices")
        judged = self._judged
        finish = finish_of(judged.finish_reason)
        if gave_up(finish):
            raise DroppedError(f"the server gave up in the middle of the answer: {finish}")
        repeats = _repeats_itself(judged.text)
        thought = _joined(judged.reasoning)
        reasoning_tokens = reasoning_count(self.usage)
        # What the server has parted already is not looked for behind the template's opening mark.
        text = _joined(judged.text[-1:] if repeats else judged.text)
        parted = part_reasoning(text, "" if thought or reasoning_tokens else prompt)
        reasoning = "\n".join(part for part in (thought, parted.reasoning) if part)
        flags = ["unclosed_reasoning"] if parted.unclosed else []
        flags += ["reasoning_only"] if reasoning or reasoning_tokens else []
        flags = [] if parted.answer.strip() else flags
        flags += ["no_finish_reason"] if finish == "missing" else []
        flags += ["cumulative_stream"] if repeats else []
        return Response(
            text=parted.answer,
            reasoning=reasoning,
            finish_reason=finish,
            id=self.names.get("id", ""),
            model=self.names.get("model", ""),
            fingerprint=self.names.get("system_fingerprint", ""),
            prompt_tokens=prompt_count(self.usage, self.timings),
            completion_tokens=completion_count(self.usage, self.timings),
            reasoning_tokens=reasoning_tokens,
            cached_tokens=cached_count(self.usage, self.timings),
            ttft_s=self.ttft_s,
            flags=tuple(flags),
        )


def _repeats_itself(pieces: list[str]) -> bool:
    """Whether each piece of a stream holds the whole text so far, as some gateways send them."""
    return len(pieces) > 2 and all(len(one) < len(two) and two.startswith(one) for one, two in pairwise(pieces))


def _joined(parts: list[str]) -> str:
    """The parts as one text. Servers cut emoji in two halves (surrogates); a half that stays alone is replaced."""
    text = "".join(parts)
    if text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


_CHARS_A_TOKEN = 32  # hardly any token stands for more
_SPARE_TOKENS = 16  # the server's tokenizer may part the same text otherwise
FLAG = "over_budget"


def within_budget(reply: Response, request: Request, tokenizer: Tokenizer) -> Response:
    """The reply with the flag `over_budget` where it has more tokens than were asked for, whatever `usage` says.

    Of one that is far longer the beginning is kept, `_CHARS_A_TOKEN` characters for each token of the budget: such
    answers can have gigabytes, and what was asked for stands at their beginning or nowhere.
    """
    budget = request.answer_budget + request.thinking_budget
    most = _CHARS_A_TOKEN * (budget + _SPARE_TOKENS)
    if len(reply.text) + len(reply.reasoning) <= budget:
        return reply
    over = max(len(reply.text), len(reply.reasoning)) > most
    if not over:
        tokens = sum(len(tokenizer.encode(text).ids) for text in (reply.text, reply.reasoning) if text)
        over = tokens > budget + max(_SPARE_TOKENS, budget // 8)
    if not over:
        return reply
    return replace(reply, text=reply.text[:most], reasoning=reply.reasoning[:most], flags=(*reply.flags, FLAG))
