"""Scores, references, outcomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

Verdict = Literal["found", "partial", "wrong", "distractor", "refused", "empty", "unclear"]
Outcome = Literal[
    "found", "partial", "wrong", "distractor", "refused", "empty", "censored", "unclear", "invalid", "skipped", "error"
]


@dataclass(frozen=True, slots=True)
class Reference:
    """What is right, and what is known to be wrong.

    `answers`: one needle: the spellings of the one right value. `parts`: several needles: each part's value, all of
    them wanted. `statement`: the needle sentence itself. `keyword`: what OpenCompass's keyword rules look for.
    `distractors`: values that stand in the context and are wrong. `question`: what was asked. `absent`: the
    answer is not in the context, and right is to abstain. `places`: where values stand, in percent of the context.
    `kinds`: what a wrong value is (`stale`, or the attribute that was mistaken). `labels`: every answer that the
    question allows, where they are known. `given`: those that the question names itself. `name_key`: what the marks of
    the text's own names are made with.
    """

    answers: tuple[str, ...]
    statement: str = ""
    keyword: str = ""
    parts: tuple[str, ...] = ()
    distractors: tuple[str, ...] = ()
    question: str = ""
    language: str = "en"
    absent: bool = False
    places: Mapping[str, float] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)
    labels: tuple[str, ...] = ()
    given: tuple[str, ...] = ()
    name_key: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Score:
    """A judged answer: `value` in 0..1, the verdict, what was taken as the answer, and why.

    A score compares with numbers and other scores by its value (`assert score >= 0.9`), and equals another score when
    every field does. `scorer` is `name vN`, written by whoever ran the scorer. `settled`: nothing that could follow
    would make the answer right, so it has a score where the token limit cut it off.
    """

    value: float
    verdict: Verdict
    answer: str = ""
    why: str = ""
    details: Mapping[str, float | str | int | bool | None] = field(default_factory=dict)
    scorer: str = ""
    settled: bool = False

    def __float__(self) -> float:
        return self.value

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Score):
            return _fields(self) == _fields(other)
        return self.value == other if isinstance(other, (int, float)) else NotImplemented

    def __lt__(self, other: float | Score) -> bool:
        return self.value < float(other)

    def __le__(self, other: float | Score) -> bool:
        return self.value <= float(other)

    def __gt__(self, other: float | Score) -> bool:
        return self.value > float(other)

    def __ge__(self, other: float | Score) -> bool:
        return self.value >= float(other)


@dataclass(frozen=True, slots=True)
class Scorer:
    """A named, versioned judgement of one answer. The version changes whenever any score could.

    `whole`: what was cut off by the token limit and is not all right yet has no score, however much is right.
    """

    name: str
    version: int
    judge: Callable[[str, Reference], Score]
    whole: bool = False


def _fields(score: Score) -> tuple[object, ...]:
    return (score.value, score.verdict, score.answer, score.why, dict(score.details), score.scorer)


CUT_OFF = ("length", "unfinished")
"""Finish reasons of an answer that is not whole: the token limit, and reasoning with no answer behind it."""


def outcome_of(
    *, error_kind: str | None, finish_reason: str | None, invalid: Sequence[str], score: Score | None, answer_text: str
) -> tuple[Outcome, float | None]:
    """Decide the outcome of one trial, and its score (`None` where it must not enter an average).

    In this order: an error; a prompt that was not what it should be; an answer that the token limit cut off before it
    gave anything right, or that never got beyond its reasoning (censored), unless nothing that could follow would have
    made it right; a content filter (refused); the scorer's
    verdict, which is no score where the rules cannot tell (unclear). Without a score a blank answer is empty, and any
    other text an error: nothing judged it.
    """
    if error_kind:
        return "error", None
    if invalid:
        return "invalid", None
    hit = score is not None and score.verdict in ("found", "partial")
    if finish_reason in CUT_OFF and not hit and not (score and score.settled):
        return "censored", None
    if finish_reason == "content_filter" and not hit:
        return "refused", 0.0
    if score is None:
        return ("error", None) if answer_text.strip() else ("empty", 0.0)
    if score.verdict == "unclear":
        return "unclear", None
    return score.verdict, score.value
