"""Panels of the page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from needlework.core.grid import depth_label
from needlework.core.labels import OWN_DOCUMENTS
from needlework.core.record import UNDECIDED, UNSCORED, OutcomeName, Record
from needlework.results.adaptive.survey import LengthStatement
from needlework.results.html.charts import on_one_line, percent_number
from needlework.results.html.details import TrialDetails
from needlework.results.html.page import asked_title, panel_title, task_title
from needlework.results.report.adaptive import answer
from needlework.results.report.chart import Heatmap, HeatmapCell
from needlework.results.report.charts import panel_heatmap
from needlework.results.report.tasks import panel_findings
from needlework.results.statistics.intervals import Interval
from needlework.results.statistics.panels import OUTCOMES, Panel, RecordInPanel, Tally, trial_of
from needlework.results.statistics.run_followup import FAULTS, reason_of
from needlework.results.statistics.tasks import PanelStatistics
from needlework.results.statistics.wording import score_and_interval
from needlework.results.style import MARKS, display_width, length_labels

NO_SCORE = "–"


def panel_views(
    panels: Sequence[Panel], statistics: Sequence[PanelStatistics], adaptive: Sequence[LengthStatement] = ()
) -> list[dict[str, Any]]:
    """Return what the template needs of each panel; its statistics, where there are any, are found by its names, and so
    is what an adaptive run says of its length."""
    found = {(each.model, each.task, each.needle): each for each in statistics}
    walked = {(each.model, each.task, each.needle): each for each in reversed(adaptive)}
    models = len({panel.model for panel in panels})
    return [_panel_view(panel, found, walked.get((panel.model, panel.task, panel.needle)), models) for panel in panels]


def entries(asked: Iterable[RecordInPanel], panels: Sequence[Panel]) -> list[TrialDetails]:
    """Return the trials in reading order: panel, depth, length, repeat. What was not simply found tells more."""
    numbers = {(panel.model, panel.task, panel.needle): i for i, panel in enumerate(panels)}
    columns = [{length: i for i, length in enumerate(panel.lengths)} for panel in panels]
    rows = [{depth: i for i, depth in enumerate(panel.depths)} for panel in panels]
    found = []
    for record, trial, _, _ in asked:
        panel = numbers[trial.model, trial.task, trial.needle]
        row, column = rows[panel][trial.depth], columns[panel][trial.length]
        order = (panel, row, column, record.repeat, str(record.key))
        found.append(
            (
                order,
                TrialDetails((record,), panel, column, row, int(trial.outcome == "found" and not record.details.flags)),
            )
        )
    return [entry for _, entry in sorted(found, key=itemgetter(0))]


def _panel_view(
    panel: Panel,
    statistics: Mapping[tuple[str, str, str], PanelStatistics],
    walked: LengthStatement | None,
    models: int,
) -> dict[str, Any]:
    """`partly`, `blank`: whether a cell has trials without a score beside its score; never ran. `lost`: the outcomes
    without a score that occur, of which the rows of `by_length` and `by_depth` have a count each. `effective`: the
    effective length, empty where too few samples tell it.
    """
    lost = [name for name in UNSCORED if panel.overall.counts[name]]
    found = statistics.get((panel.model, panel.task, panel.needle))
    rule = found and (found.absolute or found.relative)
    chart = panel_heatmap(panel)
    return {
        "title": panel_title(panel, models),
        "model": on_one_line(panel.model),
        "task": task_title(panel.task),
        "needle": asked_title(panel),
        "overall": _overall(panel),
        "effective": answer(walked) if walked else rule.answer if rule and not rule.few else "",
        "grid": grid_view(chart),
        "marks": tuple(mark for mark in MARKS if mark in chart.marks),
        "partly": panel.partly,
        "blank": panel.blank,
        "about": (f", about ±{100 * panel.length_error:.1f} %" if panel.length_error else "")
        + (", without template, question and answer" if panel.context_alone else ""),
        "lost": lost,
        "by_length": _rows(length_labels(panel.lengths), panel.columns, lost),
        "by_depth": _rows([depth_label(depth) for depth in panel.depths], panel.rows, lost),
        "statistics": panel_findings(found) if found else (),
    }


def _overall(panel: Panel) -> dict[str, Any]:
    """A panel's score with its interval in words, and as `bar` in percent; nothing of it where that is uneven."""
    overall, interval = panel.overall, panel.overall.interval
    score, ends = (NO_SCORE, NO_SCORE) if panel.uneven else score_and_interval(overall, NO_SCORE)
    bar = None
    if overall.mean is not None and interval is not None and not panel.uneven:
        bar = tuple(map(percent_number, (interval.low, overall.mean, interval.high)))
    counts = [(name, overall.counts[name]) for name in UNSCORED]
    return {"score": score, "interval": ends, "n": overall.n, "counts": counts, "bar": bar}


