"""Rows per task and panel, and the overall score of a run."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import fsum, nan, sqrt
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import asdict

from needlework.core.record import SCORED, Record, label_parts
from needlework.haystack_fixtures.tasks.catalogue import family_of
from needlework.results.records.samples import control_of, grouped, retriever_of, task_of
from needlework.results.statistics import intervals
from needlework.results.statistics.absent import AbsentTwins, is_absent, twins_of
from needlework.results.statistics.depth import DepthEffect, depth_effects
from needlework.results.statistics.effective_length import (
    EffectiveLength,
    Trend,
    absolute_length,
    relative_length,
    trend,
)
from needlework.results.statistics.length_scores import BaselineChoice, base_of, length_scores
from needlework.results.statistics.panels import (
    OUTCOMES,
    PanelKey,
    Range,
    ScoredTrial,
    Share,
    Tally,
    panel_order,
    tally,
    trial_of,
)


# A score says little by itself: 50 % is what guessing yes or no gives, and a model that answers 60 % of the
# questions on a text of one sentence has lost nothing at 50 %.
class TaskScore(Struct, frozen=True):
    """One (model, task), all scores 0..1."""

    model: str
    family: str
    task: str
    overall: Tally  # controls left out
    chance: float | None  # mean score of guessing among the answers that are allowed; `None` if not recorded
    floor: float | None  # mean score of the best answer that is always the same
    corrected: Share  # (score - chance) / (1 - chance), below 0 for less than chance
    focused: Tally  # trials on just the text that the answer rests on
    relative: Share  # overall mean / focused mean
    compacted: Tally  # the same questions, answered from the model's own summary of the text
    after_summary: Share  # compacted mean / overall mean
    twins: AbsentTwins | None  # questions asked with and without their answer


class Macro(Struct, frozen=True):
    """The mean over families of the mean over a family's tasks, raw and corrected for chance."""

    model: str
    families: int
    tasks: int
    score: Share
    corrected: Share
    missing: tuple[str, ...]  # tasks without a score: then there is no mean
    range: Range | None = None  # of `score`; `None` where no answer is undecided


def task_scores(records: Iterable[Record]) -> tuple[TaskScore, ...]:
    """Return the rows of all tasks, sorted by model, family and task.

    Retrieved contexts are left out (`needlework.results.statistics.documents`).
    """
    unsearched = (record for record in records if not retriever_of(record))
    groups = grouped(unsearched, lambda record: (record.model, record.task_label))
    keys = sorted((model, family_of(task_of(task)), task) for model, task in groups)
    return tuple(_row(model, family, task, groups[model, task]) for model, family, task in keys)


def macros(rows: Sequence[TaskScore]) -> tuple[Macro, ...]:
    """Return the macro score of each model that was asked tasks of two families or more."""
    scores = []
    for model, of_model in grouped(rows, lambda row: row.model).items():
        families = {row.family for row in of_model}
        if len(families) > 1:
            missing = tuple(row.task for row in of_model if row.overall.mean is None)
            overall = overall_score({(model, row.task): row.overall for row in of_model})
            weights = [*task_weights((model, row.task) for row in of_model).values()]
            corrected = Share(None) if missing else weighted_mean([row.corrected for row in of_model], weights)
            scores.append(Macro(model, len(families), len(of_model), overall.share, corrected, missing, overall.range))
    return tuple(scores)


def overall_score(tallies: Mapping[tuple[str, str], Tally]) -> Tally:
    """The overall score of a run: the mean over families of the mean over a family's tasks.
    Of a single task its own. No mean where a task has no score. `tallies`: by model and task."""
    if len(tallies) == 1:
        return next(iter(tallies.values()))
    weights, parts = [*task_weights(tallies).values()], [*tallies.values()]
    mean = weighted_mean([part.share for part in parts], weights) if parts else Share(None)
    samples = sum(part.samples for part in parts)
    ends = (
        None
        if mean.low is None or mean.high is None
        else intervals.Interval(max(0, mean.low), min(1, mean.high), samples)
    )
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
    """The weight of each model's task in an overall score.
    Models, families of a model and tasks of a family weigh the same."""
    family = {(model, task): (model, family_of(task_of(task))) for model, task in tasks}
    families = Counter(family.values())
    models = Counter(model for model, _ in families)
    return {name: 1 / (len(models) * models[name[0]] * families[family[name]]) for name in family}


