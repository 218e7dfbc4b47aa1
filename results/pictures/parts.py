"""What every heatmap has besides its cells: canvas, titles, axes, scale, legend, and the lines in a cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from needlework.results.pictures.layout import (
    LEADING,
    LEGEND_SIZE,
    MARGIN,
    POINTS,
    SUBTITLE_SIZE,
    TITLE_SIZE,
    Layout,
    Lines,
)
from needlework.results.style.fonts import Fonts
from needlework.results.style.palette import Rgb, dark

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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


def mean_axes(axes: Axes, layout: Layout) -> None:
    """Label the row of means."""
    axes.set_xticks([])
    axes.set_yticks([0.5], ["mean"], fontsize=min(9.0, layout.y.size + 0.5), color=INK)
    axes.tick_params(length=0, pad=4)


def grid_axes(axes: Axes, layout: Layout) -> None:
    """Label the grid: lengths below, depths on the left."""
    x, y = layout.x, layout.y
    slanted: dict[str, Any] = {"ha": "right", "rotation_mode": "anchor"} if x.rotation else {}
    axes.set_xticks([i + 0.5 for i in x.at], x.labels, fontsize=x.size, rotation=x.rotation, **slanted)
    axes.set_yticks([i + 0.5 for i in y.at], y.labels, fontsize=y.size)
    axes.tick_params(length=2.5, width=0.6, pad=2.5, color=FRAME, labelcolor=INK)
    axes.set_xlabel(layout.x_title, fontsize=9.5, labelpad=4, color=INK)
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
