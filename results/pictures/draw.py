"""Draws charts with matplotlib: one function for each kind of chart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from needlework.results.report.section import BarChart, BarRow, Chart, ChartLine, Heatmap, HeatmapCell, LineChart
from needlework.results.style import between, broken, dark, display_width, fit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

INK, SOFT, PAPER, FRAME, GRID = "#1a1a1a", "#555555", "#f4f4f4", "#b0b0b0", "#e3e3e3"
# Okabe and Ito (2008), without its yellow: told apart by colour-blind eyes; marks and dashes tell them apart in grey.
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c8c8c", "#000000")
_MARKS, _DASHES = "osD^vPX*", ("-", "--", "-.", ":")
_FALL, _RISE = "#d55e00", "#009e73"
_TITLE, _SUBTITLE = 12.0, 8.5  # points
_LINE = 1.45  # height of a line over its font size
_LETTER = 0.6  # mean width of a letter over its font size
_SMALLEST = 4.5  # points; smaller numbers cannot be read in print
_MARGIN = 0.15  # inches
_ACROSS = 3  # heatmaps side by side before a combined figure starts a new row
_TITLE_LINES = 3
_NAME = 46  # columns of a name of a row


def figure_size(chart: Chart) -> tuple[float, float]:
    """Width and height of a chart's figure in inches."""
    width, height = _body_size(chart)
    return width, height + _head_height(chart, width)


def draw_chart(figure: Figure | SubFigure, chart: Chart) -> None:
    """Draw a chart below its title."""
    width, height = _body_size(chart)
    head, body = figure.subfigures(2, 1, squeeze=False, height_ratios=[_head_height(chart, width), height])[:, 0]
    titles, subtitles = _head_lines(chart, width)
    y = _MARGIN
    for lines, size, weight in ((titles, _TITLE, "bold"), (subtitles, _SUBTITLE, "normal")):
        for line in lines:
            style: dict[str, Any] = {"size": size, "weight": weight, "color": INK if weight == "bold" else SOFT}
            head.text(_MARGIN / width, 1 - y / _head_height(chart, width), line, va="top", **style)
            y += size * _LINE / 72
    if isinstance(chart, Heatmap):
        _draw_heatmap(body, chart)
    elif isinstance(chart, LineChart):
        _draw_lines(body, chart)
    else:
        _draw_bars(body, chart)


def _head_lines(chart: Chart, width: float) -> tuple[list[str], list[str]]:
    room = (width - 2 * _MARGIN) * 72
    title = wrap(chart.title, int(room / (_TITLE * 0.64)), max_lines=_TITLE_LINES, placeholder="…")
    return title, broken(chart.subtitle, int(room / (_SUBTITLE * 0.56)))


def _head_height(chart: Chart, width: float) -> float:
    titles, subtitles = _head_lines(chart, width)
    return _MARGIN + (len(titles) * _TITLE + len(subtitles) * _SUBTITLE) * _LINE / 72


