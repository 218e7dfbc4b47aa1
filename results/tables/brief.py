"""A run's scores in the terminal lines that are left: the one grid, or a row for each task; the tables of suites."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from needlework.results.statistics.panels import Tally
from needlework.results.statistics.published.ruler import ruler_lines
from needlework.results.statistics.run_report import RunReport
from needlework.results.style.fold import folded, folded_table
from needlework.results.style.glyphs import can_encode
from needlework.results.style.palette import ColorsName
from needlework.results.style.text import fit, one_line
from needlework.results.tables.adaptive import adaptive_lines
from needlework.results.tables.documents import document_lines
from needlework.results.tables.field import field_lines
from needlework.results.tables.headline import score_and_interval
from needlework.results.tables.leval import leval_lines
from needlework.results.tables.needlebench import needlebench_lines
from needlework.results.tables.terminal import terminal_grid

_LONGEST_NAME = 32  # columns of a task's name, or of a model's as the head of a column
_FEWEST = 4  # rows of tasks that are worth a table
_NONE = "–"


def brief_lines(
    report: RunReport, *, room: int, color: bool, encoding: str | None, width: int, colors: ColorsName = "safe"
) -> list[str]:
    """At most `room` lines of at most `width` columns. `color`, `encoding`, `colors`: as for `terminal_heatmaps`."""
    lines = _suite_lines(report, room, width, ascii_only=not can_encode(encoding))
    left = room - len(lines) - bool(lines)
    if len(report.panels) == 1:
        grid = terminal_grid(report.panels[0], room=left, color=color, encoding=encoding, width=width, colors=colors)
    else:
        grid = _task_lines(report, left, width)
    return [*grid, *([""] if grid and lines else []), *lines]


def _suite_lines(report: RunReport, room: int, width: int, *, ascii_only: bool) -> list[str]:
    """The tables that published suites are known for, whole or not at all."""
    found: list[str] = []
    for block in (
        adaptive_lines(report.adaptive, ascii_only=ascii_only),
        needlebench_lines(report.suites, ascii_only=ascii_only),
        ruler_lines(report.ruler, ascii_only=ascii_only),
        leval_lines(report.leval, ascii_only=ascii_only),
        field_lines(report.field, ascii_only=ascii_only),
        document_lines(report.documents, ascii_only=ascii_only),
    ):
        lines = [part for line in block for part in (folded(line, width) if len(line) > width else [line])]
        if lines and len(found) + bool(found) + len(lines) <= room - _FEWEST:
            found += [*([""] if found else []), *lines]
    return found


def _task_lines(report: RunReport, room: int, width: int) -> list[str]:
    """A row for each task and retriever, the lowest score first where they are too many; models side by side."""
    models = report.models
    scores: dict[str, dict[str, Tally]] = {}
    for row in report.tasks:
        scores.setdefault(row.task, {})[row.model] = row.overall
    for arm in report.retrieval:
        scores.setdefault(f"{arm.task} {arm.retriever}", {})[arm.model] = arm.score
    if not scores or room < 2:
        return []
    names = list(scores)
    head: tuple[str, ...]
    rows: list[tuple[str, ...]]
    if len(models) == 1:
        head = ("task", "score %", "95 %", "n")
        rows = [(fit(one_line(name), _LONGEST_NAME), *_cells(scores[name].get(models[0]))) for name in names]
    else:
        head = ("score %", *(fit(one_line(model), _LONGEST_NAME) for model in models))
        rows = [
            (fit(one_line(name), _LONGEST_NAME), *(_cells(scores[name].get(model))[0] for model in models))
            for name in names
        ]
    return _fitting(head, rows, [_least(each.values()) for each in scores.values()], room, width)


def _fitting(
    head: tuple[str, ...], rows: list[tuple[str, ...]], least: Sequence[float], room: int, width: int
) -> list[str]:
    """The table, or as many of its lowest rows as there is room for, and how many are left out."""
    whole = list(folded_table([head, *rows], 1, width))
    if len(whole) <= room:
        return whole
    blocks = max(1, -(-len(whole) // (len(rows) + 1)))
    fits = (room - 1) // blocks - 1
    if fits < 1:
        return []
    lowest = sorted(sorted(range(len(rows)), key=lambda at: least[at])[:fits])
    kept = list(folded_table([head, *(rows[at] for at in lowest)], 1, width))
    left = len(rows) - fits
    return [*kept, *folded(f"... and {left} more that score higher or the same, in the report", width)[:1]]


def _cells(found: Tally | None) -> tuple[str, str, str]:
    if found is None:
        return _NONE, _NONE, _NONE
    score, interval = score_and_interval(found)
    return score, interval, str(found.n)


def _least(found: Iterable[Tally]) -> float:
    return min((each.mean for each in found if each.mean is not None), default=-1.0)