def _row(model: str, family: str, task: str, records: Sequence[Record]) -> TaskScore:
    by_control = grouped(records, control_of)
    main, focused, compacted = (
        list(map(trial_of, by_control.get(control, ()))) for control in ("", "focused", "compacted")
    )
    arms = [record for record in records if control_of(record) in ("", "absent")]
    overall, alone, shortened = tally(main), tally(focused), tally(compacted)
    references = [record.reference for record in by_control.get("", ()) if record.outcome in SCORED]
    chance = _mean_of(references, "chance")
    return TaskScore(
        model=model,
        family=family,
        task=task,
        overall=overall,
        chance=chance,
        floor=_mean_of(references, "floor"),
        corrected=corrected_for_chance(overall, chance or 0.0),
        focused=alone,
        relative=_relative(main, focused, overall, alone),
        compacted=shortened,
        after_summary=_relative(compacted, main, shortened, overall),
        twins=twins_of(model, task, arms) if any(map(is_absent, arms)) else None,
    )


def _mean_of(references: Sequence[Mapping[str, Any]], name: str) -> float | None:
    """The mean of a number in references; `None` where one lacks it."""
    numbers = [float(value) for each in references if isinstance(value := each.get(name), (int, float))]
    return fsum(numbers) / len(numbers) if numbers and len(numbers) == len(references) else None


def corrected_for_chance(overall: Tally, chance: float) -> Share:
    """(score - chance) / (1 - chance), linear in the score, so that its interval is the score's."""
    if chance >= 1:
        return Share(None)
    ends = (overall.share.value, overall.share.low, overall.share.high)
    return Share(*(None if end is None else (end - chance) / (1 - chance) for end in ends))


def _relative(main: Sequence[ScoredTrial], base: Sequence[ScoredTrial], overall: Tally, of_base: Tally) -> Share:
    """The ratio of both means; its interval by resampling the arms' common samples, if enough."""
    if overall.mean is None or not of_base.mean:
        return Share(None)
    value = overall.mean / of_base.mean
    arms = [[trial for trial in arm if trial.score is not None] for arm in (main, base)]
    samples = [trial.sample for arm in arms for trial in arm]
    if len(set(samples)) < intervals.FEWEST_CLUSTERS:
        return Share(value)
    scores = [[trial.score or 0.0 for trial in arm] for arm in arms]
    sums, sizes = intervals.cluster_sums(
        [*([score, nan] for score in scores[0]), *([nan, score] for score in scores[1])], samples
    )
    means = intervals.resampled_means(sums, sizes)
    usable = means[(means[:, 1] > 0) & ~np.isnan(means).any(axis=1)]
    if len(usable) < len(means) / 2:
        return Share(value)
    low, high = intervals.expanded_interval(usable[:, 0] / usable[:, 1], len(sums))
    return Share(value, min(max(0.0, low), value), max(high, value))


def weighted_mean(shares: Sequence[Share], weights: Sequence[float] | None = None) -> Share:
    """Return the mean of shares by weights that add up to 1, equal by default; none if one lacks a value.

    Its interval, where each of them has one, comes from theirs, as if they were independent (MOVER: G. Y. Zou, A.
    Donner, "Construction of confidence limits about effect measures", Statistics in Medicine 27 (2008) 1693-1702).
    """
    weights = weights or [1 / len(shares)] * len(shares)
    means = [share.value for share in shares if share.value is not None]
    if len(means) < len(shares):
        return Share(None)
    value = fsum(weight * mean for weight, mean in zip(weights, means, strict=True))
    parts = [
        (weight * (mean - share.low), weight * (share.high - mean))
        for weight, mean, share in zip(weights, means, shares, strict=True)
        if share.low is not None and share.high is not None
    ]
    if len(parts) < len(shares):
        return Share(value)
    below, above = (sqrt(fsum(part[side] ** 2 for part in parts)) for side in (0, 1))
    return Share(value, value - below, value + above)


def weighted_range(parts: Sequence[tuple[Range | None, float | None, float]]) -> Range | None:
    """Return the range of a mean of parts: each its range, mean and weight.

    A part without a range is its mean. `None` where no part has a range, or one has neither.
    """
    if all(ends is None for ends, _, _ in parts) or any(ends is None and mean is None for ends, mean, _ in parts):
        return None
    known = [(ends or (mean or 0.0, mean or 0.0), weight) for ends, mean, weight in parts]
    return fsum(weight * low for (low, _), weight in known), fsum(weight * high for (_, high), weight in known)


