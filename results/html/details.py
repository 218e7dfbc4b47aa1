"""One trial as the details pane shows it, small enough that thousands fit into the page.

A trial is a row. Values that many trials have in common (`SHARED`) are numbers into one table of values; the others
(`OWN`) stand in the row. The script reads both lists of names from the page's data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, NamedTuple, cast

from needlework.haystack_fixtures.grid.cells import depth_label
from needlework.results.html.texts import (
    Shown,
    facts_text,
    is_cut,
    percent_number,
    script_json,
    shown,
    visible,
    without_marks,
)
from needlework.results.records.record import SCORED, Record

SHARED = (
    "outcome", "scorer", "why", "question", "expected", "answer", "text", "reasoning", "error", "finish_reason",
    "prompt", "details", "reference", "id", "nodeid", "worker", "placed",
)  # fmt: skip
OWN = (
    "repeat", "seed", "score", "tokens", "context_tokens", "slack", "server_tokens", "completion_tokens", "needles",
    "around", "key", "sha256", "filler_sha256", "latency_s", "ttft_s", "tokens_per_s", "build_s", "cached_tokens",
    "attempts",
)  # fmt: skip
# Prompt facts that have a place of their own; whatever else a task notes about its prompt is shown as it stands.
_PLACED = frozenset({"tokens", "context_tokens", "slack", "needles", "sha256", "filler_sha256"})
_MOST_EXPECTED = 50
_MOST_NEEDLES = 100
_MOST_AROUND = 20


@dataclass(frozen=True, slots=True)
class Level:
    """How much of a trial is kept: characters of each text, of each hash, and on either side of its needles.

    `around_found`: on either side of needles that were found; the others are what one wants to look at.
    """

    text: int
    digest: int
    around: int
    around_found: int


# What the table of values holds: texts, whole or cut, and lists of them.
Value = str | tuple[Any, ...] | None


class Row(NamedTuple):
    """A trial: values that others may share, and the JSON of its own. `cut`: whether a text of it is shortened."""

    shared: tuple[Value, ...]
    own: str
    cut: bool


class _Trial(NamedTuple):
    """A record, and the tables in it that most fields are from."""

    record: Mapping[str, Any]
    prompt: Mapping[str, Any]
    response: Mapping[str, Any]
    timing: Mapping[str, Any]


def row_of(record: Record, level: Level) -> Row:
    """Return what the page keeps of `record`. Fields that a foreign or older file lacks are null."""
    fields = cast("Mapping[str, Any]", record)
    prompt, response, timing = (_mapping(fields.get(name)) for name in ("prompt", "response", "timing"))
    trial = _Trial(fields, prompt, response, timing)
    room = level.around_found if fields.get("outcome") == "found" else level.around
    placed = _placed(prompt) if room else []
    shared = _shared(trial, level)
    shared["placed"] = tuple(_text(needle["text"], level) for needle in placed)
    own = _own(trial, level)
    own["around"] = [_around(needle["before"], needle["after"], room) for needle in placed]
    parts = [*shared.values(), *(shared["expected"] or ()), *(shared["error"] or ())]
    cut = any(map(is_cut, [part for part in parts if isinstance(part, tuple)]))
    return Row(tuple([shared[name] for name in SHARED]), script_json([own[name] for name in OWN])[1:-1], cut)


def _shared(trial: _Trial, level: Level) -> dict[str, Value]:
    record, prompt, response, timing = trial
    error = _mapping(record.get("error"))
    answer, text = record.get("answer"), response.get("text")
    expected = record.get("expected")
    scorer = record.get("scorer")
    return {
        "outcome": _text(record.get("outcome"), level),
        "scorer": _text(f"{scorer} version {record.get('scorer_version')}", level) if scorer else None,
        "why": _text(record.get("why"), level),
        "question": _text(record.get("question"), level),
        "expected": tuple([shown(str(item), level.text) for item in expected[:_MOST_EXPECTED]])
        if isinstance(expected, (list, tuple))
        else (),
        # What was scored is worth a line of its own only where it is not simply the response.
        "answer": None if text not in (None, "") and _same(answer, text) else _text(answer, level),
        "text": _text(text, level),
        "reasoning": _text(response.get("reasoning"), level),
        "error": tuple(_text(error.get(name), level) for name in ("kind", "message")) if error else None,
        "finish_reason": _text(response.get("finish_reason"), level),
        "prompt": facts_text({name: prompt[name] for name in prompt if name not in _PLACED}, level.text),
        "details": facts_text(record.get("details"), level.text),
        "reference": facts_text(record.get("reference"), level.text),
        "id": _name(record, "id", level),
        "nodeid": _name(record, "nodeid", level),
        "worker": _text(timing.get("worker"), level),
    }


def _own(trial: _Trial, level: Level) -> dict[str, object]:
    record, prompt, response, timing = trial
    score = _number(record.get("score")) if record.get("outcome") in SCORED else None
    return {
        "repeat": _number(record.get("repeat")),
        "seed": _number(record.get("seed")),
        "score": None if score is None else percent_number(score),
        "tokens": _number(prompt.get("tokens")),
        "context_tokens": _number(prompt.get("context_tokens")),
        "slack": _number(prompt.get("slack")),
        "server_tokens": _number(response.get("prompt_tokens")),
        "completion_tokens": _number(response.get("completion_tokens")),
        "needles": _needles(prompt.get("needles"), level),
        "key": _digest(record.get("key"), level),
        "sha256": _digest(prompt.get("sha256"), level),
        "filler_sha256": _digest(prompt.get("filler_sha256"), level),
        "latency_s": _number(timing.get("latency_s")),
        "ttft_s": _number(timing.get("ttft_s")),
        "tokens_per_s": _number(timing.get("tokens_per_s")),
        "build_s": _number(timing.get("build_s")),
        "cached_tokens": _number(timing.get("cached_tokens")),
        "attempts": _number(timing.get("attempts")),
    }


def _needles(value: object, level: Level) -> list[list[object]]:
    """Name, requested and achieved depth, tokens before it and its own, of each needle."""
    needles = [_mapping(item) for item in value] if isinstance(value, (list, tuple)) else []
    numbers = ("requested", "depth", "tokens_before", "tokens")
    return [
        [_text(needle.get("name"), level), *(_number(needle.get(name)) for name in numbers)]
        for needle in needles[:_MOST_NEEDLES]
    ]


def _placed(prompt: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The needles of which the record has the text around them."""
    value = prompt.get("needles")
    needles = [_mapping(item) for item in value] if isinstance(value, (list, tuple)) else []
    return [each for each in needles if all(isinstance(each.get(name), str) for name in ("before", "text", "after"))][
        :_MOST_AROUND
    ]


