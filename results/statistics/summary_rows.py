"""The statistics of a run, panel by panel; for `results.json` as its object "statistics"."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from needlework.results.records.record import Record
from needlework.results.records.samples import panel_and_sample
from needlework.results.statistics.absent import is_absent
from needlework.results.statistics.asked import Asked, asked_of
from needlework.results.statistics.depth.effect import DepthEffect, depth_effects
from needlework.results.statistics.length.answer import EffectiveLength
from needlework.results.statistics.length.base import Wanted, base_of
from needlework.results.statistics.length.effective import RULER_THRESHOLD, absolute_length, relative_length
from needlework.results.statistics.length.scores import joint_draws, length_scores
from needlework.results.statistics.length.trend import Trend, trend
from needlework.results.statistics.panels import Trial

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
    records: Iterable[Record], threshold: float = RULER_THRESHOLD, relative_to: Wanted | None = None
) -> tuple[PanelStatistics, ...]:
    """Return the statistics of each panel, sorted.

    `threshold` (0..1) is the absolute rule's of effective length; `relative_to`: the base of the relative one.
    """
    return statistics_of(asked_of(records), threshold, relative_to)


def statistics_of(
    asked: Iterable[Asked], threshold: float = RULER_THRESHOLD, relative_to: Wanted | None = None
) -> tuple[PanelStatistics, ...]:
    """The same of records that were looked at already."""
    groups: dict[tuple[str, str, str], tuple[list[Asked], list[Trial]]] = {}
    focused: dict[tuple[str, str, str], list[Trial]] = {}
    for each in asked:
        record, trial, control, _ = each
        if not control:
            of_panel, trials = groups.setdefault((trial.model, trial.task, trial.needle), ([], []))
            of_panel.append(each)
            trials.append(trial)
        elif control == "focused":
            twin, _ = panel_and_sample(record["task"], str(record["reference"].get("twin")), record["repeat"])
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
    """Return the same as JSON objects; scores, differences and chances are 0..1, lengths tokens, depths percent."""
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
    asked: Sequence[Asked],
    trials: Sequence[Trial],
    depth: DepthEffect,
    threshold: float,
    focused: Sequence[Trial],
    relative_to: Wanted | None,
) -> PanelStatistics:
    scores = length_scores(trials)
    base = base_of(trials, focused, relative_to)
    telling = len(scores) > 1 and not any(each.retriever or is_absent(each.record) for each in asked)
    draws = joint_draws(trials) if telling else None
    overlaps = any(word in scorer for scorer in {each.record["scorer"] for each in asked} for word in _OVERLAPS)
    return PanelStatistics(
        *name,
        depth=depth,
        absolute=absolute_length(scores, threshold, draws=draws) if telling and not overlaps else None,
        relative=relative_length(trials, base, draws=draws) if telling else None,
        trend=trend(scores, base.score),
    )


def _length_object(found: EffectiveLength) -> dict[str, Any]:
    chances = [{"length": length, "chance": chance} for length, chance in sorted(found.chances.items())]
    return {
        "rule": found.rule,
        "threshold": found.threshold,
        "base": found.base,
        "base_of": found.base_words or None,
        "samples": found.samples,
        "samples_needed": found.needed,
        "status": found.status,
        "answer": found.answer,
        "low": found.conservative,
        "point": found.point,
        "point_most": found.point_most,
        "high": found.optimistic,
        "conservative": found.conservative,
        "optimistic": found.optimistic,
        "longest_passing": found.longest_passing,
        "longest_tested": found.longest_tested,
        "decisive": found.decisive,
        "undecided": found.undecided,
        "caveat": found.caveat or None,
        "chances_to_pass": chances,
    }
