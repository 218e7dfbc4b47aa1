"""A judge's marks for one model's answers, each held against its reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum

from needlework.results.judging.asking import Judge, Question, Replied, key_of
from needlework.results.leval.predictions import Prediction
from needlework.results.statistics.agreement.rates import share
from needlework.results.statistics.tasks import Share
from needlework.scoring.judges.prompts import judge_messages
from needlework.scoring.judges.replies import JudgeReplyError, parse_llmtest_reply

_FULL = 10


@dataclass(frozen=True, slots=True)
class Marked:
    """One answer. `mark`: 1 to 10, 0 for a blank answer, of which nobody is asked; `None` with its `problem`."""

    row: Prediction
    mark: int | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class MeanMark:
    """The mean of mark / 10, 0..1, with its interval over questions; none where one of the `expected` is missing.

    `least`, `most`: what it would be if every missing mark were 0, were 10.
    """

    score: Share
    least: float
    most: float
    n: int
    expected: int


def mark_question(row: Prediction, judge: Judge) -> Question | None:
    """Return the question about one answer; none about a blank one."""
    if not row.answer.strip():
        return None
    system, user = judge_messages("llmtest", row.question, row.gold, row.answer)
    key = key_of(judge, system, user)
    return Question(key, system, user, {"judge": judge.identity.get("spec"), "item": key[:16], "line": row.line})


def mark_fields(_question: Question, replied: Replied) -> dict[str, int | None]:
    """Return what the file of replies tells of a reply."""
    return {"verdict": _mark(replied)}


def marked(rows: Sequence[Prediction], judge: Judge, known: Mapping[str, Replied]) -> tuple[Marked, ...]:
    """Read the replies to the questions about these answers."""
    found = []
    for row in rows:
        question = mark_question(row, judge)
        replied = known.get(question.key) if question else None
        mark = 0 if question is None else _mark(replied)
        found.append(Marked(row, mark, "" if mark is not None else (replied.problem if replied else "") or "no mark"))
    return tuple(found)


def mean_mark(found: Sequence[Marked], broken: int) -> MeanMark:
    """Return the mean over all rows; `broken` ones are missing."""
    there = [((each.row.question, each.row.gold), each.mark / _FULL) for each in found if each.mark is not None]
    total, expected = fsum(score for _, score in there), len(found) + broken
    mean = share([score for _, score in there], [question for question, _ in there])
    most = (total + expected - len(there)) / expected if expected else 1.0
    return MeanMark(
        mean if len(there) == expected else Share(None),
        total / expected if expected else 0.0,
        most,
        len(there),
        expected,
    )


def _mark(replied: Replied | None) -> int | None:
    if replied is None or replied.problem:
        return None
    try:
        return parse_llmtest_reply(replied.replies[-1])
    except JudgeReplyError:
        return None