def _around(before: str, after: str, room: int) -> list[str]:
    """What stands before and after a needle, at most `room` characters on each side."""
    return [visible(without_marks(before)[-room:]), visible(without_marks(after)[:room])]


def _name(record: Mapping[str, Any], field: str, level: Level) -> Shown | tuple[str, str, str] | None:
    """An id without its length, depth and repeat, which the row has anyway: thousands of ids then are one value."""
    name = record.get(field)
    if isinstance(name, str) and len(name) <= level.text:
        head, middle, rest = name.partition(f"-len{record.get('length')}-depth{depth_label(record.get('depth'))}-")
        between, end, tail = rest.rpartition(f"-r{record.get('repeat')}")
        if middle and end:
            return visible(head), visible(between), visible(tail)
    return _text(name, level)


def _digest(value: object, level: Level) -> str | None:
    if value is None or value == "":
        return None
    text = str(value)
    return visible(text if len(text) <= level.digest else f"{text[: level.digest]}…")


def _text(value: object, level: Level) -> Shown | None:
    return None if value is None or value == "" else shown(str(value), level.text)


def _same(answer: object, text: object) -> bool:
    return str(answer or "").strip() == str(text or "").strip()


def _number(value: object) -> int | float | None:
    """A number with at most six digits after the point; whatever is no number is left out."""
    if isinstance(value, float):
        return round(value, 6) if isfinite(value) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, (dict, Mapping)) else {}
