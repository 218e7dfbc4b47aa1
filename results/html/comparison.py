"""Pages of several runs: a comparison with both answers of each trial, a leaderboard, a history."""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, Literal

from msgspec.structs import replace

from needlework.core.grid import depth_label
from needlework.results.html.charts import chart_view, grid_view
from needlework.results.html.details import LIMIT_BYTES, TrialDetails, page_with_trials
from needlework.results.html.page import on_one_line, page, percent_number
from needlework.results.html.report import axes_data
from needlework.results.report import comparison
from needlework.results.report.charts import difference_heatmap
from needlework.results.report.section import GLOSSARY, Section, Table
from needlework.results.statistics.comparison.comparison import ComparedRun, Comparison, GroupDifference, TaskDifference
from needlework.results.statistics.panels import depth_order
from needlework.results.statistics.wording import points_cells
from needlework.results.style import counted, length_label, percent1


def sections_html(sections: Sequence[Section], *, title: str, lead: str, notes: Sequence[str]) -> str:
    """Return a page of sections: one text that loads nothing. `notes`: what was left out."""
    return page("comparison", title, {}, fields=_fields(sections, lead, notes))


def comparison_html(
    runs: Sequence[ComparedRun],
    *,
    title: str,
    links: Mapping[str, str] | None = None,
    further: Sequence[Section] = (),
    limit_bytes: int = LIMIT_BYTES,
) -> str:
    """Return the page of compared runs. It loads nothing.

    `links`: to each run's report, by its name; `further`: sections that stand first.
    Scores and differences are all in the page; where `limit_bytes` has no room for all answers, those of trials that
    both runs judged alike are left out first.
    """
    pairs = [(run, run.pair) for run in runs if run.pair is not None]
    offsets = [0, *accumulate(len(pair.tasks) for _, pair in pairs)]
    anchors = {run.name: f"#pair-{number}" for number, (run, _) in enumerate(pairs)}
    addresses = tuple((links or {}).get(run.name) or anchors.get(run.name, "") for run in runs)
    sections = [
        replace(part, tables=(replace(part.tables[0], links=addresses),)) if part.tables else part
        for part in comparison.comparison_sections(runs)
    ]
    base = "the one before it" if len({run.base for run in runs[1:]}) > 1 else f"the first, {runs[0].name}"
    fields = _fields([*further, *sections], GLOSSARY["leads"]["comparison"].format(base=base), ()) | {
        "sentence": comparison.comparison_sentence(runs),
        "pairs": [
            _pair_view(pair, comparison.pair_sections(run, runs), offset)
            for (run, pair), offset in zip(pairs, offsets, strict=False)
        ],
    }
    data = {"families": [_task_data(task) for _, pair in pairs for task in pair.tasks]}
    trials = [trial for (_, pair), offset in zip(pairs, offsets, strict=False) for trial in _details(pair, offset)]
    return page_with_trials("comparison", title, data, trials, limit_bytes, fields=fields)


def _fields(sections: Sequence[Section], lead: str, notes: Sequence[str]) -> dict[str, Any]:
    return {
        "sentence": "",
        "lead": lead,
        "notes": notes,
        "sections": sections,
        "pairs": [],
        "chart_view": chart_view,
    }


def _pair_view(pair: Comparison, sections: Sequence[Section], offset: int) -> dict[str, Any]:
    """The template's values for one pair; `offset`: the number of its first task in the page."""
    first, *rest = sections
    links = tuple(f"#panel-{number}" for number in range(offset, offset + len(pair.tasks)))
    first = replace(first, tables=(replace(first.tables[0], links=links),))
    return {
        "title": first.title,
        "sections": (first, *rest),
        "tasks": [_task_view(task) for task in pair.tasks],
        "offset": offset,
        "changes": _changes_section(pair, first.title, offset),
    }


def _task_view(task: TaskDifference) -> dict[str, Any]:
    chart = difference_heatmap(task, (), "", "")
    return {
        "name": comparison.task_name(task.family),
        "grid": grid_view(chart),
        "chart": chart,
        "tables": comparison.group_tables(task),
    }


def _changes_section(pair: Comparison, title: str, offset: int) -> Section:
    """The cells that improved and regressed, the largest change first; a click on one shows its trials."""
    numbers = {task.family: number for number, task in enumerate(pair.tasks, start=offset)}
    signs: tuple[tuple[str, Literal[-1, 1]], ...] = (("Improved", 1), ("Regressed", -1))
    tables, notes = [], []
    for word, sign in signs:
        rows, links = [], []
        for task, (length, depth), cell in pair.changed(sign):
            name = f"{comparison.task_name(task.family)}, " if len(pair.tasks) > 1 else ""
            name += f"length {length_label(length)}, depth {depth_label(depth)}"
            means = (percent1(share.value or 0.0) for share in cell.scores)
            rows.append((name, *means, *points_cells(cell.difference), str(cell.n)))
            at = f"{list(task.columns).index(length)},{list(task.rows).index(depth)}"
            links.append(f"#cell-{numbers[task.family]},{at}")
        head = ("cell", "A %", "B %", "B - A", "95 %", "n")
        if rows:
            tables.append(Table(f"{word}: {counted(len(rows), 'cell')}", head, tuple(rows), links=tuple(links)))
        else:
            notes.append(f"{word}: no cell.")
    notes.append("Means as they were seen. One cell by itself shows little.")
    return Section(f"Cells that changed: {title}", tuple(tables), notes=tuple(notes))


def _details(pair: Comparison, offset: int) -> list[TrialDetails]:
    """The trials with their records in both runs, in reading order. Pairs that differ tell the most."""
    tasks = {
        task.family: (number, list(task.columns), list(task.rows))
        for number, task in enumerate(pair.tasks, start=offset)
    }
    entries = []
    for trial in sorted(pair.trials, key=lambda trial: (trial.family, depth_order(trial.depth))):
        first, second = (None if record is None else (record.outcome, record.score) for record in trial.records)
        drop_rank = 0 if first != second else 2 if first is not None and first[0] == "found" else 1
        number, lengths, depths = tasks[trial.family]
        column, row = lengths.index(trial.length), depths.index(trial.depth)
        entries.append(TrialDetails(trial.records, number, column, row, drop_rank))
    return entries


def _task_data(task: TaskDifference) -> dict[str, Any]:
    """The script's data: of a cell `[n, A, B, B - A, low, high, unscored]`, percent and points."""

    def numbers(group: GroupDifference | None) -> list[Any] | None:
        if group is None:
            return None
        means = (None if share.value is None else percent_number(share.value) for share in group.scores)
        difference = group.difference
        shares = (difference.mean, difference.low, difference.high) if difference else (None, None, None)
        in_points = (None if share is None else round(100 * share, 1) + 0.0 for share in shares)
        return [group.n, *means, *in_points, group.unscored]

    return {
        "name": on_one_line(comparison.task_name(task.family)),
        **axes_data(list(task.columns), list(task.rows)),
        "columns": [numbers(group) for group in task.columns.values()],
        "cells": [[numbers(cell) for cell in row] for row in task.table],
    }
