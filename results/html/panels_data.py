"""Panels as the script reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from needlework.haystack_fixtures.grid.cells import depth_label
from needlework.results.html.texts import on_one_line, percent_number
from needlework.results.html.titles import panel_title
from needlework.results.records.record import UNDECIDED
from needlework.results.statistics.intervals.score import Interval
from needlework.results.statistics.panels import OUTCOMES, Panel, Tally
from needlework.results.style.text import length_labels

Stats = dict[tuple[Any, ...], int]
"""Every different `[n, mean, low, high, outcomes]`, in percent, and its number."""


def panels_data(panels: Sequence[Panel]) -> dict[str, Any]:
    """Return what the script needs of all panels.

    `stats` has every different `[n, mean, low, high, outcomes]` once, in percent; `cells` (rows of columns), `byLength`
    and `byDepth` are numbers into it, -1 for a cell that never ran.
    """
    stats: Stats = {}
    return {
        "outcomes": list(OUTCOMES),
        "undecided": list(UNDECIDED),
        "panels": [_panel_data(panel, stats, len({each.model for each in panels})) for panel in panels],
        "stats": [list(stat) for stat in stats],
    }


def axes_data(lengths: Sequence[int], depths: Sequence[float | None]) -> dict[str, Any]:
    """Return the axes of a grid, as numbers and as labels."""
    return {
        "lengths": list(lengths),
        "lengthLabels": length_labels(lengths),
        "depths": list(depths),
        "depthLabels": [depth_label(depth) for depth in depths],
    }


def stat_of(n: int, mean: float | None, interval: Interval | None, outcomes: Sequence[int] = ()) -> tuple[Any, ...]:
    """Return `[n, mean, low, high, outcomes]`, in percent as the page prints them; zeros at the end are left out."""
    ends = (None, None) if interval is None else (percent_number(interval.low), percent_number(interval.high))
    counts = list(outcomes)
    while counts and not counts[-1]:
        counts.pop()
    return (n, None if mean is None else percent_number(mean), *ends, tuple(counts))


def _panel_data(panel: Panel, stats: Stats, models: int) -> dict[str, Any]:
    def number(each: Tally | None) -> int:
        if each is None:
            return -1
        stat = stat_of(each.n, each.mean, each.interval, [each.counts[name] for name in OUTCOMES])
        return stats.setdefault(stat, len(stats))

    return {
        "name": panel_title(panel, models),
        "model": on_one_line(panel.model),
        "task": on_one_line(panel.task),
        "needle": on_one_line(panel.needle),
        **axes_data(panel.lengths, panel.depths),
        "byLength": [number(column) for column in panel.columns],
        "byDepth": [number(row) for row in panel.rows],
        "cells": [[number(panel.cells.get((length, depth))) for length in panel.lengths] for depth in panel.depths],
    }
