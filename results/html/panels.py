"""Panels as the page shows them: what the template writes, and what the script reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from haystack_fixtures.cells import depth_label
from results.html.budget import Entry
from results.html.texts import on_one_line, percent_number
from results.palette import MARKS, Mark, mark_of
from results.records import UNSCORED
from results.summary import OUTCOMES, Panel, Tally, tally, trial_of
from results.text import display_width, length_labels, percent, percent1

NO_SCORE = "–"
_ROOM_FOR_N = 12  # columns; in wider grids n is in the tooltip only
# Widest grid of each size of cells; the style sheet has a width for each name.
_SIZES = ((8, "large"), (16, "medium"), (40, "small"))
_LABEL_ROOM = {"large": 9, "medium": 7, "small": 4, "tiny": 0}  # characters of a length that fit across a cell


@dataclass(frozen=True, slots=True)
class CellView:
    """One cell of the heatmap: class names, the number or letter in it, and n where there is room."""

    look: str
    text: str
    n: str = ""


@dataclass(frozen=True, slots=True)
class RateView:
    """A rate in words, and its numbers in percent for the interval bar. `counts`: trials without a score, all four."""

    label: str
    score: str
    interval: str
    n: int
    counts: tuple[tuple[str, int], ...]
    bar: tuple[float, float, float] | None


@dataclass(frozen=True, slots=True)
class PanelView:
    """One panel's section. `partly`, `blank`: whether a cell has trials without a score beside its score; never ran."""

    name: str
    model: str
    task: str
    needle: str
    overall: RateView
    bounds: str
    size: str
    upright: bool
    lengths: tuple[str, ...]
    means: tuple[CellView, ...]
    rows: tuple[tuple[str, tuple[CellView, ...]], ...]
    marks: tuple[Mark, ...]
    partly: bool
    blank: bool
    by_length: tuple[RateView, ...]
    by_depth: tuple[RateView, ...]


def depth_tallies(trials: Sequence[Entry], panels: Sequence[Panel]) -> list[tuple[Tally, ...]]:
    """Return one tally for each depth of each panel, over its trials."""
    groups: list[list[list[Entry]]] = [[[] for _ in panel.depths] for panel in panels]
    for entry in trials:
        groups[entry.panel][entry.row].append(entry)
    return [tuple(tally(trial_of(entry.record) for entry in row) for row in panel) for panel in groups]


def panel_view(panel: Panel, depths: Sequence[Tally]) -> PanelView:
    """Return what the template needs of `panel`; `depths` is one tally for each of its depths."""
    columns = len(panel.lengths)
    size = next((name for widest, name in _SIZES if columns <= widest), "tiny")
    labels = length_labels(panel.lengths)
    with_n = columns <= _ROOM_FOR_N
    cells = [[panel.cells.get((length, depth)) for length in panel.lengths] for depth in panel.depths]
    used = {mark.outcome for cell in panel.cells.values() if (mark := mark_of(cell))}
    depth_names = [depth_label(depth) for depth in panel.depths]
    return PanelView(
        name=on_one_line(panel.name),
        model=on_one_line(panel.model),
        task=on_one_line(panel.task),
        needle=on_one_line(panel.needle),
        overall=_rate("", panel.overall),
        bounds=_bounds(panel.overall),
        size=size,
        upright=max(display_width(label) for label in labels) > _LABEL_ROOM[size],
        lengths=labels,
        means=tuple(_cell(column, with_n) for column in panel.columns),
        rows=tuple(
            (name, tuple(_cell(cell, with_n) for cell in row)) for name, row in zip(depth_names, cells, strict=True)
        ),
        marks=tuple(mark for mark in MARKS if mark.outcome in used),
        partly=any(cell.n and cell.unscored for cell in panel.cells.values()),
        blank=len(panel.cells) < columns * len(panel.depths),
        by_length=tuple(_rate(label, column) for label, column in zip(labels, panel.columns, strict=True)),
        by_depth=tuple(_rate(name, each) for name, each in zip(depth_names, depths, strict=True)),
    )


def panels_data(panels: Sequence[Panel], depths: Sequence[Sequence[Tally]]) -> dict[str, Any]:
    """Return what the script needs of all panels.

    `stats` has every different `[n, mean, low, high, outcomes]` once, in percent; `cells` (rows of columns), `byLength`
    and `byDepth` are numbers into it, -1 for a cell that never ran.
    """
    stats: dict[tuple[Any, ...], int] = {}
    return {
        "outcomes": list(OUTCOMES),
        "panels": [_panel_data(panel, rows, stats) for panel, rows in zip(panels, depths, strict=True)],
        "stats": [list(stat) for stat in stats],
    }


def _panel_data(panel: Panel, depths: Sequence[Tally], stats: dict[tuple[Any, ...], int]) -> dict[str, Any]:
    def number(each: Tally | None) -> int:
        return -1 if each is None else stats.setdefault(_stat(each), len(stats))

    return {
        "name": on_one_line(panel.name),
        "model": on_one_line(panel.model),
        "task": on_one_line(panel.task),
        "needle": on_one_line(panel.needle),
        "lengths": list(panel.lengths),
        "lengthLabels": length_labels(panel.lengths),
        "depths": list(panel.depths),
        "depthLabels": [depth_label(depth) for depth in panel.depths],
        "byLength": [number(column) for column in panel.columns],
        "byDepth": [number(each) for each in depths],
        "cells": [[number(panel.cells.get((length, depth))) for length in panel.lengths] for depth in panel.depths],
    }


def _stat(each: Tally) -> tuple[Any, ...]:
    """Percent as the page prints them; outcomes as numbers in the order of `OUTCOMES`, zeros at the end left out."""
    interval = each.interval
    ends = (None, None) if interval is None else (percent_number(interval.low), percent_number(interval.high))
    counts = [each.counts[name] for name in OUTCOMES]
    while counts and not counts[-1]:
        counts.pop()
    return (each.n, None if each.mean is None else percent_number(each.mean), *ends, tuple(counts))


def _cell(cell: Tally | None, with_n: bool) -> CellView:
    if cell is None:
        return CellView("none", "")
    if cell.mean is None:
        mark = mark_of(cell)
        return CellView(mark.outcome, mark.letter) if mark else CellView("none", "")
    text = percent(cell.mean)
    part = " part" if cell.unscored else ""
    return CellView(f"c{text}{part}", text, f"n={cell.n}" if with_n and cell.n > 1 else "")


def _rate(label: str, each: Tally) -> RateView:
    unscored = tuple((name, each.counts[name]) for name in UNSCORED)
    if each.mean is None or each.interval is None:
        return RateView(label, NO_SCORE, NO_SCORE, each.n, unscored, None)
    low, high = each.interval.low, each.interval.high
    return RateView(
        label,
        percent1(each.mean),
        f"{percent1(low)}–{percent1(high)}",
        each.n,
        unscored,
        (percent_number(low), percent_number(each.mean), percent_number(high)),
    )


def _bounds(overall: Tally) -> str:
    bounds = overall.censored_bounds
    if bounds is None or not overall.counts["censored"]:
        return ""
    return f"{percent1(bounds[0])} % if all censored trials were misses, {percent1(bounds[1])} % if all were hits"
