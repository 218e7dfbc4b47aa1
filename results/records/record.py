"""Records: everything about one trial, as it stands in the journal and in results.json."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

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
