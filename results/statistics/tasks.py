"""Rows per task and the summary of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import fsum, nan, sqrt
from typing import Any

import numpy as np

from needlework.core.labels import label_parts
from needlework.core.record import SCORED
from needlework.haystack_fixtures.tasks.catalogue import family_of
from needlework.results.records.samples import grouped, task_of
from needlework.results.statistics.absent import AbsentTwins, absent_twins, is_absent
from needlework.results.statistics.depth import DepthEffect, depth_effects
from needlework.results.statistics.effective_length import (
    RULER_THRESHOLD,
    EffectiveLength,
    Trend,
    absolute_length,
    relative_length,
    trend,
)
from needlework.results.statistics.intervals import (
    FEWEST_CLUSTERS,
    Interval,
    cluster_sums,
    expanded_interval,
    resampled_means,
)
from needlework.results.statistics.length_scores import BaselineChoice, base_of, length_scores
from needlework.results.statistics.panels import (
    OUTCOMES,
    Range,
    RecordInPanel,
    ScoredTrial,
    Share,
    Tally,
    tally,
)


# A score says little by itself: 50 % is all that can be had by guessing yes or no, and a model that answers 60 % of the
# questions on a text of one sentence has lost nothing at 50 %.
@dataclass(frozen=True, slots=True)
class TaskScore:
    """One (model, task), all scores 0..1.

    `overall`: its trials, controls left out. `chance`, `floor`: mean scores of guessing among the answers that are
    allowed, and of the best answer that is always the same; `None` where records do not tell. `corrected`:
    (score - chance) / (1 - chance), below 0 for less than chance. `focused`: trials whose text was nothing but what the
    answer rests on. `relative`: overall mean / focused mean. `twins`: how it does where the answer is absent.
    """

    model: str
    family: str
    task: str
    overall: Tally
    chance: float | None
    floor: float | None
    corrected: Share
    focused: Tally
    relative: Share
    twins: AbsentTwins | None


@dataclass(frozen=True, slots=True)
class Macro:
    """The mean over families of the mean over a family's tasks, of scores and of scores corrected for chance.

    `families`: how many; `missing`: tasks without a score, because of which there is no mean. `range`: of the mean of
    scores, with undecided answers as misses and as hits; `None` where none is undecided.
    """

    model: str
    families: int
    tasks: int
    score: Share
    corrected: Share
    missing: tuple[str, ...]
    range: Range | None = None


def task_scores(asked: Iterable[RecordInPanel]) -> tuple[TaskScore, ...]:
    """Return the rows of all tasks, sorted by model, family and task.

    What was retrieved is no part of it (`needlework.results.statistics.documents`).
    """
    plain = [each for each in asked if not each.retriever]
    groups = grouped(plain, lambda each: (each.trial.model, each.trial.task))
    found = sorted((model, family_of(task_of(task)), task) for model, task in groups)
    return tuple(_row(model, family, task, groups[model, task]) for model, family, task in found)


def macros(rows: Sequence[TaskScore]) -> tuple[Macro, ...]:
    """Return the macro score of each model that was asked tasks of two families or more."""
    found = []
    for model in dict.fromkeys(row.model for row in rows):
        of_model = {(model, row.task): row for row in rows if row.model == model}
        families = {row.family for row in of_model.values()}
        if len(families) > 1:
            missing = tuple(row.task for row in of_model.values() if row.overall.mean is None)
            overall = overall_score({name: row.overall for name, row in of_model.items()})
            weights = [*task_weights(of_model).values()]
            corrected = Share(None) if missing else weighted_mean([row.corrected for row in of_model.values()], weights)
            found.append(Macro(model, len(families), len(of_model), overall.share, corrected, missing, overall.range))
    return tuple(found)


def overall_score(tallies: Mapping[tuple[str, str], Tally]) -> Tally:
    """The one score of a run, for reports, comparisons and leaderboards: the mean over families of the mean over a
    family's tasks; of a single task its own. No mean where a task has no score. `tallies`: by model and task.
    """
    if len(tallies) == 1:
        return next(iter(tallies.values()))
    weights, parts = [*task_weights(tallies).values()], [*tallies.values()]
    mean = weighted_mean([part.share for part in parts], weights) if parts else Share(None)
    samples = sum(part.samples for part in parts)
    ends = None if mean.low is None or mean.high is None else Interval(max(0, mean.low), min(1, mean.high), samples)
    return Tally(
        n=sum(part.n for part in parts),
        mean=mean.value,
        interval=ends,
        counts={name: sum(part.counts[name] for part in parts) for name in OUTCOMES},
        samples=samples,
        range=weighted_range([(part.range, part.mean, weight) for part, weight in zip(parts, weights, strict=True)]),
    )


def overall_of(trials: Iterable[ScoredTrial]) -> Tally:
    """The overall score of some trials."""
    tasks = grouped(trials, lambda trial: (trial.model, trial.task))
    return overall_score({name: tally(tasks[name]) for name in sorted(tasks)})


def task_weights(tasks: Iterable[tuple[str, str]]) -> dict[tuple[str, str], float]:
    """The weight of each model's task in an overall score: models, families of a model and tasks of a family weigh the
    same.
    """
    names = list(tasks)
    families = Counter((model, family_of(task_of(task))) for model, task in names)
    models = Counter(model for model, _ in families)
    return {
        (model, task): 1 / (len(models) * models[model] * families[model, family_of(task_of(task))])
        for model, task in names
    }


def _row(model: str, family: str, task: str, asked: Sequence[RecordInPanel]) -> TaskScore:
    main = [each for each in asked if not each.control]
    focused = [each for each in asked if each.control == "focused"]
    overall = tally(each.trial for each in main)
    alone = tally(each.trial for each in focused)
    scored = [each.record.reference for each in main if each.trial.outcome in SCORED]
    chance = _told(scored, "chance")
    twins = [each for each in absent_twins([each.record for each in asked]) if each.task == task]
    return TaskScore(
        model=model,
        family=family,
        task=task,
        overall=overall,
        chance=chance,
        floor=_told(scored, "floor"),
        corrected=corrected_for_chance(overall, chance or 0.0),
        focused=alone,
        relative=_relative(main, focused, overall, alone),
        twins=twins[0] if twins else None,
    )


def _told(references: Sequence[Mapping[str, Any]], name: str) -> float | None:
    """The mean of a number that references tell; `None` where one does not."""
    values = [reference.get(name) for reference in references]
    numbers = [float(value) for value in values if isinstance(value, (int, float))]
    return fsum(numbers) / len(numbers) if numbers and len(numbers) == len(values) else None


def corrected_for_chance(overall: Tally, chance: float) -> Share:
    """(score - chance) / (1 - chance), linear in the score, so that its interval is the score's."""
    if chance >= 1:
        return Share(None)
    score = overall.share
    return Share(
        *(None if end is None else (end - chance) / (1 - chance) for end in (score.value, score.low, score.high))
    )


