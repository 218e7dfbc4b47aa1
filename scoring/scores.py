"""Scores, references, outcomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from needlework.core.record import OutcomeName

Verdict = Literal["found", "partial", "wrong", "distractor", "refused", "empty", "unclear"]
Details = dict[str, float | str | int | bool | None]
"""What a scorer says beside the score."""

EXACT = 1 - 1e-9
"""From this score on an answer is right."""


@dataclass(frozen=True, slots=True)
class Reference:
    """Right and known wrong answers."""

    answers: tuple[str, ...]  # one needle: the spellings of the one right value
    statement: str = ""  # the needle sentence itself
    keyword: str = ""  # searched by OpenCompass's keyword rules
    parts: tuple[str, ...] = ()  # several needles: the value of each, all of them wanted
    distractors: tuple[str, ...] = ()  # values that stand in the context and are wrong
    question: str = ""
    language: str = "en"
    absent: bool = False  # the answer is not in the context, and right is to abstain
    places: Mapping[str, float] = field(default_factory=dict)  # depths of values, in percent of the context
    kinds: Mapping[str, str] = field(default_factory=dict)  # kinds of wrong values: `stale`, or the mistaken attribute
    labels: tuple[str, ...] = ()  # every answer that the question allows, where they are known
    given: tuple[str, ...] = ()  # those that the question names itself
    name_key: str = ""  # key of the check digits in the text's own names


@dataclass(frozen=True, slots=True, eq=False)
class Score:
    """A judged answer. It compares with numbers by its value, and equals a score if all fields do."""

    value: float  # 0..1
    verdict: Verdict
    answer: str = ""  # the text taken as the answer
    why: str = ""
    details: Mapping[str, float | str | int | bool | None] = field(default_factory=dict)
    scorer: str = ""  # `name vN`
    settled: bool = False  # nothing that could follow would make it right: it has a score where it was cut off

    def __float__(self) -> float:
        return self.value

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Score):
            names = ("value", "verdict", "answer", "why", "details", "scorer")
            return all(getattr(self, name) == getattr(other, name) for name in names)
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
    """A named, versioned judgement of one answer."""

    name: str
    version: int  # changes whenever any score could
    judge: Callable[[str, Reference], Score]
    whole: bool = False  # an answer that was cut off and is not all right yet has no score


def rule(name: str, version: int, *, whole: bool = False) -> Callable[[Callable[[str, Reference], Score]], Scorer]:
    """Make a scorer of the function below."""
    return lambda judge: Scorer(name, version, judge, whole)


CUT_OFF = ("length", "unfinished")
"""Finish reasons of an answer that is not whole: the token limit, and reasoning with no answer behind it."""


def outcome_of(
    *, error_kind: str | None, finish_reason: str | None, invalid: Sequence[str], score: Score | None, answer_text: str
) -> tuple[OutcomeName, float | None]:
    """Decide the outcome of one trial, and its score (`None` where it must not enter an average).

    In this order: an error; an invalid prompt; an answer that was cut off before it gave anything right (censored),
    unless it is settled; a content filter (refused); the scorer's verdict, which has no score where the rules cannot
    tell (unclear). Without a score a blank answer is empty, and any other text an error: nothing judged it.
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


def contradicts(value: float, verdict: Verdict) -> bool:
    """Whether a full score is called a miss, or a zero a hit. Unclear answers' scores do not count."""
    return (value >= EXACT and verdict not in ("found", "unclear")) or (value == 0 and verdict in ("found", "partial"))


def expected_text(reference: Reference) -> str:
    """The text that edit-distance and exact rules compare with: needle sentence, else first answer."""
    if reference.statement:
        return reference.statement
    if reference.answers:
        return reference.answers[0]
    if reference.parts:
        return "\n".join(reference.parts)
    raise ValueError("the reference has no statement, answers or parts to compare with")


def expected_keyword(reference: Reference) -> str:
    """Give what the keyword rules look for: the keyword, else the first answer."""
    if reference.keyword:
        return reference.keyword
    if reference.answers:
        return reference.answers[0]
    raise ValueError("the reference has neither keyword nor answers to look for")
