"""Heatmaps of B - A: blue where B is better, red where it is worse, hatched where a cell has no pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from needlework.results.pictures.heatmap import FORMATS, Format, file_stem, untaken, write_painted
from needlework.results.pictures.layout import Layout, arrange
from needlework.results.pictures.parts import (
    FRAME,
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
from needlework.results.statistics.comparison import CellDifference, FamilyDifference, GroupDifference
from needlework.results.statistics.panels import depth_order
from needlework.results.style.fonts import Fonts
from needlework.results.style.palette import DIFFERENCES, difference_color
from needlework.results.tables.comparison import points

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HATCH = "////"
_MISSING = "no pair: not scored in both runs"
_LIMIT = 100  # points; fixed, so that pictures of different comparisons can be laid side by side
_NUMBER = 5.4  # `+100` in mean characters; the sign is a wide one

Rows = Sequence[Sequence[GroupDifference | None]]


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
    return arrange(
        lengths,
        depths,
        title,
        subtitle,
        legend=int(gaps),
        cell_notes=[_notes(cell) for cell in family.cells],
        mean_notes=[_notes(column) for column in family.columns.values()],
        characters=_NUMBER,
    )


def _notes(group: GroupDifference) -> tuple[str, ...]:
    """What stands below a difference of several pairs: `-8..+21`, `n=4`, `n=3/4` where a trial has no pair."""
    trials = group.n + group.unscored
    if group.found is None or trials < 2:
        return ()
    low, high = group.found.low, group.found.high
    ends = "" if low is None or high is None else f"{points(low)}..{points(high)}"
    return ends, f"n={group.n}" if not group.unscored else f"n={group.n}/{trials}"


def _draw(canvas: Canvas, family: FamilyDifference, layout: Layout, fonts: Fonts) -> None:
    write_titles(canvas, layout, fonts)
    cells = {(cell.length, cell.depth): cell for cell in family.cells}
    rows = _rows(cells, *_axes(cells))
    grid, means = canvas.axes(layout.grid), canvas.axes(layout.means)
    mesh = _mesh(grid, rows, layout)
    for row, line in enumerate(rows):
        for column, cell in enumerate(line):
            if cell is not None and cell.difference is not None:
                texts = (points(cell.difference), *_notes(cell))
                ink = ink_on(difference_color(cell.difference))
                write_lines(grid, column, row, texts, layout.cell_lines, layout.cell[1], ink)
    grid_axes(grid, layout)

    columns = list(family.columns.values())
    _mesh(means, [columns], layout)
    mean_axes(means, layout)
    for at, group in enumerate(columns):
        if group.difference is not None:
            texts = (points(group.difference), *_notes(group))
            ink = ink_on(difference_color(group.difference))
            write_lines(means, at, 0, texts, layout.mean_lines, layout.means[3], ink, layout.mean_rotation)
    color_bar(canvas, layout, mesh, "B - A (points)", few=(-100, 0, 100), many=(-100, -50, 0, 50, 100))
    if any(cell is None or cell.difference is None for line in rows for cell in line):
        from matplotlib.patches import Patch

        write_legend(
            canvas, layout, [Patch(facecolor=PAPER, edgecolor=SOFT, hatch=_HATCH, linewidth=0.5, label=_MISSING)]
        )


def _mesh(axes: Axes, groups: Rows, layout: Layout) -> Any:
    """Colour the cells with a difference and hatch the others."""
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import LinearSegmentedColormap

    rows, columns = len(groups), len(groups[0])
    values = [[None if group is None else group.difference for group in row] for row in groups]
    shown = np.array([[np.nan if value is None else 100 * value for value in row] for row in values])
    line = 0.9 if min(layout.cell) > 0.3 else 0.4 if min(layout.cell) > 0.12 else 0.0
    mesh = axes.pcolormesh(
        np.arange(columns + 1),
        np.arange(rows + 1),
        np.ma.masked_invalid(shown),
        cmap=LinearSegmentedColormap.from_list("differences", list(DIFFERENCES), N=256),
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