def _relative(main: Sequence[RecordInPanel], focused: Sequence[RecordInPanel], overall: Tally, alone: Tally) -> Share:
    """The ratio of both means; its interval by resampling samples, which both arms have, where there are enough."""
    if overall.mean is None or not alone.mean:
        return Share(None)
    value = overall.mean / alone.mean
    rows = [(each.trial, side) for side, arm in enumerate((main, focused)) for each in arm]
    rows = [(trial, side) for trial, side in rows if trial.score is not None]
    samples = [trial.sample for trial, _ in rows]
    if len(set(samples)) < FEWEST_CLUSTERS:
        return Share(value)
    table = [[trial.score if arm == side else nan for side in (0, 1)] for trial, arm in rows]
    sums, sizes = cluster_sums(table, samples)  # type: ignore[arg-type]  # scored records have a score
    means = resampled_means(sums, sizes)
    usable = means[(means[:, 1] > 0) & ~np.isnan(means).any(axis=1)]
    if len(usable) < len(means) / 2:
        return Share(value)
    low, high = expanded_interval(usable[:, 0] / usable[:, 1], len(sums))
    return Share(value, min(max(0.0, low), value), max(high, value))


def weighted_mean(shares: Sequence[Share], weights: Sequence[float] | None = None) -> Share:
    """Return the mean of shares by weights that add up to 1, all alike if not given; none where one has no value.

    Its interval, where each of them has one, comes from theirs, as if they were independent (MOVER: G. Y. Zou, A.
    Donner, "Construction of confidence limits about effect measures", Statistics in Medicine 27 (2008) 1693-1702).
    """
    weights = weights or [1 / len(shares)] * len(shares)
    means = [share.value for share in shares if share.value is not None]
    if len(means) < len(shares):
        return Share(None)
    value = fsum(weight * mean for weight, mean in zip(weights, means, strict=True))
    parts = [
        (weight, mean, share.low, share.high)
        for weight, mean, share in zip(weights, means, shares, strict=True)
        if share.low is not None and share.high is not None
    ]
    if len(parts) < len(shares):
        return Share(value)
    below = sqrt(fsum((weight * (mean - low)) ** 2 for weight, mean, low, _ in parts))
    above = sqrt(fsum((weight * (high - mean)) ** 2 for weight, mean, _, high in parts))
    return Share(value, value - below, value + above)