def _rows(labels: Sequence[str], tallies: Sequence[Tally], lost: Sequence[OutcomeName]) -> list[tuple[str | int, ...]]:
    return [
        (label, *score_and_interval(each, NO_SCORE), each.n, *(each.counts[name] for name in lost))
        for label, each in zip(labels, tallies, strict=True)
    ]


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


def grid_view(chart: Heatmap) -> dict[str, Any]:
    """Lay out a heatmap: a row for each depth, and the means. `size` and `upright` are class names."""
    columns = len(chart.lengths)
    size = next((name for widest, name in _SIZES if columns <= widest), "tiny")
    return {
        "size": size,
        "upright": max(map(display_width, chart.lengths)) > _LABEL_ROOM[size],
        "lengths": chart.lengths,
        "means": [_cell(cell, chart) for cell in chart.summaries[0][1]],
        "rows": [
            (label, [_cell(cell, chart) for cell in cells])
            for label, cells in zip(chart.depths, chart.rows, strict=True)
        ],
    }


def _cell(cell: HeatmapCell | None, chart: Heatmap) -> CellView:
    is_difference = chart.scale.low < 0
    if cell is None or (cell.value is None and not cell.mark and not cell.text):
        return CellView("none", "")
    if cell.mark is not None:
        return CellView("gap" if is_difference else cell.mark.outcome, cell.mark.letter)
    n = cell.notes[-1] if cell.notes and len(chart.lengths) <= _ROOM_FOR_N else ""
    if cell.value is None:  # a range, because answers are undecided
        return CellView("range", cell.text, n)
    look = f"by{round(200 * cell.value - 100)}" if is_difference else f"c{cell.text}"
    return CellView(f"{look} part" if cell.is_partial else look, cell.text, n)


MOST = 50
_QUESTION, _ANSWER = 90, 110  # columns
# What to look at first: what is no answer at all, then answers that say nothing, then wrong ones.
_ORDER = ("error", "invalid", "censored", "unclear", "empty", "refused", "distractor", "wrong", "partial", "skipped")


def missed_of(records: Sequence[Record], panels: Sequence[Panel]) -> list[dict[str, str]]:
    """The trials that were not found, most telling first; `records` in reading order, controls left out.

    `answer`: what it says; `place`: `panel,column,row`.
    """
    numbers = {(panel.model, panel.task, panel.needle): at for at, panel in enumerate(panels)}
    missed = [record for record in records if record.outcome in _ORDER]
    missed.sort(key=lambda record: _ORDER.index(record.outcome))
    missed = _told_once(missed)
    models = len({panel.model for panel in panels})
    found = []
    for record in missed[:MOST]:
        number = numbers[record.model, record.task_label, trial_of(record).needle]
        panel = panels[number]
        column, row = panel.lengths.index(record.length), panel.depths.index(record.depth)
        parts = [panel_title(panel, models)] if len(panels) > 1 else []
        parts.append(f"{length_labels([record.length])[0]} tokens")
        parts += [f"depth {depth_label(record.depth)} %"] if record.depth is not None else []
        own = record.task in OWN_DOCUMENTS
        question = on_one_line(record.question, _QUESTION) if own else ""
        told = on_one_line(_said(record), _ANSWER) or "no text"
        place = f"{number},{column},{row}"
        where = ", ".join(parts)
        found.append({"outcome": record.outcome, "where": where, "question": question, "answer": told, "place": place})
    return found


def _told_once(missed: Sequence[Record]) -> list[Record]:
    """Without trials that failed for a reason that one before them shows."""
    seen: set[str] = set()
    kept = []
    for record in missed:
        reason = reason_of(record) if record.outcome in FAULTS else ""
        if reason not in seen:
            kept.append(record)
        seen |= {reason} - {""}
    return kept


def _said(record: Record) -> str:
    """The answer; of a trial without one, why."""
    message = record.error.message if record.error else ""
    return record.response.text or record.answer or message or record.why
