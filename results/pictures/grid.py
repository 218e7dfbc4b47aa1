"""A heatmap drawn into its part of a figure: coloured cells with numbers, hatching where there is no value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from needlework.results.pictures.layout import Layout
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
from needlework.results.style.fonts import Fonts
from needlework.results.style.palette import between

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CORNER, BLANK = "corner", "blank"


@dataclass(frozen=True, slots=True)
class Drawn:
    """One cell. `value`: its place on the scale; without one it is paper, with a `hatch` that the legend explains.

    `texts`: a number, and notes below it. `corner`: whether it is marked as leaving trials out.
    """

    value: float | None
    texts: tuple[str, ...] = ()
    hatch: str = ""
    corner: bool = False


@dataclass(frozen=True, slots=True)
class Scale:
    """Colours from `low` to `high`, and the ticks of their bar: `few` where it is short."""

    colors: tuple[str, ...]
    low: float
    high: float
    label: str
    few: tuple[int, ...]
    many: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """All of one heatmap. `rows`: one for each depth, `None` for a cell that never ran; `means`: the row below them.

    `legend`: a hatch, `CORNER` or `BLANK`, and what it means.
    """

    rows: Sequence[Sequence[Drawn | None]]
    means: Sequence[Drawn]
    scale: Scale
    legend: Sequence[tuple[str, str]]


def draw(canvas: Canvas, grid: Grid, layout: Layout, fonts: Fonts) -> None:
    """Draw `grid` as `layout` says."""
    write_titles(canvas, layout, fonts)
    cells, means = canvas.axes(layout.grid), canvas.axes(layout.means)
    mesh = _cells(cells, grid.rows, grid.scale, layout)
    _texts(cells, grid.rows, grid.scale, layout)
    grid_axes(cells, layout)
    _cells(means, [grid.means], grid.scale, layout, corners=False)
    mean_axes(means, layout)
    _texts(means, [grid.means], grid.scale, layout, means=True)
    color_bar(canvas, layout, mesh, grid.scale.label, few=grid.scale.few, many=grid.scale.many)
    write_legend(canvas, layout, [_handle(kind, label) for kind, label in grid.legend])


def _cells(
    axes: Axes, rows: Sequence[Sequence[Drawn | None]], scale: Scale, layout: Layout, *, corners: bool = True
) -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    down, across = len(rows), len(rows[0])
    values = [[np.nan if cell is None or cell.value is None else cell.value for cell in row] for row in rows]
    line = 0.9 if min(layout.cell) > 0.3 else 0.4 if min(layout.cell) > 0.12 else 0.0
    mesh = axes.pcolormesh(
        np.arange(across + 1),
        np.arange(down + 1),
        np.ma.masked_invalid(np.array(values)),
        cmap=LinearSegmentedColormap.from_list("needlework", list(scale.colors), N=256),
        vmin=scale.low,
        vmax=scale.high,
        edgecolors="white" if line else "none",
        linewidth=line,
        rasterized=down * across > MANY_CELLS,
    )
    axes.set_xlim(0, across)
    axes.set_ylim(down, 0)  # depth 0 is the beginning of the document: at the top
    for spine in axes.spines.values():
        spine.set(color=FRAME, linewidth=0.6)
    _hatch(axes, rows)
    if corners:
        _corners(axes, rows, layout)
    return mesh


def _hatch(axes: Axes, rows: Sequence[Sequence[Drawn | None]]) -> None:
    from matplotlib.collections import PolyCollection

    places: dict[str, list[list[tuple[float, float]]]] = {}
    for row, column, cell in _each(rows):
        if cell.value is None:
            corners = [(column, row), (column + 1, row), (column + 1, row + 1), (column, row + 1)]
            places.setdefault(cell.hatch, []).append([(float(x), float(y)) for x, y in corners])
    for hatch, squares in places.items():
        look: dict[str, Any] = {"hatch": hatch or None, "rasterized": len(squares) > MANY_CELLS}
        axes.add_collection(PolyCollection(squares, facecolor=PAPER, edgecolor=SOFT, linewidth=0.3, **look))


def _corners(axes: Axes, rows: Sequence[Sequence[Drawn | None]], layout: Layout) -> None:
    """Mark cells whose value leaves trials out: a white triangle in the upper right corner."""
    from matplotlib.collections import PolyCollection

    side = min(0.13, 0.4 * min(layout.cell))
    across, down = side / layout.cell[0], side / layout.cell[1]
    triangles = [
        [(column + 1 - across, row), (column + 1, row), (column + 1, row + down)]
        for row, column, cell in _each(rows)
        if cell.corner
    ]
    if triangles:
        axes.add_collection(PolyCollection(triangles, facecolor="white", edgecolor=INK, linewidth=0.5))


def _texts(
    axes: Axes, rows: Sequence[Sequence[Drawn | None]], scale: Scale, layout: Layout, *, means: bool = False
) -> None:
    lines, height = (layout.mean_lines, layout.means[3]) if means else (layout.cell_lines, layout.cell[1])
    rotation = layout.mean_rotation if means else 0.0
    for row, column, cell in _each(rows):
        if cell.texts:
            share = None if cell.value is None else (cell.value - scale.low) / (scale.high - scale.low)
            ink = INK if share is None else ink_on(between(scale.colors, share))
            write_lines(axes, column, row, cell.texts, lines, height, ink, rotation)


def _handle(kind: str, label: str) -> Any:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    if kind == CORNER:
        look: dict[str, Any] = {"marker": (3, 0, -45), "markersize": 6}
        return Line2D([], [], linestyle="none", markerfacecolor="white", markeredgecolor=INK, label=label, **look)
    if kind == BLANK:
        return Patch(facecolor="white", edgecolor=FRAME, linewidth=0.5, label=label)
    return Patch(facecolor=PAPER, edgecolor=SOFT, linewidth=0.5, hatch=kind, label=label)


def _each(rows: Sequence[Sequence[Drawn | None]]) -> Iterator[tuple[int, int, Drawn]]:
    for row, line in enumerate(rows):
        for column, cell in enumerate(line):
            if cell is not None:
                yield row, column, cell
