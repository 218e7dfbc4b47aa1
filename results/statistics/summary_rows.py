"""The statistics of a run, panel by panel; for `results.json` as its object "statistics"."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from needlework.results.records.controls import without_controls
from needlework.results.records.record import Record
from needlework.results.statistics.depth_effect import DepthEffect, depth_effects
from needlework.results.statistics.effective_length import (
    RULER_THRESHOLD,
    EffectiveLength,
    absolute_length,
    relative_length,
)
from needlework.results.statistics.length_scores import joint_draws, length_scores
from needlework.results.statistics.panels import Trial, trial_of
from needlework.results.statistics.trend import Trend, trend


@dataclass(frozen=True, slots=True)
class PanelStatistics:
    """One (model, task, needle): what its scores say about depth and length."""

    model: str
    task: str
    needle: str
    depth: DepthEffect
    absolute: EffectiveLength
    relative: EffectiveLength
    trend: Trend


def run_statistics(records: Iterable[Record], threshold: float = RULER_THRESHOLD) -> tuple[PanelStatistics, ...]:
    """Return the statistics of each panel, sorted; `threshold` (0..1) is the absolute rule's of effective length."""
    groups: dict[tuple[str, str, str], list[Trial]] = {}
    for record in without_controls(records):
        trial = trial_of(record)
        groups.setdefault((trial.model, trial.task, trial.needle), []).append(trial)
    panels = sorted(groups)
    depths = depth_effects([groups[panel] for panel in panels])
    return tuple(_panel(panel, groups[panel], depth, threshold) for panel, depth in zip(panels, depths, strict=True))


def statistics_object(statistics: Sequence[PanelStatistics]) -> list[dict[str, Any]]:
    """Return the same as JSON objects; scores, differences and chances are 0..1, lengths tokens, depths percent."""
    return [
        {
            "model": panel.model,
            "task": panel.task,
            "needle": panel.needle,
            "depth_effect": asdict(panel.depth),
            "effective_length": [_length_object(rule) for rule in (panel.absolute, panel.relative)],
            "trend": asdict(panel.trend),
        }
        for panel in statistics
    ]


def _panel(
    name: tuple[str, str, str], trials: Sequence[Trial], depth: DepthEffect, threshold: float
) -> PanelStatistics:
    scores, draws = length_scores(trials), joint_draws(trials)
    return PanelStatistics(
        *name,
        depth=depth,
        absolute=absolute_length(scores, threshold, draws=draws),
        relative=relative_length(scores, draws=draws),
        trend=trend(scores),
    )


def _length_object(found: EffectiveLength) -> dict[str, Any]:
    chances = [{"length": length, "chance": chance} for length, chance in sorted(found.chances.items())]
    return {
        "rule": found.rule,
        "threshold": found.threshold,
        "base": found.base,
        "status": found.status,
        "answer": found.answer,
        "point": found.point,
        "conservative": found.conservative,
        "optimistic": found.optimistic,
        "longest_passing": found.longest_passing,
        "longest_tested": found.longest_tested,
        "decisive": found.decisive,
        "chances_to_pass": chances,
    }
