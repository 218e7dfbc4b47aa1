"""Read what an OpenAI-compatible server sends back: one JSON body, or a stream of events."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from haystack_fixtures.models.reasoning import split_reasoning


class MalformedError(Exception):
    """A successful status with a body that is no answer."""


class DroppedError(Exception):
    """The answer ended before its end."""


class TooSlowError(Exception):
    """The answer took longer than the time allowed for it."""


class ServerSaidError(Exception):
    """An error object inside a successful response."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        super().__init__(str(error.get("message") or error))
        code = str(error.get("code") or error.get("status"))
        self.status = int(code) if code.isdigit() else None
        self.body = dict(error)


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole answer. Counts are `None` where the server gives none."""

    text: str = field(repr=False)
    reasoning: str = field(repr=False)
    finish_reason: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    ttft_s: float | None = None


def within(chunks: Iterable[bytes], deadline: float) -> Iterator[bytes]:
    """The same chunks, until `deadline` (a `time.perf_counter()` time): a trickle must not last for ever."""
    for chunk in chunks:
        if time.perf_counter() > deadline:
            raise TooSlowError("the answer was still being sent when its time was over")
        yield chunk


def read_body(chunks: Iterable[bytes], prompt: str) -> Reply:
    """An answer that came as one JSON object."""
    body = b"".join(chunks)
    try:
        data = json.loads(body)
    except ValueError:
        shown = " ".join(body[:200].decode("utf-8", "replace").split())
        raise MalformedError(f"the answer is not JSON: {shown!r}") from None
    return _Gathered().add(data).reply(prompt)


def read_events(chunks: Iterable[bytes], prompt: str, begun: float) -> Reply:
    """An answer that came as server-sent events; `begun` is the `time.perf_counter()` time of the request."""
    gathered = _Gathered()
    ended = False
    for line in _lines(chunks):
        name, _, value = line.partition(":")
        value = value.strip()
        if name == "error":  # llama.cpp before 2026
            raise ServerSaidError(_object(_event(value)).get("error") or {"message": value})
        if name != "data" or not value:
            continue  # comments keep the connection alive; other fields say nothing we need
        if value == "[DONE]":
            ended = True
            break
        gathered.add(_event(value))
        if gathered.ttft_s is None and gathered.has_text:
            gathered.ttft_s = time.perf_counter() - begun
    if not ended and gathered.finish_reason is None:
        if not gathered.events:
            raise MalformedError("the answer is an empty stream")
        raise DroppedError("the stream ended in the middle of the answer")
    return gathered.reply(prompt)


def _lines(chunks: Iterable[bytes]) -> Iterator[str]:
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line.decode("utf-8", "replace").rstrip("\r")
    if rest:
        yield rest.decode("utf-8", "replace")


def _event(value: str) -> Any:
    try:
        return json.loads(value)
    except ValueError:
        raise MalformedError(f"an event of the stream is not JSON: {value[:200]!r}") from None


@dataclass(slots=True)
class _Gathered:
    """An answer in the making, for bodies (one addition) and streams (many) alike."""

    text: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    finish_reason: str | None = None
    usage: Mapping[str, Any] = field(default_factory=dict)
    timings: Mapping[str, Any] = field(default_factory=dict)
    ttft_s: float | None = None
    events: int = 0
    choices: int = 0

    @property
    def has_text(self) -> bool:
        return bool(self.text or self.reasoning)

    def add(self, data: Any) -> _Gathered:
        if not isinstance(data, dict):
            raise MalformedError(f"the answer is no JSON object: {str(data)[:200]!r}")
        if data.get("error"):
            error = data["error"]
            raise ServerSaidError(error if isinstance(error, dict) else {"message": str(error)})
        self.events += 1
        self.usage = _object(data.get("usage")) or self.usage
        self.timings = _object(data.get("timings")) or self.timings
        choices = data.get("choices")
        first = choices[0] if isinstance(choices, list) and choices else None
        if isinstance(first, dict):
            self.choices += 1
            self._add_choice(first)
        return self

    def _add_choice(self, choice: dict[str, Any]) -> None:
        message = _object(choice.get("delta")) or _object(choice.get("message"))
        text, thought = _content(message.get("content") if message else choice.get("text"))
        self.text += [text] if text else []
        # Servers that send both names send the same text twice.
        named = message.get("reasoning_content") or message.get("reasoning")
        self.reasoning += [part for part in (named if isinstance(named, str) else "", thought) if part]
        self.finish_reason = choice.get("finish_reason") or self.finish_reason

    def reply(self, prompt: str) -> Reply:
        if not self.choices:
            raise MalformedError("the answer has no choices")
        text, inline = split_reasoning("".join(self.text), "" if self.reasoning else prompt)
        return Reply(
            text=text,
            reasoning="".join(self.reasoning) or inline,
            finish_reason=str(self.finish_reason or "missing"),
            prompt_tokens=_count(self.usage.get("prompt_tokens")),
            completion_tokens=_count(self.usage.get("completion_tokens")),
            cached_tokens=_cached(self.usage, self.timings),
            ttft_s=self.ttft_s,
        )


def _content(content: Any) -> tuple[str, str]:
    """(text, reasoning) of a message's content: a string, nothing, or a list of typed blocks."""
    if isinstance(content, str):
        return content, ""
    text: list[str] = []
    reasoning: list[str] = []
    for block in content if isinstance(content, list) else ():
        if isinstance(block, str):
            text.append(block)
        elif isinstance(block, dict):
            kind = str(block.get("type", "text"))
            inner = block.get("text") or block.get("thinking") or block.get("reasoning") or ""
            inner = inner if isinstance(inner, str) else _content(inner)[0]
            (text if kind in ("text", "output_text") else reasoning).append(inner)
    return "".join(text), "".join(reasoning)


def _cached(usage: Mapping[str, Any], timings: Mapping[str, Any]) -> int | None:
    named = (
        _object(usage.get("prompt_tokens_details")).get("cached_tokens"),
        usage.get("prompt_cache_hit_tokens"),
        timings.get("cache_n"),
    )
    return next((count for value in named if (count := _count(value)) is not None), None)


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _count(value: Any) -> int | None:
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else None
