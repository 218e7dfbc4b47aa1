"""Heatmaps of B - A: blue where B is better, red where it is worse, hatched where a cell has no pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from results.fonts import Fonts
from results.heatmap import FORMATS, Format, file_stem, untaken, write_painted
from results.heatmap_layout import Layout, arrange
from results.heatmap_panel import (
    FRAME,
    INK,
    MANY_CELLS,
    PAPER,
    SOFT,
    Canvas,
    color_bar,
    grid_axes,
    write_legend,
    write_titles,
)
from results.palette import dark
from results.statistics.comparison import CellDifference, FamilyDifference
from results.statistics.comparison_rows import points
from results.summary import depth_order

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# ColorBrewer's RdBu: its two ends are told apart with every kind of colour blindness.
COLORS = "RdBu"
_HATCH = "////"
_MISSING = "no pair: not scored in both runs"
_LIMIT = 100  # points; fixed, so that pictures of different comparisons can be laid side by side
_NUMBER = 5.4  # `+100` in mean characters; the sign is a wide one

Rows = Sequence[Sequence[float | None]]


def write_difference_heatmaps(
    families: Sequence[FamilyDifference],
    folder: Path,
    *,
    titles: Sequence[str],
    subtitles: Sequence[str],
    formats: Sequence[Format] = FORMATS,
) -> list[Path]:
    """Write `difference-{task}-{needle}` (and the model, where runs of several are compared) for each family."""
    paths: list[Path] = []
    taken: set[str] = set()
    for family, title, subtitle in zip(families, titles, subtitles, strict=True):
        model, task, needle = family.family
        stem = untaken(file_stem("difference", task, needle, *([model] if model else [])), taken)
        layout = layout_of(family, title, subtitle)

        def paint(
            canvas: Canvas, _: int, fonts: Fonts, family: FamilyDifference = family, layout: Layout = layout
        ) -> None:
            _draw(canvas, family, layout, fonts)

        paths += write_painted([layout], paint, folder / stem, formats=formats)
    return paths


def layout_of(family: FamilyDifference, title: str, subtitle: str) -> Layout:
    """Lay out the picture of one family, with room for a number in each cell."""
    cells = {(cell.length, cell.depth): cell for cell in family.cells}
    lengths, depths = _axes(cells)
    gaps = any(cell is None or cell.difference is None for row in _rows(cells, lengths, depths) for cell in row)
    largest = max(cell.n for cell in family.cells)
    return arrange(lengths, depths, title, subtitle, legend=int(gaps), largest_n=largest, characters=_NUMBER)


def _draw(canvas: Canvas, family: FamilyDifference, layout: Layout, fonts: Fonts) -> None:
    write_titles(canvas, layout, fonts)
    cells = {(cell.length, cell.depth): cell for cell in family.cells}
    lengths, depths = _axes(cells)
    rows = _rows(cells, lengths, depths)
    values = [[None if cell is None else cell.difference for cell in row] for row in rows]
    grid, means = canvas.axes(layout.grid), canvas.axes(layout.means)
    mesh = _mesh(grid, values, layout)
    for row, line in enumerate(rows):
        for column, cell in enumerate(line):
            if cell is not None and cell.difference is not None and layout.number_size:
                style = _text(mesh, cell.difference)
                two_lines = bool(layout.n_size) and cell.n > 1
                y = row + (0.38 if two_lines else 0.5)
                grid.text(column + 0.5, y, points(cell.difference), size=layout.number_size, **style)
                if two_lines:
                    grid.text(column + 0.5, row + 0.78, f"n={cell.n}", size=layout.n_size, **style)
    grid_axes(grid, layout)

    columns = [family.columns[length] for length in lengths]
    _mesh(means, [columns], layout)
    means.set_xticks([])
    means.set_yticks([0.5], ["mean"], fontsize=min(9.0, layout.y.size + 0.5), color=INK)
    means.tick_params(length=0, pad=4)
    for column, value in enumerate(columns):
        if value is not None and layout.mean_size:
            style = _text(mesh, value) | {"rotation": layout.mean_rotation}
            means.text(column + 0.5, 0.52, points(value), size=layout.mean_size, **style)
    color_bar(canvas, layout, mesh, "B - A (points)", few=(-100, 0, 100), many=(-100, -50, 0, 50, 100))
    if any(value is None for line in values for value in line):
        from matplotlib.patches import Patch

        write_legend(
            canvas, layout, [Patch(facecolor=PAPER, edgecolor=SOFT, hatch=_HATCH, linewidth=0.5, label=_MISSING)]
        )


def _mesh(axes: Axes, values: Rows, layout: Layout) -> Any:
    """Colour the cells with a difference and hatch the others."""
    from matplotlib.collections import PolyCollection

    rows, columns = len(values), len(values[0])
    shown = np.array([[np.nan if value is None else 100 * value for value in row] for row in values])
    line = 0.9 if min(layout.cell) > 0.3 else 0.4 if min(layout.cell) > 0.12 else 0.0
    mesh = axes.pcolormesh(
        np.arange(columns + 1),
        np.arange(rows + 1),
        np.ma.masked_invalid(shown),
        cmap=COLORS,
        vmin=-_LIMIT,
        vmax=_LIMIT,
        edgecolors="white" if line else "none",
        linewidth=line,
        rasterized=rows * columns > MANY_CELLS,
    )
    squares = [
        [(x, y), (x + 1, y), (x + 1, y + 1), (x, y + 1)]
        for y, row in enumerate(values)
        for x, value in enumerate(row)
        if value is None
    ]
    if squares:
        many = len(squares) > MANY_CELLS
        axes.add_collection(
            PolyCollection(squares, hatch=_HATCH, facecolor=PAPER, edgecolor=SOFT, linewidth=0.3, rasterized=many)
        )
    axes.set_xlim(0, columns)
    axes.set_ylim(rows, 0)  # depth 0 is the beginning of the document: at the top
    for spine in axes.spines.values():
        spine.set(color=FRAME, linewidth=0.6)
    return mesh


def _text(mesh: Any, difference: float) -> dict[str, Any]:
    """Centred text that can be read on the colour of `difference`."""
    red, green, blue, _ = mesh.to_rgba(100 * difference, bytes=True)
    return {"ha": "center", "va": "center", "color": "white" if dark((int(red), int(green), int(blue))) else INK}


def _axes(
    cells: Mapping[tuple[int, float | None], CellDifference],
) -> tuple[tuple[int, ...], tuple[float | None, ...]]:
    lengths = tuple(sorted({length for length, _ in cells}))
    return lengths, tuple(sorted({depth for _, depth in cells}, key=depth_order))


def _rows(
    cells: Mapping[tuple[int, float | None], CellDifference],
    lengths: Sequence[int],
    depths: Sequence[float | None],
) -> list[list[CellDifference | None]]:
    return [[cells.get((length, depth)) for length in lengths] for depth in depths]
