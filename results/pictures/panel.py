"""A panel as a heatmap of its scores."""

from __future__ import annotations

from dataclasses import dataclass

from needlework.results.pictures.grid import BLANK, CORNER, Drawn, Grid, Scale
from needlework.results.pictures.layout import Layout, mean_notes_of, notes_of
from needlework.results.statistics.panels import Panel, Tally
from needlework.results.style.palette import COLORS, ColorsName, mark_of
from needlework.results.style.text import percent
from needlework.results.tables.headline import range_words


@dataclass(frozen=True, slots=True)
class Style:
    """How heatmaps look. `numbers`: percent in each cell, with interval and n where there is room."""

    colors: ColorsName = "safe"
    numbers: bool = False
    dpi: int = 200


DEFAULT = Style()


def grid_of(panel: Panel, layout: Layout, colors: ColorsName) -> Grid:
    """Return what is drawn of a panel."""
    cells = [[panel.cells.get((length, depth)) for length in panel.lengths] for depth in panel.depths]
    return Grid(
        rows=[[None if cell is None else _cell(cell) for cell in row] for row in cells],
        means=[_mean(column) for column in panel.columns],
        scale=Scale(COLORS[colors], 0, 100, "score (%)", few=(0, 50, 100), many=(0, 20, 40, 60, 80, 100)),
        legend=[
            *((mark.hatch, mark.legend) for mark in layout.marks),
            *([(CORNER, "some trials without a score")] if layout.partly else []),
            *([(BLANK, "not run")] if layout.blank else []),
        ],
    )


def _mean(column: Tally) -> Drawn:
    """A range, which has no colour, where answers are undecided."""
    if column.range is None:
        return _cell(column)
    return Drawn(None, (range_words(column.range, whole=True), *mean_notes_of(column)))


def _cell(cell: Tally) -> Drawn:
    mark = mark_of(cell.n, cell.counts)
    if cell.mean is None:
        return Drawn(None, hatch=mark.hatch if mark else "")
    return Drawn(100 * cell.mean, (percent(cell.mean), *notes_of(cell)), corner=bool(cell.unscored))