def tasks_object(rows: Sequence[TaskScore]) -> list[dict[str, Any]]:
    """Return the rows as JSON objects, scores 0..1."""
    return [
        {
            **{name: getattr(row, name) for name in ("model", "family", "task", "chance", "floor")},
            "n": row.overall.n,
            "trials": row.overall.trials,
            "range": row.overall.range,
            "score": row.overall.share,
            "corrected": row.corrected,
            "focused": {"n": row.focused.n, "mean": row.focused.mean},
            "relative": row.relative,
            **(
                {"compacted": {"n": row.compacted.n, "mean": row.compacted.mean, "share": row.after_summary}}
                if row.compacted.trials
                else {}
            ),
        }
        for row in rows
    ]


_OVERLAPS = ("f1", "rouge")  # in the name of a scorer of overlapping words: nobody scores 85.6 % there


class PanelStatistics(Struct, frozen=True):
    """The effects of depth and length on one panel (model, task, needle)."""

    model: str
    task: str
    needle: str
    depth: DepthEffect
    absolute: EffectiveLength | None  # as `relative`; also `None` for scores of overlapping words
    relative: EffectiveLength | None  # `None` for one length, for retrieved contexts, and where abstaining is right
    trend: Trend


def run_statistics(records: Iterable[Record], relative_to: BaselineChoice | None = None) -> tuple[PanelStatistics, ...]:
    """Return the statistics of each panel, in their order.

    `relative_to`: the base of the relative rule of effective length.
    """
    groups: dict[PanelKey, list[Record]] = {}
    focused: dict[PanelKey, list[ScoredTrial]] = {}
    for record in records:
        if not control_of(record):
            groups.setdefault((record.model, record.task_label, record.panel), []).append(record)
        elif control_of(record) == "focused":
            twin = label_parts(record.task, str(record.reference.get("twin"))).panel
            focused.setdefault((record.model, record.task_label, twin), []).append(trial_of(record))
    panels = sorted(groups, key=panel_order)
    trials = [list(map(trial_of, groups[panel])) for panel in panels]
    statistics = []
    for panel, of_panel, depth in zip(panels, trials, depth_effects(trials), strict=True):
        scores, base = length_scores(of_panel), base_of(of_panel, focused.get(panel, ()), relative_to)
        telling = len(scores) > 1 and not any(retriever_of(record) or is_absent(record) for record in groups[panel])
        overlaps = any(word in scorer for scorer in {record.scorer for record in groups[panel]} for word in _OVERLAPS)
        absolute = absolute_length(scores) if telling and not overlaps else None
        relative = relative_length(of_panel, base) if telling else None
        statistics.append(PanelStatistics(*panel, depth, absolute, relative, trend(scores, base.score)))
    return tuple(statistics)


def statistics_object(statistics: Sequence[PanelStatistics]) -> list[dict[str, Any]]:
    """Return JSON objects; scores and differences are 0..1, lengths tokens, depths percent."""
    return [
        {
            "model": panel.model,
            "task": panel.task,
            "needle": panel.needle,
            "depth_effect": {"label": panel.depth.label, **asdict(panel.depth)},
            "effective_length": [rule.as_object() for rule in (panel.absolute, panel.relative) if rule],
            "trend": {
                **asdict(panel.trend),
                "area": panel.trend.area.value,
                "area_low": panel.trend.area.low,
                "area_high": panel.trend.area.high,
            },
        }
        for panel in statistics
    ]


class GateRow(Struct, frozen=True):
    """A gate's verdict on one group."""

    gate: str  # as it was written
    group: str  # the judged cells
    verdict: str  # pass, fail, inconclusive
    value: float | None  # mean score, low end or drop, 0..1 (-1..1); `None` where nothing was scored
    low: float | None  # interval of the mean at `level` percent
    high: float | None
    level: float
    n: int  # trials with a score, or pairs
    remark: str  # further grounds, in words
    selected: int  # trials of the cells that the run's command selects: all gates are judged on these


def selection_words(rows: Sequence[GateRow], recorded: int) -> str:
    """A note if gates were judged on fewer trials than the `recorded` ones; else empty."""
    selected = rows[0].selected if rows else recorded
    if selected >= recorded:
        return ""
    return f"judged on {selected:,} of the run's {recorded:,} trials: the cells that its command selects"
