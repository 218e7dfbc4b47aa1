"""RULER's tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from math import fsum
from typing import Any

from needlework.core.record import Record
from needlework.results.records.samples import by_test, grouped, without_controls
from needlework.results.statistics.effective_length import EffectiveLength, absolute_length
from needlework.results.statistics.length_scores import LengthScore
from needlework.results.statistics.panels import ScoredTrial, Share, tally, trial_of
from needlework.results.statistics.tasks import weighted_mean

TASKS = (
    "ruler_niah_single_1",
    "ruler_niah_single_2",
    "ruler_niah_single_3",
    "ruler_niah_multikey_1",
    "ruler_niah_multikey_2",
    "ruler_niah_multikey_3",
    "ruler_niah_multivalue",
    "ruler_niah_multiquery",
    "ruler_vt",
    "ruler_cwe",
    "ruler_fwe",
    "ruler_qa_1",
    "ruler_qa_2",
)
_SCORERS = ("ruler_all", "ruler_part")


@dataclass(frozen=True, slots=True)
class RulerLength:
    """The tasks at one length (tokens); scores 0..1.

    `mean`: of the tasks' means, each weighing the same; `low`, `high`: its 95 % interval, from the tasks' own (MOVER:
    G. Y. Zou and A. Donner, "Construction of confidence limits about effect measures", Stat. Med. 27 (2008) 1693-1702).
    `strict`: the same mean of the strict scores. All `None` where a task is `missing`: it has no score here. `partial`:
    one was not asked here at all, so that the length is none of the effective length's.
    `n`: trials that count; `cut`: of those, answers that the token limit cut off before anything right, which RULER
    scores as 0; `unscored`: further trials, which have no score for another reason.
    """

    length: int
    mean: float | None
    low: float | None
    high: float | None
    strict: float | None
    n: int
    cut: int
    unscored: int
    missing: tuple[str, ...]
    partial: bool


@dataclass(frozen=True, slots=True)
class RulerTable:
    """A model's row in one language. `increasing`, `decreasing`: means over the lengths that have a mean, weights
    growing or falling by 1 (wAvg(inc), wAvg(dec)); `None` with fewer than two. `scorers`: those that are not RULER's.
    """

    model: str
    language: str
    lengths: tuple[RulerLength, ...]
    increasing: float | None
    decreasing: float | None
    effective: EffectiveLength
    scorers: tuple[str, ...]


def ruler_tables(records: Iterable[Record]) -> tuple[RulerTable, ...]:
    """Return a table for each model, test and language that was asked any of the 13 tasks, controls left out."""
    groups: dict[tuple[str, str], list[Record]] = {}
    own = (record for record in without_controls(records) if record.task in TASKS)
    for test, asked in by_test(own).items():
        for record in asked:
            model = f"{record.model} ({test})" if test else record.model
            groups.setdefault((model, record.language), []).append(record)
    return tuple(_table(*key, groups[key]) for key in sorted(groups))


def ruler_object(tables: Sequence[RulerTable]) -> list[dict[str, Any]]:
    """The tables for `results.json`."""
    return [asdict(table) | {"effective_length": table.effective.answer} for table in tables]


def weighted(scores: Sequence[float], *, increasing: bool) -> float:
    """The mean of scores by ascending length with weights 1, 2, 3, ..., or the same weights from the other end."""
    weights = range(1, len(scores) + 1) if increasing else range(len(scores), 0, -1)
    return fsum(weight * score for weight, score in zip(weights, scores, strict=True)) / sum(weights)


def _table(model: str, language: str, records: Sequence[Record]) -> RulerTable:
    by_length = grouped(records, lambda record: record.length)
    lengths = tuple(_length(length, by_length[length]) for length in sorted(by_length))
    means = [each.mean for each in lengths if each.mean is not None]
    both = len(means) > 1
    scorers = {record.scorer for record in records if record.score is not None} - set(_SCORERS)
    return RulerTable(
        model=model,
        language=language,
        lengths=lengths,
        increasing=weighted(means, increasing=True) if both else None,
        decreasing=weighted(means, increasing=False) if both else None,
        effective=absolute_length(
            [LengthScore(each.length, each.mean, each.low, each.high) for each in lengths if not each.partial]
        ),
        scorers=tuple(sorted(scorers)),
    )


def _length(length: int, records: Sequence[Record]) -> RulerLength:
    tallies = {task: tally(map(_trial, (each for each in records if each.task == task))) for task in TASKS}
    missing = tuple(task for task, found in tallies.items() if found.mean is None)
    counted = [record for record in records if _trial(record).score is not None]
    mean = Share(None) if missing else weighted_mean([found.share for found in tallies.values()])
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
        partial=any(not tallies[task].trials for task in missing),
    )


def _trial(record: Record) -> ScoredTrial:
    """A trial as RULER counts it: an answer that was cut off before it gave anything right is wrong."""
    trial = trial_of(record)
    return trial._replace(outcome="wrong", score=0.0) if trial.outcome == "censored" else trial


def _strict(records: Sequence[Record]) -> float | None:
    """The mean of the tasks' mean strict scores; `None` where a scored record does not tell its own.

    What is unclear to the strict rule is left out.
    """
    scores: dict[str, list[float]] = {}
    for record in records:
        told = 0.0 if record.outcome == "censored" else record.details.score.get("strict", "")
        if told is None:
            continue
        if not isinstance(told, (int, float)):
            return None
        scores.setdefault(record.task, []).append(float(told))
    return fsum(fsum(values) / len(values) for values in scores.values()) / len(scores) if scores else None
