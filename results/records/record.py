"""Records: one trial as a mapping, and the checks of its fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypedDict, TypeGuard, cast

SCHEMA = 1

OutcomeName = Literal[
    "found", "partial", "wrong", "distractor", "refused", "empty", "censored", "unclear", "invalid", "skipped", "error"
]
SCORED: tuple[OutcomeName, ...] = ("found", "partial", "wrong", "distractor", "refused", "empty")
NOTHING_SAID: tuple[OutcomeName, ...] = ("refused", "empty")
"""Score 0, and more than a wrong answer: many of them say that the model was asked in a way it does not take."""
UNDECIDED: tuple[OutcomeName, ...] = ("censored", "unclear")
"""An answer came and has no score: it was cut off, or no rule can tell what it says. It may be a hit or a miss, so that
a score beside it is a range."""
FINAL = frozenset({*SCORED, *UNDECIDED})
"""An answer came: resuming takes these as they are. Errors, invalid and skipped trials are tried again."""
UNSCORED: tuple[OutcomeName, ...] = (*UNDECIDED, "invalid", "skipped", "error")
WAITING = "waiting"
"""What a journal has for the outcome of an answer that no test has scored yet."""
RULED = "ruled"
"""The same of a line that has the judges' ruling on an answer, and not the answer."""


class Record(TypedDict):
    """One trial. `score` is 0..1, or null whenever the outcome is one of `UNSCORED`.

    `timing` holds everything that may differ between two runs of the same thing: seconds, worker, attempts,
    tokens that a cache saved.
    """

    schema: int
    key: str
    id: str
    nodeid: str
    model: str
    task: str
    needle: str
    language: str
    length: int
    depth: float | None
    repeat: int
    seed: int
    outcome: OutcomeName
    score: float | None
    scorer: str
    scorer_version: int
    why: str
    question: str
    expected: list[str]
    reference: dict[str, Any]
    answer: str
    prompt: dict[str, Any]
    response: dict[str, Any]
    details: dict[str, Any]
    error: dict[str, Any] | None
    timing: dict[str, Any]


class WaitingAnswer(TypedDict):
    """What a journal has of an answer that came before its test's turn. The fields are those of `Record`."""

    key: str
    outcome: Literal["waiting"]
    question: str
    reference: dict[str, Any]
    prompt: dict[str, Any]
    response: dict[str, Any]
    details: dict[str, Any]
    timing: dict[str, Any]


class WaitingRuling(TypedDict):
    """What judges made of an answer before its test's turn. `score`: as in `StoredAnswer.score`."""

    key: str
    outcome: Literal["ruled"]
    score: dict[str, Any]


# Files are edited, cut, and written by other versions. Fields that are missing are the reader's business; fields that
# are there must be what the reader takes them for.
NEEDED = ("model", "task", "needle", "length", "depth", "repeat", "outcome", "score")
# What else a record of ours always has; reports and scorers look into these without asking.
TABLES = ("prompt", "response", "details", "timing", "reference")
_TEXTS = ("key", "id", "nodeid", "model", "task", "needle", "language", "scorer", "why", "question", "answer")
_OUTCOMES = (*SCORED, *UNSCORED)
_MOST = 10**15
_EMPTY: dict[str, Any] = {
    "expected": [],
    "error": None,
    **dict.fromkeys(("key", "id", "nodeid", "language", "scorer", "why", "question", "answer"), ""),
    **{name: {} for name in TABLES},
}


def fault_of(record: object) -> str:
    """Say what is wrong with a record, or nothing."""
    if not isinstance(record, dict):
        return "is not an object"
    missing = [name for name in NEEDED if name not in record]
    if missing:
        return f"has no {missing[0]!r}"
    if record["outcome"] not in _OUTCOMES:
        return f"has the unknown outcome {record['outcome']!r}"
    if not all(_whole(record[name]) for name in ("length", "repeat")) or not all(
        record[name] is None or _number(record[name]) for name in ("depth", "score")
    ):
        return "has a length, depth, repeat or score that is not a number"
    if (
        record["length"] < 1
        or record["repeat"] < 0
        or not _within(record["depth"], 100)
        or not _within(record["score"], 1)
    ):
        return "has a length, depth, repeat or score out of range"
    if (record["outcome"] in SCORED) != (record["score"] is not None):
        return f"has the outcome {record['outcome']} and the score {record['score']}"
    return _wrong_type(record)


def is_waiting(line: object) -> TypeGuard[WaitingAnswer]:
    """Whether a journal's line is an answer that waits for its test."""
    if not isinstance(line, dict) or line.get("outcome") != WAITING:
        return False
    return WaitingAnswer.__required_keys__ <= line.keys() and not _wrong_type(line)


