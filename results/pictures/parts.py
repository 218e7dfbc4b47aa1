"""Parts of pictures: grids, panels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from needlework.core.labels import OWN_DOCUMENTS
from needlework.results.pictures.layout import (
    LEADING,
    LEGEND_SIZE,
    MARGIN,
    POINTS,
    SUBTITLE_SIZE,
    TITLE_SIZE,
    Lines,
    PanelLayout,
    mean_notes_of,
    notes_of,
)
from needlework.results.records.samples import task_of
from needlework.results.statistics.panels import Panel, Tally
from needlework.results.statistics.wording import range_words
from needlework.results.style import (
    COLORS,
    ColorsName,
    Fonts,
    Rgb,
    between,
    dark,
    fit,
    mark_of,
    one_line,
    percent,
    percent1,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


CORNER, BLANK = "corner", "blank"


@dataclass(frozen=True, slots=True)
class HeatmapCell:
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

    rows: Sequence[Sequence[HeatmapCell | None]]
    means: Sequence[HeatmapCell]
    scale: Scale
    legend: Sequence[tuple[str, str]]


def draw(canvas: Canvas, grid: Grid, layout: PanelLayout, fonts: Fonts) -> None:
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
    axes: Axes, rows: Sequence[Sequence[HeatmapCell | None]], scale: Scale, layout: PanelLayout, *, corners: bool = True
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


def _hatch(axes: Axes, rows: Sequence[Sequence[HeatmapCell | None]]) -> None:
    from matplotlib.collections import PolyCollection

    places: dict[str, list[list[tuple[float, float]]]] = {}
    for row, column, cell in _each(rows):
        if cell.value is None:
            corners = [(column, row), (column + 1, row), (column + 1, row + 1), (column, row + 1)]
            places.setdefault(cell.hatch, []).append([(float(x), float(y)) for x, y in corners])
    for hatch, squares in places.items():
        look: dict[str, Any] = {"hatch": hatch or None, "rasterized": len(squares) > MANY_CELLS}
        axes.add_collection(PolyCollection(squares, facecolor=PAPER, edgecolor=SOFT, linewidth=0.3, **look))


def _corners(axes: Axes, rows: Sequence[Sequence[HeatmapCell | None]], layout: PanelLayout) -> None:
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
    axes: Axes, rows: Sequence[Sequence[HeatmapCell | None]], scale: Scale, layout: PanelLayout, *, means: bool = False
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


def _each(rows: Sequence[Sequence[HeatmapCell | None]]) -> Iterator[tuple[int, int, HeatmapCell]]:
    for row, line in enumerate(rows):
        for column, cell in enumerate(line):
            if cell is not None:
                yield row, column, cell


@dataclass(frozen=True, slots=True)
class Style:
    """How heatmaps look. `numbers`: percent in each cell, with interval and n where there is room."""

    colors: ColorsName = "safe"
    numbers: bool = False
    dpi: int = 200


DEFAULT = Style()


def grid_of(panel: Panel, layout: PanelLayout, colors: ColorsName) -> Grid:
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


def _mean(column: Tally) -> HeatmapCell:
    """A range, which has no colour, where answers are undecided."""
    if column.range is None:
        return _cell(column)
    return HeatmapCell(None, (range_words(column.range, whole=True), *mean_notes_of(column)))


def _cell(cell: Tally) -> HeatmapCell:
    mark = mark_of(cell.n, cell.counts)
    if cell.mean is None:
        return HeatmapCell(None, hatch=mark.hatch if mark else "")
    return HeatmapCell(100 * cell.mean, (percent(cell.mean), *notes_of(cell)), corner=bool(cell.unscored))


INK, SOFT, PAPER, FRAME = "#1a1a1a", "#555555", "#f4f4f4", "#b0b0b0"
MANY_CELLS = 4_000  # cells; above, an SVG holds the grid as one image instead of that many shapes


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


def write_lines(
    axes: Axes,
    column: int,
    row: int,
    texts: Sequence[str],
    lines: Lines,
    height: float,
    color: str,
    rotation: float = 0.0,
) -> None:
    """Write a number and the notes below it into a cell `height` inches high, in its middle."""
    drawn = [(text, size) for text, size in zip(texts, (lines.number, *lines.notes), strict=False) if size]
    steps = [LEADING * size / (height * POINTS) for _, size in drawn]
    y = row + 0.5 - sum(steps) / 2
    for (text, size), step in zip(drawn, steps, strict=True):
        style: dict[str, Any] = {"ha": "center", "va": "center_baseline", "color": color, "rotation": rotation}
        axes.text(column + 0.5, y + step / 2, text, size=size, **style)
        y += step


def ink_on(color: Rgb) -> str:
    """Letters that can be read on `color`."""
    return "white" if dark(color) else "black"


def mean_axes(axes: Axes, layout: PanelLayout) -> None:
    """Label the row of means."""
    axes.set_xticks([])
    axes.set_yticks([0.5], ["mean"], fontsize=min(9.0, layout.y.size + 0.5), color=INK)
    axes.tick_params(length=0, pad=4)


def grid_axes(axes: Axes, layout: PanelLayout) -> None:
    """Label the grid: lengths below, depths on the left."""
    x, y = layout.x, layout.y
    slanted: dict[str, Any] = {"ha": "right", "rotation_mode": "anchor"} if x.rotation else {}
    axes.set_xticks([i + 0.5 for i in x.at], x.labels, fontsize=x.size, rotation=x.rotation, **slanted)
    axes.set_yticks([i + 0.5 for i in y.at], y.labels, fontsize=y.size)
    axes.tick_params(length=2.5, width=0.6, pad=2.5, color=FRAME, labelcolor=INK)
    axes.set_xlabel(layout.x_title, fontsize=9.5, labelpad=4, color=INK)
    axes.set_ylabel(layout.y_title, fontsize=9.5, labelpad=5, color=INK)


def color_bar(
    canvas: Canvas, layout: PanelLayout, mesh: Any, label: str, *, few: Sequence[int], many: Sequence[int]
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


def write_legend(canvas: Canvas, layout: PanelLayout, handles: Sequence[Any]) -> None:
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


def write_titles(canvas: Canvas, layout: PanelLayout, fonts: Fonts) -> None:
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
    """Put one line at (x, y) inches, upper left corner. Never as mathematics: names may contain dollar signs."""
    width, height = figure.get_size_inches()
    figure.text(
        x / width,
        y / height,
        fonts.displayable(text),
        ha="left",
        va="top",
        size=size,
        color=color,
        weight=weight,
        parse_math=False,
    )


_MODEL = 34  # columns of a model's name; its end tells checkpoints apart


def telling(panels: Sequence[Panel]) -> list[Panel]:
    """The panels whose heatmap shows something: more than one box, and no single row or column of equal values.

    Questions on documents have charts of their own; their heatmaps are drawn where two lengths have several depths.
    """
    return [panel for panel in panels if _tells(panel)]


def _tells(panel: Panel) -> bool:
    line = len(panel.lengths) == 1 or len(panel.depths) == 1
    if line and task_of(panel.task) in OWN_DOCUMENTS:
        return False
    values = {(cell.mean, cell.n > 0, tuple(cell.unscored)) for cell in panel.cells.values()}
    return len(panel.cells) > 1 and not (line and len(values) == 1)


def heatmap_title(panel: Panel) -> str:
    """`smollm2 scores 84.0 % on niah · code`."""
    model = one_line(panel.model)
    if len(model) > _MODEL:
        model = f"…{fit(model[::-1], _MODEL - 1, '')[::-1]}"
    overall = panel.overall
    if panel.uneven:
        said = "was asked"
    elif overall.range is not None and overall.n:
        said = f"scores {range_words(overall.range)} % on"
    else:
        said = "has no score on" if overall.mean is None else f"scores {percent1(overall.mean)} % on"
    return " · ".join(part for part in (f"{model} {said} {one_line(panel.task)}", one_line(panel.needle)) if part)
