"""One panel drawn into its part of a figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from results.fonts import Fonts
from results.heatmap_layout import LEGEND_SIZE, MARGIN, SUBTITLE_SIZE, TITLE_SIZE, Layout
from results.palette import COLORS, ColorsName, color_of, dark, mark_of
from results.summary import Panel, Tally
from results.text import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, SOFT, PAPER, FRAME = "#1a1a1a", "#555555", "#f4f4f4", "#b0b0b0"
MANY_CELLS = 4_000  # cells; above, an SVG holds the grid as one image instead of that many shapes


@dataclass(frozen=True, slots=True)
class Style:
    """How heatmaps look. `numbers`: percent in each cell, and n where it is above 1."""

    colors: ColorsName = "safe"
    numbers: bool = False
    dpi: int = 200


DEFAULT = Style()


@dataclass(frozen=True, slots=True)
class Canvas:
    """A part of a figure; `x` and `y` are its lower left corner in inches."""

    figure: Figure
    x: float
    y: float

    def axes(self, box: tuple[float, float, float, float]) -> Axes:
        width, height = self.figure.get_size_inches()
        left, bottom, across, up = box
        return self.figure.add_axes(((self.x + left) / width, (self.y + bottom) / height, across / width, up / height))


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
    if not layout.number_size:
        return
    for row, column, cell in _each(cells):
        if cell.mean is None:
            continue
        color = "white" if dark(color_of(cell.mean, style.colors)) else INK
        two_lines = bool(layout.n_size) and cell.n > 1
        middle: dict[str, Any] = {"ha": "center", "va": "center", "color": color}
        y = row + (0.38 if two_lines else 0.5)
        axes.text(column + 0.5, y, percent(cell.mean), size=layout.number_size, **middle)
        if two_lines:
            axes.text(column + 0.5, row + 0.78, f"n={cell.n}", size=layout.n_size, **middle)


def _means(axes: Axes, columns: Sequence[Tally], layout: Layout, style: Style) -> None:
    axes.set_xticks([])
    axes.set_yticks([0.5], ["mean"], fontsize=min(9.0, layout.y.size + 0.5), color=INK)
    axes.tick_params(length=0, pad=4)
    if not layout.mean_size:
        return
    for column, tally in enumerate(columns):
        if tally.mean is not None:
            axes.text(
                column + 0.5,
                0.52,
                percent(tally.mean),
                ha="center",
                va="center",
                size=layout.mean_size,
                rotation=layout.mean_rotation,
                color="white" if dark(color_of(tally.mean, style.colors)) else INK,
            )


def grid_axes(axes: Axes, layout: Layout) -> None:
    """Label the grid: lengths below, depths on the left."""
    x, y = layout.x, layout.y
    slanted: dict[str, Any] = {"ha": "right", "rotation_mode": "anchor"} if x.rotation else {}
    axes.set_xticks([i + 0.5 for i in x.at], x.labels, fontsize=x.size, rotation=x.rotation, **slanted)
    axes.set_yticks([i + 0.5 for i in y.at], y.labels, fontsize=y.size)
    axes.tick_params(length=2.5, width=0.6, pad=2.5, color=FRAME, labelcolor=INK)
    axes.set_xlabel("context length (tokens)", fontsize=9.5, labelpad=4, color=INK)
    axes.set_ylabel(layout.y_title, fontsize=9.5, labelpad=5, color=INK)


def color_bar(
    canvas: Canvas, layout: Layout, mesh: Any, label: str, *, few: Sequence[int], many: Sequence[int]
) -> None:
    """Draw the scale of `mesh` beside the grid, with `few` ticks where it is short."""
    axes = canvas.axes(layout.bar)
    bar = canvas.figure.colorbar(mesh, cax=axes)
    assert bar.solids is not None  # a mappable with a colour map always has them
    bar.solids.set(edgecolor="face", linewidth=0.2)  # without it some SVG viewers show hairlines between colours
    bar.set_ticks(list(few if layout.bar[3] < 1.6 else many))
    bar.ax.tick_params(labelsize=8, length=2.5, width=0.6, color=FRAME, labelcolor=INK)
    bar.set_label(label, fontsize=8.5, color=INK)
    bar.outline.set(edgecolor=FRAME, linewidth=0.6)


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


def write_legend(canvas: Canvas, layout: Layout, handles: Sequence[Any]) -> None:
    """Put the legend into the lower left corner; nothing without entries."""
    if handles:
        width, height = canvas.figure.get_size_inches()
        canvas.figure.legend(
            handles=list(handles),
            loc="lower left",
            bbox_to_anchor=((canvas.x + MARGIN) / width, (canvas.y + 0.08) / height),
            ncols=layout.legend_columns,
            frameon=False,
            fontsize=LEGEND_SIZE,
            labelcolor=INK,
            handlelength=1.9,
            handleheight=1.25,
            labelspacing=0.35,
            columnspacing=1.4,
            borderpad=0,
            borderaxespad=0,
        )


def write_titles(canvas: Canvas, layout: Layout, fonts: Fonts) -> None:
    """Put title and subtitle into the upper left corner."""
    y = canvas.y + layout.height - MARGIN
    for line in layout.title:
        write(canvas.figure, fonts, line, canvas.x + MARGIN, y, TITLE_SIZE, weight="bold")
        y -= 0.22
    for line in layout.subtitle:
        write(canvas.figure, fonts, line, canvas.x + MARGIN, y, SUBTITLE_SIZE, color=SOFT)
        y -= 0.165


def write(
    figure: Figure, fonts: Fonts, text: str, x: float, y: float, size: float, color: str = INK, weight: str = "normal"
) -> None:
    """Put one line at (x, y) inches, upper left corner. Never as mathematics: names may contain dollar signs.

    A line that needs the Chinese font is not bold: the font has one weight.
    """
    width, height = figure.get_size_inches()
    figure.text(
        x / width,
        y / height,
        fonts.displayable(text),
        ha="left",
        va="top",
        size=size,
        color=color,
        weight=weight if len(fonts.families) == 1 else "normal",
        parse_math=False,
    )


def _each(cells: Sequence[Sequence[Tally | None]]) -> Iterator[tuple[int, int, Tally]]:
    for row, line in enumerate(cells):
        for column, cell in enumerate(line):
            if cell is not None:
                yield row, column, cell
