"""Replies of a server, JSON or streamed."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from needlework.models.model import Request, Response, part_reasoning
from needlework.models.served.connection import (
    cached_count,
    completion_count,
    finish_of,
    gave_up,
    prompt_count,
    reasoning_count,
    said_and_thought,
    table_of,
)
from needlework.models.tokenizers.tokenizer import Tokenizer


class MalformedError(Exception):
    """A successful status with a body that is no answer."""


class DroppedError(Exception):
    """The answer ended before its end."""


class ServerSaidError(Exception):
    """An error object inside a successful response."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        super().__init__(str(error.get("message") or error))
        code = str(error.get("code") or error.get("status"))
        self.status = int(code) if re.fullmatch(r"[3-5]\d\d", code) else None
        self.body = dict(error)


class Body:
    """An answer that comes as one JSON object."""

    def __init__(self, prompt: str) -> None:
        self._prompt = prompt
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
        return _Gathered().add(data).reply(self._prompt)


def read_body(body: bytes, prompt: str) -> Response:
    """An answer that is one JSON object."""
    taking = Body(prompt)
    taking.take(body)
    return taking.reply()


def reply_of(data: Mapping[str, Any], prompt: str = "", ttft_s: float | None = None) -> Response:
    """An answer that a client library has read, as one object."""
    gathered = _Gathered(ttft_s=ttft_s)
    return gathered.add(dict(data)).reply(prompt)


def reply_of_pieces(pieces: Iterable[Any], prompt: str, ttft_s: Callable[[], float | None]) -> Response:
    """An answer whose pieces a client library reads; `ttft_s` is asked when all are there."""
    gathered = _Gathered()
    for piece in pieces:
        gathered.add(piece)
    if not gathered.events:
        raise MalformedError(
            "the answer is an empty stream; --model-arg stream=false for a server that does not stream"
        )
    if gathered.finish_reason is None:
        raise DroppedError("the stream ended in the middle of the answer")
    gathered.ttft_s = ttft_s()
    return gathered.reply(prompt)


class Events:
    """An answer that comes as server-sent events; `begun` is the `time.perf_counter()` time of the request.

    Where its tokens came in one piece, because something held the stream back, the first one's time is not known.
    """

    def __init__(self, prompt: str, begun: float) -> None:
        self._prompt = prompt
        self._begun = begun
        self._gathered = _Gathered()
        self._rest = b""
        self._ended = False
        self._with_text = 0  # chunks

    def take(self, chunk: bytes) -> bool:
        """Take in a chunk; whether the answer is over, as far as it says so itself."""
        before = self._gathered.texts
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            self._add(line)
        self._with_text += self._gathered.texts > before
        return self._ended

    def _add(self, raw: bytes) -> None:
        if self._ended:
            return
        name, _, value = _line(raw).partition(":")
        value = value.strip()
        if name == "error":  # llama.cpp before 2026
            raise ServerSaidError(table_of(_event(value)).get("error") or {"message": value})
        if name != "data" or not value:
            return  # comments keep the connection alive; other fields say nothing we need
        if value == "[DONE]":
            self._ended = True
            return
        gathered = self._gathered
        gathered.add(_event(value))
        if gathered.ttft_s is None and gathered.texts:
            gathered.ttft_s = time.perf_counter() - self._begun

    def reply(self) -> Response:
        """The answer, when all has come."""
        if self._rest:
            self._add(self._rest)
        if not self._ended and self._gathered.finish_reason is None:
            if not self._gathered.events:
                raise MalformedError("the answer is an empty stream")
            raise DroppedError("the stream ended in the middle of the answer")
        if self._with_text < 2 and completion_count(self._gathered.usage, self._gathered.timings) != 1:
            self._gathered.ttft_s = None
        return self._gathered.reply(self._prompt)


def _line(line: bytes) -> str:
    try:
        return line.decode().rstrip("\r")
    except UnicodeDecodeError:
        shown = line[:200].decode("utf-8", "replace")
        raise MalformedError(f"an event of the stream is not UTF-8: {shown!r}") from None


def _event(value: str) -> Any:
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        raise MalformedError(f"an event of the stream is not JSON: {value[:200]!r}") from None


@dataclass(slots=True)
class _ReplyChoice:
    """One of the answers that a server gives to one request."""

    text: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    finish_reason: str | None = None


@dataclass(slots=True)
class _Gathered:
    """An answer in the making, for bodies (one addition) and streams (many) alike."""

    choices: dict[int, _ReplyChoice] = field(default_factory=dict)
    usage: Mapping[str, Any] = field(default_factory=dict)
    timings: Mapping[str, Any] = field(default_factory=dict)
    ttft_s: float | None = None
    events: int = 0
    texts: int = 0
    names: dict[str, str] = field(default_factory=dict)

    @property
    def finish_reason(self) -> str | None:
        return self._judged.finish_reason

    @property
    def _judged(self) -> _ReplyChoice:
        """Several answers may have been asked for, and may come in any order: the one of the lowest index is judged."""
        return self.choices[min(self.choices)] if self.choices else _ReplyChoice()

    def add(self, data: Any) -> _Gathered:
        if not isinstance(data, dict):
            raise MalformedError(f"the answer is no JSON object: {str(data)[:200]!r}")
        if _is_fault(data):
            error = data["error"]
            raise ServerSaidError(error if isinstance(error, dict) else {"message": str(error)})
        self.events += 1
        for name in ("id", "model", "system_fingerprint"):
            said = data.get(name)
            if isinstance(said, str) and said:
                self.names[name] = said
        self.usage = table_of(data.get("usage")) or self.usage
        self.timings = table_of(data.get("timings")) or self.timings
        choices = data.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict):
                self._add_choice(choice)
        return self

    def _add_choice(self, choice: dict[str, Any]) -> None:
        index = choice.get("index")
        into = self.choices.setdefault(index if isinstance(index, int) else 0, _ReplyChoice())
        text, thought = said_and_thought(choice)
        into.text += [text] if text else []
        into.reasoning += [thought] if thought else []
        self.texts += bool(text or thought)
        into.finish_reason = choice.get("finish_reason") or into.finish_reason

    def reply(self, prompt: str) -> Response:
        if not self.choices:
            raise MalformedError("the answer has no choices")
        judged = self._judged
        finish = finish_of(judged.finish_reason)
        if gave_up(finish):
            raise DroppedError(f"the server gave up in the middle of the answer: {finish}")
        thought = _whole(judged.reasoning)
        reasoning_tokens = reasoning_count(self.usage)
        # What the server has parted already is not looked for behind the template's opening mark.
        parted = part_reasoning(_whole(judged.text), "" if thought or reasoning_tokens else prompt)
        reasoning = "\n".join(part for part in (thought, parted.reasoning) if part)
        flags = ["unclosed_reasoning"] if parted.unclosed else []
        flags += ["reasoning_only"] if reasoning or reasoning_tokens else []
        flags = [] if parted.answer.strip() else flags
        flags += ["no_finish_reason"] if finish == "missing" else []
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


def _is_fault(data: Mapping[str, Any]) -> bool:
    """Whether an answer holds an error; some gateways say "no error" beside every good one."""
    error = data.get("error")
    fine = isinstance(error, dict) and str(error.get("code")) in ("0", "200") and bool(data.get("choices"))
    return bool(error) and not fine


def _whole(parts: list[str]) -> str:
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