def weighted_range(parts: Sequence[tuple[Range | None, float | None, float]]) -> Range | None:
    """Return the range of a mean of parts, each its range, its mean and its weight; a part without a range is its mean.

    `None` where no part has a range, or one has neither.
    """
    if all(ends is None for ends, _, _ in parts) or any(ends is None and mean is None for ends, mean, _ in parts):
        return None
    known = [(ends or (mean or 0.0, mean or 0.0), weight) for ends, mean, weight in parts]
    return fsum(weight * low for (low, _), weight in known), fsum(weight * high for (_, high), weight in known)


def tasks_object(rows: Sequence[TaskScore]) -> list[dict[str, Any]]:
    """Return the rows as JSON objects, scores 0..1."""
    return [
        {
            "model": row.model,
            "family": row.family,
            "task": row.task,
            "n": row.overall.n,
            "trials": row.overall.trials,
            "range": row.overall.range,
            "score": asdict(row.overall.share),
            "chance": row.chance,
            "floor": row.floor,
            "corrected": asdict(row.corrected),
            "focused": {"n": row.focused.n, "mean": row.focused.mean},
            "relative": asdict(row.relative),
        }
        for row in rows
    ]


_OVERLAPS = ("f1", "rouge")  # in the name of a scorer of overlapping words: nobody scores 85.6 % there


@dataclass(frozen=True, slots=True)
class PanelStatistics:
    """One (model, task, needle): what its scores say about depth and length.

    `absolute`, `relative`: `None` where there is one length only, where retrieval keeps the context short, and where
    right is to abstain; the absolute one also for scores of overlapping words.
    """

    model: str
    task: str
    needle: str
    depth: DepthEffect
    absolute: EffectiveLength | None
    relative: EffectiveLength | None
    trend: Trend