def is_ruling(line: object) -> TypeGuard[WaitingRuling]:
    """Whether a journal's line is a ruling on an answer."""
    if not isinstance(line, dict) or line.get("outcome") != RULED or not _text(line.get("key")):
        return False
    score = line.get("score")
    return isinstance(score, dict) and _RULING.keys() <= score.keys() and _table(**_RULING)(score)


def _wrong_type(record: dict[str, Any]) -> str:
    for name, test in _TESTS.items():
        if name in record and not test(record[name]):
            return f"has a {name!r} of the wrong type"
    return ""


def completed(record: Mapping[str, Any]) -> Record:
    """The record with empty tables and texts where a leaner or older file has none."""
    found: dict[str, Any] = {**_EMPTY, **record}
    if len(record) < len(found):  # it lacks one: what is empty is its own
        found |= {name: type(_EMPTY[name])() for name in ("expected", *TABLES) if name not in record}
    return cast("Record", found)


def _text(value: object) -> bool:
    return isinstance(value, str)


def _number(value: Any) -> bool:
    kind = type(value)
    if kind is int or kind is float:  # most are: two calls less for each of a hundred thousand
        return bool(-_MOST < value < _MOST)  # no NaN is
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < _MOST


def _whole(value: Any) -> bool:
    return -_MOST < value < _MOST if type(value) is int else isinstance(value, int) and _number(value)


def _place(value: object) -> bool:
    return _whole(value) and cast("int", value) >= 1


def _share(value: object) -> bool:
    return _number(value) and 0 <= cast("float", value) <= 1


def _within(value: float | None, most: float) -> bool:
    return value is None or 0 <= value <= most


def _texts(value: object) -> bool:
    return isinstance(value, list) and (not value or all(isinstance(item, str) for item in value))


def _or_none(test: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: value is None or test(value)


def _table(**inside: Callable[[object], bool]) -> Callable[[object], bool]:
    """An object whose fields, where they are there, pass their tests."""

    def test(value: object) -> bool:
        if not isinstance(value, dict):
            return False
        for name, each in value.items():  # not `all`: a generator for each table of 10,000 records takes a while
            check = inside.get(name)
            if check is not None and not check(each):
                return False
        return True

    return test


def _list_of(test: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, list) and all(test(item) for item in value)


_RULING: dict[str, Callable[[object], bool]] = {
    **dict.fromkeys(("name", "answer", "why"), _text),
    "version": _whole,
    "value": _share,
    "verdict": lambda value: value in SCORED,
    "details": _table(),
}
_needle_facts = _table(
    name=_text, start=_whole, end=_whole, tokens_before=_whole, tokens=_whole, requested=_number, depth=_number
)


def _needle(value: Any) -> bool:
    return _needle_facts(value) and "depth" in value


_TESTS: dict[str, Callable[[object], bool]] = {
    **dict.fromkeys(_TEXTS, _text),
    "seed": _whole,
    "scorer_version": _whole,
    "expected": _texts,
    "reference": _table(
        answers=_texts,
        parts=_texts,
        distractors=_texts,
        **dict.fromkeys(("statement", "keyword", "question", "language", "retriever", "twin"), _text),
    ),
    "prompt": _table(
        tokens=_whole,
        context_tokens=_whole,
        slack=_whole,
        sha256=_text,
        filler_sha256=_text,
        flags=_texts,
        corpus_passes=_number,
        truncated=_number,
        template=_text,
        needles=_list_of(_needle),
        retrieval=_table(
            retriever=_text,
            embedder=_or_none(_text),
            k=_whole,
            chunks=_whole,
            cut_chunks=_whole,
            gold=_or_none(_text),
            rank=_or_none(_place),
            answer_recall=_or_none(_share),
            hits=_list_of(_table(document=_text, start=_whole, end=_whole, score=_number)),
        ),
    ),
    "response": _table(
        text=_text,
        reasoning=_text,
        finish_reason=_or_none(_text),
        prompt_tokens=_or_none(_whole),
        completion_tokens=_or_none(_whole),
        reasoning_tokens=_or_none(_whole),
    ),
    "details": _table(
        flags=_texts,
        invalid=_texts,
        recipe=_text,
        score=_table(),
        stability=_list_of(_table(how=_text, text=_text, finish_reason=_or_none(_text), error=_or_none(_table()))),
    ),
    "error": _or_none(_table(kind=_text, message=_text)),
    "timing": _table(
        **{
            name: _or_none(_number)
            for name in ("latency_s", "ttft_s", "tokens_per_s", "build_s", "cached_tokens", "attempts")
        },
        worker=_text,
        replayed=lambda value: isinstance(value, bool),
    ),
}
