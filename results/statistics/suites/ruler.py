"""RULER's tables."""

from collections.abc import Iterable, Sequence
from math import fsum
from statistics import fmean

from msgspec import Struct

from needlework.core.record import Record
from needlework.results.records.samples import by_test, grouped, without_controls
from needlework.results.statistics.effective_length import EffectiveLength, absolute_length
from needlework.results.statistics.length_scores import LengthScore
from needlework.results.statistics.panels import ScoredTrial, Share, tally, trial_of
from needlework.results.statistics.tasks import weighted_mean

_NEEDLES = ("single_1", "single_2", "single_3", "multikey_1", "multikey_2", "multikey_3", "multivalue", "multiquery")
TASKS = (
    *(f"ruler_niah_{name}" for name in _NEEDLES),
    *("ruler_vt", "ruler_cwe", "ruler_fwe", "ruler_qa_1", "ruler_qa_2"),
)
_SCORERS = ("ruler_all", "ruler_part")


class RulerLength(Struct, frozen=True):
    """The tasks at one length; scores 0..1, all `None` where a task is missing."""

    length: int  # tokens
    mean: float | None  # of the tasks' means, each weighing the same
    low: float | None  # its 95 % interval, from the tasks' own (`weighted_mean`)
    high: float | None
    strict: float | None  # the same mean of the strict scores
    n: int  # trials that count
    cut: int  # of those, answers cut off before anything right, which RULER scores as 0
    unscored: int  # further trials, which have no score for another reason
    missing: tuple[str, ...]  # tasks without a score here
    partial: bool  # a task was not asked here at all, so that the length is none of the effective length's


class RulerTable(Struct, frozen=True):
    """A model's row in one language."""

    model: str
    language: str
    lengths: tuple[RulerLength, ...]
    increasing: float | None  # wAvg(inc): mean over the lengths that have one, weights growing by 1; `None` below two
    decreasing: float | None  # wAvg(dec): weights falling by 1
    effective: EffectiveLength
    effective_length: str  # in words
    scorers: tuple[str, ...]  # those that are not RULER's


def ruler_tables(records: Iterable[Record]) -> tuple[RulerTable, ...]:
    """Return a table for each model, test and language with any of the 13 tasks, without controls."""
    groups: dict[tuple[str, str], list[Record]] = {}
    answers = (record for record in without_controls(records) if record.task in TASKS)
    for test, of_test in by_test(answers).items():
        for record in of_test:
            model = f"{record.model} ({test})" if test else record.model
            groups.setdefault((model, record.language), []).append(record)
    return tuple(_table(*key, groups[key]) for key in sorted(groups))


def weighted(scores: Sequence[float], *, increasing: bool) -> float:
    """The mean of scores by ascending length, with weights 1, 2, 3, ..., or in reverse."""
    weights = range(1, len(scores) + 1) if increasing else range(len(scores), 0, -1)
    return fsum(weight * score for weight, score in zip(weights, scores, strict=True)) / sum(weights)


def _table(model: str, language: str, records: Sequence[Record]) -> RulerTable:
    by_length = grouped(records, lambda record: record.length)
    lengths = tuple(_length(length, by_length[length]) for length in sorted(by_length))
    means = [each.mean for each in lengths if each.mean is not None]
    complete = [LengthScore(each.length, each.mean, each.low, each.high) for each in lengths if not each.partial]
    effective = absolute_length(complete)
    scorers = {record.scorer for record in records if record.score is not None} - set(_SCORERS)
    return RulerTable(
        model=model,
        language=language,
        lengths=lengths,
        increasing=weighted(means, increasing=True) if len(means) > 1 else None,
        decreasing=weighted(means, increasing=False) if len(means) > 1 else None,
        effective=effective,
        effective_length=effective.answer,
        scorers=tuple(sorted(scorers)),
    )


def _length(length: int, records: Sequence[Record]) -> RulerLength:
    by_task = grouped(records, lambda record: record.task)
    tallies = {task: tally(map(_trial, by_task.get(task, ()))) for task in TASKS}
    missing = tuple(task for task, scores in tallies.items() if scores.mean is None)
    counted = [record for record in records if _trial(record).score is not None]
    mean = Share(None) if missing else weighted_mean([scores.share for scores in tallies.values()])
    return RulerLength(
        length=length,
        mean=mean.value,
        low=mean.low,
        high=mean.high,
        strict=None if missing else _strict(counted),
        n=len(counted),
        cut=sum(record.outcome == "censored" for record in counted),
        unscored=len(records) - len(counted),
        missing=missing,
        partial=any(task not in by_task for task in missing),
    )


def _trial(record: Record) -> ScoredTrial:
    """A trial as RULER counts it: an answer that was cut off before it gave anything right is wrong."""
    trial = trial_of(record)
    return trial._replace(outcome="wrong", score=0.0) if trial.outcome == "censored" else trial


def _strict(records: Sequence[Record]) -> float | None:
    """The mean of the tasks' mean strict scores; `None` where a scored record has none.

    What is unclear to the strict rule is left out.
    """
    scores: dict[str, list[float]] = {}
    for record in records:
        score = 0.0 if record.outcome == "censored" else record.details.score.get("strict", "")
        if isinstance(score, (int, float)):
            scores.setdefault(record.task, []).append(float(score))
        elif score is not None:
            return None
    return fmean(map(fmean, scores.values())) if scores else None