def _body_size(chart: Chart) -> tuple[float, float]:
    if isinstance(chart, Heatmap):
        cell_width, cell_height = _cell_size(chart)
        names = max(display_width(label) for label in (*chart.depths, *(label for label, _ in chart.summaries)))
        entries = len(chart.marks) + chart.is_partial + chart.has_blanks
        bands = len(chart.summaries) * _summary_height(chart)
        width = cell_width * len(chart.lengths) + 1.4 + 0.075 * names
        return max(6.0, width), cell_height * len(chart.rows) + bands + 0.75 + 0.22 * -(-entries // 2)
    if isinstance(chart, LineChart):
        return 7.6, 3.5 + (0.22 * -(-len(chart.lines) // _legend_columns(chart)) if len(chart.lines) > 1 else 0)
    step = _bar_step(chart)
    return 7.8, 0.9 + step * len(chart.rows) + 0.22 * -(-(len(chart.models) + 3) // 2)


def _cell_size(chart: Heatmap) -> tuple[float, float]:
    """Width and height of a cell in inches: as large as a figure of about 12 x 9 inches has room for."""
    columns, rows = len(chart.lengths), len(chart.rows)
    return max(4.0 / columns, min(0.8, 12.0 / columns)), max(0.5 / rows, min(0.52, 7.2 / rows))


def _summary_height(chart: Heatmap) -> float:
    """Height of a row above the grid in inches, with room for a number with two notes if cells are wide."""
    return 0.52 if _cell_size(chart)[0] > 0.4 else 0.3


def combined_size(charts: Sequence[Heatmap]) -> tuple[float, float]:
    """Width and height of a figure of several heatmaps, in inches."""
    sizes = [figure_size(chart) for chart in charts]
    columns, rows = min(_ACROSS, len(charts)), -(-len(charts) // _ACROSS)
    return columns * max(width for width, _ in sizes), rows * max(height for _, height in sizes) + 0.5


def draw_combined(figure: Figure, charts: Sequence[Heatmap], heading: str) -> None:
    """Draw heatmaps side by side below a heading."""
    if heading:
        figure.suptitle(heading, x=0.01, ha="left", fontsize=14, weight="bold", color=INK)
    parts = figure.subfigures(-(-len(charts) // _ACROSS), min(_ACROSS, len(charts)), squeeze=False)
    for part, chart in zip(parts.flat, charts, strict=False):
        draw_chart(part, chart)


def _draw_heatmap(figure: SubFigure, chart: Heatmap) -> None:
    """Length across, depth down, colour = score, and hatching where there is no score."""
    axes = figure.subplots()
    cell_width, cell_height = _cell_size(chart)
    band = _summary_height(chart) / cell_height  # in cells
    top = -band * len(chart.summaries) - 0.12 / cell_height
    mesh = _draw_cells(axes, chart.rows, chart, 0, 1.0, numbers=chart.numbers)
    for at, (_, cells) in enumerate(chart.summaries):
        _draw_cells(axes, [cells], chart, top + band * at, band, numbers=True)
    axes.set_xlim(0, len(chart.lengths))
    axes.set_ylim(len(chart.rows), top)  # depth 0 is the beginning of the document: at the top
    size = min(9.5, max(6.5, cell_width * 20))
    # Every k-th length, and the last, where a label has room.
    step, last = (
        max(1, -(-(_widest(chart.lengths) + 1) // (cell_width * 72 / (size * _LETTER)))),
        len(chart.lengths) - 1,
    )
    xs = [at for at in range(last + 1) if (last - at) % step == 0]
    axes.set_xticks([at + 0.5 for at in xs], [chart.lengths[at] for at in xs], fontsize=size)
    labels = [(top + band * (at + 0.5), label.replace(", ", ",\n")) for at, (label, _) in enumerate(chart.summaries)]
    labels += [(at + 0.5, label) for at, label in enumerate(chart.depths) if at % -(-9.0 // (cell_height * 72)) == 0]
    axes.set_yticks(
        [y for y, _ in labels], [label for _, label in labels], fontsize=min(9.0, max(6.5, cell_height * 36))
    )
    axes.set_xlabel("context length (tokens)", fontsize=9, color=INK)
    axes.set_ylabel("depth (%)", fontsize=9, color=INK)
    axes.tick_params(length=2.5, width=0.6, pad=2.5, color=FRAME, labelcolor=INK)
    axes.spines[:].set_visible(False)
    if chart.scale.label:
        bar = figure.colorbar(mesh, ax=axes, pad=0.02, aspect=max(8, 6 * cell_height * len(chart.rows)), fraction=0.05)
        bar.ax.tick_params(labelsize=8, length=2.5, width=0.6, color=FRAME, labelcolor=INK)
        bar.set_label(chart.scale.label, fontsize=8.5, color=INK)
        bar.outline.set(edgecolor=FRAME, linewidth=0.6)
    if handles := _heatmap_handles(chart):
        _legend(figure, handles, 2)


def _draw_cells(
    axes: Axes,
    rows: Sequence[Sequence[HeatmapCell | None]],
    chart: Heatmap,
    top: float,
    height: float,
    *,
    numbers: bool,
) -> Any:
    """Draw rows of cells from `top` down, `height` each; hatched paper where there is no score."""
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import LinearSegmentedColormap

    scale, (cell_width, cell_height) = chart.scale, _cell_size(chart)
    values = [[np.nan if cell is None or cell.value is None else cell.value for cell in row] for row in rows]
    line = 0.9 if min(cell_width, cell_height) > 0.3 else 0.0
    mesh = axes.pcolormesh(
        np.arange(len(rows[0]) + 1),
        top + height * np.arange(len(rows) + 1),
        np.ma.masked_invalid(np.array(values)) * (scale.high - scale.low) + scale.low,
        cmap=LinearSegmentedColormap.from_list("needlework", list(scale.colors), N=256),
        vmin=scale.low,
        vmax=scale.high,
        edgecolors="white" if line else "none",
        linewidth=line,
    )
    papers: dict[str | None, list[Any]] = {}
    corners = []
    side = min(0.13, 0.4 * min(cell_width, cell_height))
    for row, cells in enumerate(rows):
        for left, cell in enumerate(cells):
            y = top + height * row
            if cell is not None and cell.value is None:
                square = [(left, y), (left + 1, y), (left + 1, y + height), (left, y + height)]
                papers.setdefault(cell.mark.hatch if cell.mark else None, []).append(square)
            elif cell is not None and cell.is_partial and height == 1.0:
                corners.append([(left + 1 - side / cell_width, y), (left + 1, y), (left + 1, y + side / cell_height)])
    for hatch, squares in papers.items():
        look: dict[str, Any] = {"facecolor": PAPER, "edgecolor": SOFT, "linewidth": 0.3}
        axes.add_collection(PolyCollection(squares, hatch=hatch, **look))
    if corners:
        axes.add_collection(PolyCollection(corners, facecolor="white", edgecolor=INK, linewidth=0.5))
    if numbers:
        _write_numbers(axes, rows, chart, top, height)
    return mesh


def _write_numbers(
    axes: Axes, rows: Sequence[Sequence[HeatmapCell | None]], chart: Heatmap, top: float, height: float
) -> None:
    """Write the number of each cell, and the notes below it, where all of them can be read."""
    cells = [cell for row in rows for cell in row if cell is not None]
    cell_width, cell_height = _cell_size(chart)
    width, room = cell_width * 72, cell_height * height * 72 * 0.94  # points
    number = min(10.0, width / (_LETTER * (0.6 + _widest(cell.text for cell in cells))), room / _LINE)
    lines = max((len(cell.notes) for cell in cells), default=0)
    note = min(0.68 * number, width / (_LETTER * (1 + _widest(line for cell in cells for line in cell.notes))))
    if note < _SMALLEST or (number + note * lines) * 1.28 > room:
        note = 0.0
    if number < _SMALLEST:
        return
    step = 1.28 / (cell_height * 72)  # height of a point of text, in cells
    for at, row in enumerate(rows):
        for left, cell in enumerate(row):
            if cell is None or not cell.text:
                continue
            is_dark = cell.value is not None and dark(between(chart.scale.colors, cell.value))
            below = [text for text in cell.notes if text and note]
            y = top + height * (at + 0.5) - step * note * len(below) / 2
            style: dict[str, Any] = {"ha": "center", "va": "center_baseline", "color": "white" if is_dark else "black"}
            axes.text(left + 0.5, y, cell.text, size=number, **style)
            for line, text in enumerate(below):
                axes.text(left + 0.5, y + step * (number / 2 + note * (line + 0.5)), text, size=note, **style)


def _widest(texts: Iterable[str]) -> int:
    return max(map(display_width, texts), default=1)


def _heatmap_handles(chart: Heatmap) -> list[Any]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    paper: dict[str, Any] = {"facecolor": PAPER, "edgecolor": SOFT, "linewidth": 0.5}
    handles: list[Any] = [Patch(hatch=mark.hatch, label=mark.legend, **paper) for mark in chart.marks]
    if chart.is_partial:
        corner: dict[str, Any] = {"linestyle": "none", "marker": (3, 0, -45), "mfc": "white", "mec": INK}
        handles.append(Line2D([], [], label="some trials without a score", **corner))
    if chart.has_blanks:
        handles.append(Patch(facecolor="white", edgecolor=FRAME, linewidth=0.5, label="not run"))
    return handles


def _draw_lines(figure: SubFigure, chart: LineChart) -> None:
    """A line for each series; bars are 95 % intervals, a cross is a place where no trial has a score."""
    axes = figure.subplots()
    for at, line in enumerate(chart.lines):
        aside = 0.007 * (at - (len(chart.lines) - 1) / 2)
        _draw_line(axes, chart, line, at, aside)
    for span in chart.spans:
        first, last, middle = chart.shares([span.first, span.last, (span.first + span.last) / 2])
        color = _FALL if span.is_fall else _RISE
        axes.axvspan(first, last, color=color, alpha=0.14, linewidth=0)
        axes.axvline(middle, color=color, linewidth=1.4, linestyle="--")
    ticks = chart.ticks(80)
    axes.set_xticks([share for share, _ in ticks], [label for _, label in ticks])
    axes.set_xlim(-0.03, 1.03)
    axes.set_yticks(range(0, 101, 20))
    axes.set_ylim(-4, 104)
    axes.set_xlabel(f"{chart.across}; bars are 95 % intervals", fontsize=9, color=SOFT)
    axes.set_ylabel("score (percent)", fontsize=9, color=SOFT)
    _plain_axes(axes, "both")
    if chart.right is not None:
        _draw_right(axes, chart, chart.right)
    if len(chart.lines) > 1:
        _legend(figure, axes.get_legend_handles_labels()[0], _legend_columns(chart))


def _draw_line(axes: Axes, chart: LineChart, line: ChartLine, at: int, aside: float) -> None:
    color = COLORS[at % len(COLORS)] if line.is_joined else INK
    mark, dash = _MARKS[at % len(_MARKS)], _DASHES[at % len(_DASHES)]
    places = [share + aside for share in chart.shares([point.x for point in line.points])]
    drawn = [(x, point, point.score) for x, point in zip(places, line.points, strict=True) if point.score is not None]
    lost = [x for x, point in zip(places, line.points, strict=True) if point.score is None]
    if lost:
        axes.plot(lost, [0] * len(lost), "x", ms=8, mew=2, color=color, clip_on=False)
    below = [0.0 if point.low is None else max(0.0, score - point.low) for _, point, score in drawn]
    above = [0.0 if point.high is None else max(0.0, point.high - score) for _, point, score in drawn]
    counts = {point.n for _, point, _ in drawn}
    n = f"n {min(counts)}" if len(counts) == 1 else f"n {min(counts)}–{max(counts)}" if counts else "no score"
    axes.errorbar(
        [x for x, _, _ in drawn],
        [score for _, _, score in drawn],
        yerr=[below, above],
        label=f"{fit(line.name, _NAME, '…')} ({n})",
        color=color,
        marker=mark,
        linestyle=dash if line.is_joined else "none",
        mfc=color if line.is_joined else "white",
        markersize=5.5,
        linewidth=1.7,
        elinewidth=1.0,
        capsize=2.5,
        clip_on=False,
    )


def _draw_right(axes: Axes, chart: LineChart, line: ChartLine) -> None:
    """Values with an axis at the right; bars reach up to the high ends."""
    points = [point for point in line.points if point.score is not None]
    other = axes.twinx()
    values = np.array([point.score for point in points], float)
    above = np.array([point.high if point.high is not None else point.score for point in points], float) - values
    xs = chart.shares([point.x for point in points])
    look: dict[str, Any] = {"color": COLORS[1], "marker": "s", "linestyle": ":", "markersize": 4.5, "capsize": 2.5}
    other.errorbar(xs, values, yerr=[np.zeros_like(values), above], linewidth=1.4, elinewidth=1.0, **look)
    other.set_ylim(0, 1.1 * max([*(values + above), 1e-9]))
    other.set_ylabel(line.name, fontsize=9, color=COLORS[1])
    other.tick_params(length=2.5, width=0.6, labelsize=8.5, color=FRAME, labelcolor=COLORS[1])
    other.spines[:].set_visible(False)


def _legend_columns(chart: LineChart) -> int:
    longest = max((display_width(line.name) for line in chart.lines), default=0)
    return 4 if longest <= 10 else 3 if longest <= 22 else 2


def _bar_step(chart: BarChart) -> float:
    return 0.18 * len(chart.models) + 0.14


def _draw_bars(figure: SubFigure, chart: BarChart) -> None:
    """A row for each task, a bar for each model; lines are 95 % intervals."""
    axes = figure.subplots()
    count = len(chart.models)
    step = _bar_step(chart) / 0.18  # in bars
    for at, row in enumerate(chart.rows):
        _draw_bar_row(axes, row, at * step, chart.models)
    middles = [at * step + (count - 1) / 2 for at in range(len(chart.rows))]
    names = [fit(row.name, _NAME, "…") for row in chart.rows]
    axes.set_yticks(middles, names)
    axes.set_ylim(len(chart.rows) * step - 0.8, -0.8)
    axes.set_xlim(0, 100)
    axes.set_xticks(range(0, 101, 25))
    axes.set_xlabel("score (percent); lines are 95 % intervals", fontsize=9, color=SOFT)
    _plain_axes(axes, "x")
    handles = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    if len(handles) > 1:
        _legend(figure, list(handles.values()), 2)


def _draw_bar_row(axes: Axes, row: BarRow, top: float, models: Sequence[str]) -> None:
    bars = {bar.model: bar for bar in row.bars}
    for at, model in enumerate(models):
        bar, y, color = bars.get(model), top + at, COLORS[at % len(COLORS)]
        label = fit(model, _NAME, "…")
        axes.barh(y, bar.score or 0 if bar else 0, height=0.86, color=color, label=label)
        if bar is None:
            axes.text(0.8, y, "not asked", fontsize=7.5, color=SOFT, va="center")
            continue
        if bar.limits is not None:
            cut = "answers that were cut off: all missed to all hit"
            axes.hlines(y, *bar.limits, color=SOFT, linewidth=7, alpha=0.35, label=cut)
        if bar.low is not None and bar.high is not None:
            axes.plot([bar.low, bar.high], [y, y], color=INK, linewidth=1.1, clip_on=False)
            axes.plot([bar.low, bar.high], [y, y], "|", color=INK, ms=4.5, mew=1.1, clip_on=False)
        if bar.focused is not None:
            alone = "the same questions on the answer's own text alone"
            axes.plot(bar.focused, y, "D", ms=6, mfc="white", mec=SOFT, mew=1.1, label=alone, clip_on=False)
        if bar.chance is not None:
            axes.plot(bar.chance, y, "|", ms=11, mec="#c2410c", mew=2, label="what guessing scores")
        axes.text(102, y, f"{bar.text}  n {bar.n}", fontsize=7.5, color=INK, va="center", clip_on=False)


def _plain_axes(axes: Axes, grid: Any) -> None:
    axes.tick_params(length=0, pad=4, labelsize=9, labelcolor=INK)
    axes.grid(axis=grid, color=GRID, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[:].set_color(FRAME)


def _legend(figure: Figure | SubFigure, handles: Sequence[Any], columns: int) -> None:
    style: dict[str, Any] = {"frameon": False, "fontsize": 8, "labelcolor": INK, "handlelength": 2.4}
    figure.legend(handles=list(handles), loc="outside lower left", ncols=columns, **style)