def run_statistics(
    asked: Iterable[RecordInPanel], threshold: float = RULER_THRESHOLD, relative_to: BaselineChoice | None = None
) -> tuple[PanelStatistics, ...]:
    """Return the statistics of each panel, sorted.

    `threshold` (0..1) is the absolute rule's of effective length; `relative_to`: the base of the relative one.
    """
    groups: dict[tuple[str, str, str], tuple[list[RecordInPanel], list[ScoredTrial]]] = {}
    focused: dict[tuple[str, str, str], list[ScoredTrial]] = {}
    for each in asked:
        record, trial, control, _ = each
        if not control:
            of_panel, trials = groups.setdefault((trial.model, trial.task, trial.needle), ([], []))
            of_panel.append(each)
            trials.append(trial)
        elif control == "focused":
            twin = label_parts(record.task, str(record.reference.get("twin"))).panel
            focused.setdefault((trial.model, trial.task, twin), []).append(trial)
    panels = sorted(groups)
    depths = depth_effects([groups[panel][1] for panel in panels])
    return tuple(
        _panel(panel, *groups[panel], depth, threshold, focused.get(panel, ()), relative_to)
        for panel, depth in zip(panels, depths, strict=True)
    )


def without_lengths(found: PanelStatistics) -> PanelStatistics:
    """A panel without what holds for lengths that were all asked alike; an adaptive run has a statement of its own."""
    return replace(found, absolute=None, relative=None)


def statistics_object(statistics: Sequence[PanelStatistics]) -> list[dict[str, Any]]:
    """Return the same as JSON objects; scores and differences are 0..1, lengths tokens, depths percent."""
    return [
        {
            "model": panel.model,
            "task": panel.task,
            "needle": panel.needle,
            "depth_effect": {"label": panel.depth.label, **asdict(panel.depth)},
            "effective_length": [_length_object(rule) for rule in (panel.absolute, panel.relative) if rule],
            "trend": asdict(panel.trend),
        }
        for panel in statistics
    ]


def _panel(
    name: tuple[str, str, str],
    asked: Sequence[RecordInPanel],
    trials: Sequence[ScoredTrial],
    depth: DepthEffect,
    threshold: float,
    focused: Sequence[ScoredTrial],
    relative_to: BaselineChoice | None,
) -> PanelStatistics:
    scores = length_scores(trials)
    base = base_of(trials, focused, relative_to)
    telling = len(scores) > 1 and not any(each.retriever or is_absent(each.record) for each in asked)
    overlaps = any(word in scorer for scorer in {each.record.scorer for each in asked} for word in _OVERLAPS)
    return PanelStatistics(
        *name,
        depth=depth,
        absolute=absolute_length(scores, threshold) if telling and not overlaps else None,
        relative=relative_length(trials, base) if telling else None,
        trend=trend(scores, base.score),
    )


_LENGTH_FIELDS = (
    "rule", "threshold", "base", "samples", "status", "answer", "point", "point_most", "conservative", "optimistic",
    "longest_passing", "longest_tested", "decisive", "undecided",
)  # fmt: skip


def _length_object(found: EffectiveLength) -> dict[str, Any]:
    return {name: getattr(found, name) for name in _LENGTH_FIELDS} | {
        "base_of": found.base_words or None,
        "samples_needed": found.needed,
        "low": found.conservative,
        "high": found.optimistic,
        "caveat": found.caveat or None,
    }


@dataclass(frozen=True, slots=True)
class GateRow:
    """One verdict. `gate`: as it was written; `group`: the cells that it is about; `verdict`: pass, fail, inconclusive.

    `value`: mean score, low end or drop, 0..1 (-1..1), `None` where nothing was scored; `low`, `high`: the interval of
    the mean at `level` percent; `n`: trials with a score, or pairs; `remark`: what else decided, in words. `selected`:
    the run's trials of the cells that its command selects, which all its gates are judged on.
    """

    gate: str
    group: str
    verdict: str
    value: float | None
    low: float | None
    high: float | None
    level: float
    n: int
    remark: str
    selected: int


def selection_words(rows: Sequence[GateRow], recorded: int) -> str:
    """What to say where a run's `recorded` trials are more than its gates were judged on; else empty."""
    selected = rows[0].selected if rows else recorded
    if selected >= recorded:
        return ""
    return f"judged on {selected:,} of the run's {recorded:,} trials: the cells that its command selects"
