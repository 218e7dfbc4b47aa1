"""Panels and trials of the page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Any

from needlework.core.grid import depth_label
from needlework.core.labels import OWN_DOCUMENTS
from needlework.core.record import UNDECIDED, Record
from needlework.results.html.charts import grid_view, table_view
from needlework.results.html.details import TrialDetails
from needlework.results.html.text import on_one_line, percent_number
from needlework.results.report.charts import panel_heatmap
from needlework.results.report.panels import question_title, task_title, unscored_of
from needlework.results.report.section import Table
from needlework.results.report.tasks import panel_findings
from needlework.results.statistics.panels import OUTCOMES, Panel, RecordInPanel, Tally, trial_of
from needlework.results.statistics.run_followup import FAULTS, reason_of
from needlework.results.statistics.run_report import RunReport
from needlework.results.statistics.wording import score_and_interval
from needlework.results.style import MARKS, NONE, length_labels


def panel_views(report: RunReport) -> list[dict[str, Any]]:
    """Return what the template needs of each panel: heatmap, tables, and what its scores say of length and depth."""
    statistics = {(row.model, row.task, row.needle): row for row in report.statistics}
    views = []
    for panel in report.panels:
        chart, row = panel_heatmap(panel), statistics.get((panel.model, panel.task, panel.needle))
        views.append(
            {
                "panel": panel,
                "title": panel_title(panel, len(report.models)),
                "grid": grid_view(chart),
                "marks": [mark for mark in MARKS if mark in chart.marks],
                "across": f", about ±{100 * panel.length_error:.1f} %" if panel.length_error else "",
                "tables": [
                    _tally_table("Score by context length", "length", length_labels(panel.lengths), panel.columns),
                    _tally_table("Score by depth", "depth %", list(map(depth_label, panel.depths)), panel.rows),
                ],
                "findings": panel_findings(row) if row else (),
            }
        )
    return views


def panel_title(panel: Panel, models: int) -> str:
    """Return `model · task · what is asked about`; the model only where there are several."""
    parts = (panel.model if models > 1 else "", task_title(panel.task), question_title(panel))
    return on_one_line(" · ".join(part for part in parts if part))


def _tally_table(caption: str, head: str, labels: Sequence[str], tallies: Sequence[Tally]) -> dict[str, object]:
    lost = unscored_of(tallies)
    rows = [
        (label, *score_and_interval(tally, NONE), str(tally.n), *(str(tally.counts[name]) for name in lost))
        for label, tally in zip(labels, tallies, strict=True)
    ]
    return table_view(Table(caption, (head, "score %", "95 % interval", "n", *lost), tuple(rows)))


def trial_details(trials: Iterable[RecordInPanel], panels: Sequence[Panel]) -> list[TrialDetails]:
    """Return the trials in reading order: panel, depth, length, repeat. What was not simply found tells more."""
    numbers = {(panel.model, panel.task, panel.needle): i for i, panel in enumerate(panels)}
    columns = [{length: i for i, length in enumerate(panel.lengths)} for panel in panels]
    rows = [{depth: i for i, depth in enumerate(panel.depths)} for panel in panels]
    ordered = []
    for record, trial, _, _ in trials:
        panel = numbers[trial.model, trial.task, trial.needle]
        row, column = rows[panel][trial.depth], columns[panel][trial.length]
        telling = int(trial.outcome == "found" and not record.details.flags)
        order = (panel, row, column, record.repeat, str(record.key))
        ordered.append((order, TrialDetails((record,), panel, column, row, telling)))
    return [details for _, details in sorted(ordered, key=itemgetter(0))]


def panels_data(panels: Sequence[Panel]) -> dict[str, Any]:
    """Return what the script needs of all panels.

    `stats` has every different `[n, mean, low, high, outcomes]` once, in percent; `cells` (rows of columns), `byLength`
    and `byDepth` are numbers into it, -1 for a cell that never ran.
    """
    stats: dict[tuple[Any, ...], int] = {}
    models = len({panel.model for panel in panels})

    def number(tally: Tally | None) -> int:
        if tally is None:
            return -1
        share = tally.share
        shares = [None if value is None else percent_number(value) for value in (tally.mean, share.low, share.high)]
        counts = tuple(tally.counts[name] for name in OUTCOMES)
        return stats.setdefault((tally.n, *shares, counts), len(stats))

    views = [
        {
            "name": panel_title(panel, models),
            **{name: on_one_line(getattr(panel, name)) for name in ("model", "task", "needle")},
            **axes_data(panel.lengths, panel.depths),
            "byLength": [number(column) for column in panel.columns],
            "byDepth": [number(row) for row in panel.rows],
            "cells": [[number(panel.cells.get((length, depth))) for length in panel.lengths] for depth in panel.depths],
        }
        for panel in panels
    ]
    return {"outcomes": OUTCOMES, "undecided": UNDECIDED, "panels": views, "stats": list(stats)}


def axes_data(lengths: Sequence[int], depths: Sequence[float | None]) -> dict[str, Any]:
    """Return the axes of a grid, as numbers and as labels."""
    return {
        "lengths": list(lengths),
        "lengthLabels": length_labels(lengths),
        "depths": list(depths),
        "depthLabels": [depth_label(depth) for depth in depths],
    }


_LISTED = 50
_QUESTION, _ANSWER = 90, 110  # columns
# What to look at first: what is no answer at all, then answers that say nothing, then wrong ones.
_ORDER = ("error", "invalid", "censored", "unclear", "empty", "refused", "distractor", "wrong", "partial", "skipped")


def missed_of(records: Sequence[Record], panels: Sequence[Panel]) -> list[dict[str, str]]:
    """Return the trials that were not found, most telling first; `records` in reading order, controls left out.

    Of those that failed for one reason, the first. `answer`: what it says; `place`: `panel,column,row`.
    """
    numbers = {(panel.model, panel.task, panel.needle): at for at, panel in enumerate(panels)}
    models, reasons = len({panel.model for panel in panels}), set()
    rows: list[dict[str, str]] = []
    for record in sorted(
        (each for each in records if each.outcome in _ORDER), key=lambda each: _ORDER.index(each.outcome)
    ):
        reason = reason_of(record) if record.outcome in FAULTS else ""
        if reason in reasons or len(rows) == _LISTED:
            continue
        reasons |= {reason} - {""}
        number = numbers[record.model, record.task_label, trial_of(record).needle]
        panel = panels[number]
        parts = [panel_title(panel, models)] if len(panels) > 1 else []
        parts.append(f"{length_labels([record.length])[0]} tokens")
        parts += [f"depth {depth_label(record.depth)} %"] if record.depth is not None else []
        error = record.error.message if record.error else ""
        text = record.response.text or record.answer or error or record.why
        rows.append(
            {
                "outcome": record.outcome,
                "where": ", ".join(parts),
                "question": on_one_line(record.question, _QUESTION) if record.task in OWN_DOCUMENTS else "",
                "answer": on_one_line(text, _ANSWER) or "no text",
                "place": f"{number},{panel.lengths.index(record.length)},{panel.depths.index(record.depth)}",
            }
        )
    return rows
