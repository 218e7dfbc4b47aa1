"""The statistics of a run: for the terminal as lines, for `results.json` as its object "statistics"."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from haystack_fixtures.cells import depth_label
from results.records import Record
from results.statistics.comparison_rows import points1
from results.statistics.depth_effect import DepthEffect, depth_effects
from results.statistics.effective_length import RULER_THRESHOLD, EffectiveLength, absolute_length, relative_length
from results.statistics.length_scores import joint_draws, length_scores
from results.statistics.paired import Difference
from results.statistics.trend import Trend, trend
from results.summary import Trial, trial_of
from results.text import length_labels, one_line, percent1


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
    for record in records:
        trial = trial_of(record)
        groups.setdefault((trial.model, trial.task, trial.needle), []).append(trial)
    panels = sorted(groups)
    depths = depth_effects([groups[panel] for panel in panels])
    return tuple(_panel(panel, groups[panel], depth, threshold) for panel, depth in zip(panels, depths, strict=True))


def statistics_lines(statistics: Sequence[PanelStatistics]) -> list[str]:
    """Return the lines of every panel: its name, then depth, effective length and trend where there is any to tell."""
    lines: list[str] = []
    for panel in statistics:
        lines.append(one_line(f"{panel.model} · {panel.task} · {panel.needle}"))
        if panel.depth.samples + panel.depth.incomplete:
            lines.append(f"  depth effect: {_depth(panel.depth)}")
        lines.append(f"  effective length: {panel.absolute.text}")
        lines.append(f"  effective length, relative to the base: {panel.relative.text}")
        if panel.trend.area is not None:
            lines.append(f"  trend: {_trend(panel.trend)}")
    return lines


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
        "status": found.status,
        "answer": found.answer,
        "point": found.point,
        "conservative": found.conservative,
        "longest_passing": found.longest_passing,
        "longest_tested": found.longest_tested,
        "decisive": found.decisive,
        "chances_to_pass": chances,
    }


def _depth(effect: DepthEffect) -> str:
    parts: list[str] = [effect.label]
    contrasts = (("ends - middle", effect.ends_middle), ("primacy", effect.primacy), ("recency", effect.recency))
    parts += [_contrast(name, found) for name, found in contrasts if found is not None]
    if effect.test is not None:
        parts.append(f"{'Cochran' if effect.test.name == 'cochran' else 'Friedman'} p {_p(effect.test.p)}")
    ends = effect.extremes
    if ends is not None and ends.best_score > ends.worst_score:
        parts.append(
            f"best {depth_label(ends.best)} % ({percent1(ends.best_score)}),"
            f" worst {depth_label(ends.worst)} % ({percent1(ends.worst_score)}), p (Holm) {_p(ends.p_adjusted)}"
        )
    parts.append(f"{effect.samples} samples" + (f", {effect.incomplete} incomplete" if effect.incomplete else ""))
    return " · ".join(parts)


def _contrast(name: str, found: Difference) -> str:
    if found.low is None or found.high is None:
        return f"{name} {points1(found.mean)}"
    return f"{name} {points1(found.mean)} ({points1(found.low)}..{points1(found.high)})"


def _trend(found: Trend) -> str:
    parts = [] if found.area is None else [f"area over log2(length) {percent1(found.area)} %"]
    if found.drop is not None:
        parts.append(f"{abs(100 * found.drop):.1f} % {'below' if found.drop >= 0 else 'above'} the base at the end")
    half = "beyond the lengths tested" if found.half_life is None else length_labels([found.half_life])[0]
    return ", ".join([*parts, f"half-life {half}"])


def _p(value: float) -> str:
    return "<0.001" if value < 0.001 else f"{value:.3f}"
