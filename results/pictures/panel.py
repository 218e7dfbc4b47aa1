"""One panel drawn into its part of a figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from needlework.results.pictures.layout import Layout, notes_of
from needlework.results.pictures.parts import (
    FRAME,
    INK,
    MANY_CELLS,
    PAPER,
    SOFT,
    Canvas,
    color_bar,
    grid_axes,
    ink_on,
    mean_axes,
    write_legend,
    write_lines,
    write_titles,
)
from needlework.results.statistics.panels import Panel, Tally
from needlework.results.style.fonts import Fonts
from needlework.results.style.palette import COLORS, ColorsName, color_of, mark_of
from needlework.results.style.text import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True)
class Style:
    """How heatmaps look. `numbers`: percent in each cell, with interval and n where there is room."""

    colors: ColorsName = "safe"
    numbers: bool = False
    dpi: int = 200


DEFAULT = Style()


def draw(canvas: Canvas, panel: Panel, layout: Layout, style: Style, fonts: Fonts) -> None:
    write_titles(canvas, layout, fonts)
    cells = [[panel.cells.get((length, depth)) for length in panel.lengths] for depth in panel.depths]
    grid, means = canvas.axes(layout.grid), canvas.axes(layout.means)
    mesh = _mesh(grid, cells, layout, style)
    _hatch(grid, cells)
    _corners(grid, cells, layout)
    _numbers(grid, cells, layout, style)
    grid_axes(grid, layout)

    _mesh(means, [list(panel.columns)], layout, style)
    _hatch(means, [list(panel.columns)])
    _means(means, panel.columns, layout, style)
    color_bar(canvas, layout, mesh, "score (%)", few=(0, 50, 100), many=(0, 20, 40, 60, 80, 100))
    _legend(canvas, layout)


def _mesh(axes: Axes, cells: Sequence[Sequence[Tally | None]], layout: Layout, style: Style) -> Any:
    """Colour the cells that have a score; the others stay as blank as the paper."""
    from matplotlib.colors import LinearSegmentedColormap

    rows, columns = len(cells), len(cells[0])
    scores = np.array(
        [[np.nan if cell is None or cell.mean is None else 100 * cell.mean for cell in row] for row in cells]
    )
    line = 0.9 if min(layout.cell) > 0.3 else 0.4 if min(layout.cell) > 0.12 else 0.0
    mesh = axes.pcolormesh(
        np.arange(columns + 1),
        np.arange(rows + 1),
        np.ma.masked_invalid(scores),
        cmap=LinearSegmentedColormap.from_list(style.colors, list(COLORS[style.colors]), N=256),
        vmin=0,
        vmax=100,
        edgecolors="white" if line else "none",
        linewidth=line,
        rasterized=rows * columns > MANY_CELLS,
    )
    axes.set_xlim(0, columns)
    axes.set_ylim(rows, 0)  # depth 0 is the beginning of the document: at the top
    for spine in axes.spines.values():
        spine.set(color=FRAME, linewidth=0.6)
    return mesh


def _hatch(axes: Axes, cells: Sequence[Sequence[Tally | None]]) -> None:
    from matplotlib.collections import PolyCollection

    places: dict[str, list[list[tuple[float, float]]]] = {}
    for row, column, cell in _each(cells):
        mark = mark_of(cell)
        if mark:
            corners = [(column, row), (column + 1, row), (column + 1, row + 1), (column, row + 1)]
            places.setdefault(mark.hatch, []).append([(float(x), float(y)) for x, y in corners])
    for hatch, squares in places.items():
        many = len(squares) > MANY_CELLS
        axes.add_collection(
            PolyCollection(squares, hatch=hatch, facecolor=PAPER, edgecolor=SOFT, linewidth=0.3, rasterized=many)
        )


def _corners(axes: Axes, cells: Sequence[Sequence[Tally | None]], layout: Layout) -> None:
    """Mark cells whose score leaves trials out: a white triangle in the upper right corner."""
    from matplotlib.collections import PolyCollection

    side = min(0.13, 0.4 * min(layout.cell))
    across, down = side / layout.cell[0], side / layout.cell[1]
    triangles = [
        [(column + 1 - across, row), (column + 1, row), (column + 1, row + down)]
        for row, column, cell in _each(cells)
        if cell.n and cell.unscored
    ]
    if triangles:
        axes.add_collection(PolyCollection(triangles, facecolor="white", edgecolor=INK, linewidth=0.5))


def _numbers(axes: Axes, cells: Sequence[Sequence[Tally | None]], layout: Layout, style: Style) -> None:
    for row, column, cell in _each(cells):
        if cell.mean is not None:
            color = ink_on(color_of(cell.mean, style.colors))
            texts = (percent(cell.mean), *notes_of(cell))
            write_lines(axes, column, row, texts, layout.cell_lines, layout.cell[1], color)


def _means(axes: Axes, columns: Sequence[Tally], layout: Layout, style: Style) -> None:
    mean_axes(axes, layout)
    for column, tally in enumerate(columns):
        if tally.mean is not None:
            color = ink_on(color_of(tally.mean, style.colors))
            texts = (percent(tally.mean), *notes_of(tally))
            write_lines(axes, column, 0, texts, layout.mean_lines, layout.means[3], color, layout.mean_rotation)


def _legend(canvas: Canvas, layout: Layout) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = [
        Patch(facecolor=PAPER, edgecolor=SOFT, linewidth=0.5, hatch=mark.hatch, label=mark.legend)
        for mark in layout.marks
    ]
    if layout.partly:
        corner: dict[str, Any] = {
            "marker": (3, 0, -45),
            "markersize": 6,
            "markerfacecolor": "white",
            "markeredgecolor": INK,
        }
        handles.append(Line2D([], [], linestyle="none", **corner, label="some trials without a score"))
    if layout.blank:
        handles.append(Patch(facecolor="white", edgecolor=FRAME, linewidth=0.5, label="not run"))
    write_legend(canvas, layout, handles)


def _each(cells: Sequence[Sequence[Tally | None]]) -> Iterator[tuple[int, int, Tally]]:
    for row, line in enumerate(cells):
        for column, cell in enumerate(line):
            if cell is not None:
                yield row, column, cell
