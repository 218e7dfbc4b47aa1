"""The tables of the page: gates, tasks, retrieval."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from needlework.results.html.panels import NO_SCORE
from needlework.results.html.texts import on_one_line, percent_number
from needlework.results.statistics.gate_row import GateRow, selection_words
from needlework.results.statistics.panels import Panel
from needlework.results.statistics.retrieval import ArmScore
from needlework.results.statistics.tasks import Macro, TaskScore
from needlework.results.tables.retrieval import notes as notes_on
from needlework.results.tables.retrieval import retrieval_columns
from needlework.results.tables.tasks import missing_lines, task_columns

_NAMES = ("model", "task", "retriever", "gate", "cells")
Bar = tuple[float, float, float]
"""Low end, score and high end, percent."""


def gate_tables(rows: Sequence[GateRow], recorded: int) -> list[dict[str, object]]:
    """What the gates decided; nothing of a run without. `recorded`: the run's trials."""
    head = ("gate", "cells", "verdict", "value", "interval", "n", "")
    cells = [
        (
            row.gate,
            row.group,
            row.verdict,
            NO_SCORE if row.value is None else f"{row.value:.3f}",
            NO_SCORE if row.low is None or row.high is None else f"{row.low:.3f}–{row.high:.3f} ({row.level:.4g} %)",
            str(row.n),
            row.remark,
        )
        for row in rows
    ]
    selection = selection_words(rows, recorded)
    return [_table("Gates", head, cells, [selection] if selection else [])] if rows else []


def task_tables(
    tasks: Sequence[TaskScore], macros: Sequence[Macro], panels: Sequence[Panel]
) -> list[dict[str, object]]:
    """The table of tasks; none where each model has one task and no control: the rest of the page says it all.

    `bars`: the interval of each row; `links`: the number of its first heatmap, or `None`.
    """
    several = any(len(list(rows)) > 1 for _, rows in groupby(tasks, key=lambda row: row.model))
    if not several and not any(row.focused.trials or row.twins for row in tasks):
        return []
    head, rows = task_columns(tasks, macros)
    first = {(panel.model, panel.task): at for at, panel in reversed(list(enumerate(panels)))}
    bars: list[Bar | None] = []
    links: list[int | None] = []
    for model in dict.fromkeys(row.model for row in tasks):
        for row in (row for row in tasks if row.model == model):
            ends = row.overall.interval
            bars.append(_bar(ends.low if ends else None, row.overall.mean, ends.high if ends else None))
            links.append(first.get((row.model, row.task)))
        for macro in (each for each in macros if each.model == model):
            bars.append(_bar(macro.score.low, macro.score.value, macro.score.high))
            links.append(None)
    return [{**_table("Tasks", head, rows, missing_lines(macros)), "bars": bars, "links": links}]


def retrieval_tables(rows: Sequence[ArmScore]) -> list[dict[str, object]]:
    """What search found; nothing of a run without."""
    return [_table("Search in place of reading everything", *retrieval_columns(rows), notes_on(rows))] if rows else []


def _bar(low: float | None, mean: float | None, high: float | None) -> Bar | None:
    if low is None or mean is None or high is None:
        return None
    first, middle, last = (percent_number(min(1.0, max(0.0, each))) for each in (low, mean, high))
    return first, middle, last


def _table(name: str, head: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str]) -> dict[str, object]:
    return {
        "id": name.lower().replace(" ", "-"),
        "name": name,
        "head": head,
        "rows": [[on_one_line(text) for text in row] for row in rows],
        "notes": [on_one_line(note) for note in notes],
        "names": sum(column in _NAMES for column in head),
        "bars": (),
        "links": (),
    }
