"""Where everything of a heatmap goes: sizes in inches and points from the shape of the grid, nothing drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, inf

from needlework.core.grid import depth_label
from needlework.results.statistics.panels import Panel, Tally
from needlework.results.statistics.wording import range_words
from needlework.results.style import MARKS, UnscoredMark, display_width, fit, length_labels, mark_of, one_line, percent
from needlework.results.tables.terminal import headline, scored_of

POINTS = 72.0  # in an inch
TITLE_SIZE, SUBTITLE_SIZE, LEGEND_SIZE = 12.0, 8.5, 8.0
MARGIN = 0.18
_WIDEST, _TALLEST = 12.0, 7.2  # of the grid, however many cells it has
_NARROWEST = 4.0
_FLAT = 0.9  # grids lower than this have no room for a label that stands upright beside them
_TALL = 2.2  # from here on there is room for a longer one
_FIGURE = 6.0  # narrowest figure: a title needs room
_GLYPH, _BOLD = 0.56, 0.64  # mean width of a character over its font size
_WIDEST_NUMBER = 3.4  # `100` in mean characters
_SMALLEST = 4.5  # points; smaller numbers cannot be read in print
LEADING = 1.28  # height of a line over its font size


@dataclass(frozen=True, slots=True)
class Axis:
    """Tick labels: which cells have one, their texts, font size in points, and rotation in degrees."""

    at: tuple[int, ...]
    labels: tuple[str, ...]
    size: float
    rotation: float = 0.0


@dataclass(frozen=True, slots=True)
class Lines:
    """Font sizes, in points, of the lines in a cell: a number, and notes below it. 0: that line is not drawn."""

    number: float
    notes: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class PanelLayout:
    """One panel's picture. Lengths in inches, from the figure's lower left corner; fonts in points, 0 = not drawn."""

    width: float
    height: float
    grid: tuple[float, float, float, float]
    means: tuple[float, float, float, float]
    bar: tuple[float, float, float, float]
    cell: tuple[float, float]
    x: Axis
    y: Axis
    y_title: str
    title: tuple[str, ...]
    subtitle: tuple[str, ...]
    marks: tuple[UnscoredMark, ...]
    partly: bool
    blank: bool
    legend_columns: int
    cell_lines: Lines
    mean_lines: Lines
    mean_rotation: float
    x_title: str = "context length (tokens)"


def layout_of(panel: Panel, title: str, numbers: bool) -> PanelLayout:
    """Lay out one panel. `numbers`: whether cells have their percent, and interval and n where there is room."""
    used = {mark.outcome for cell in panel.cells.values() if (mark := mark_of(cell.n, cell.counts))}
    marks = tuple(mark for mark in MARKS if mark.outcome in used)
    layout = arrange(
        panel.lengths,
        panel.depths,
        title,
        headline(panel),
        legend=len(marks) + panel.partly + panel.blank,
        cell_notes=[notes_of(cell) for cell in panel.cells.values()] if numbers else None,
        mean_notes=[mean_notes_of(column) for column in panel.columns],
        mean_characters=_mean_characters(panel),
    )
    if panel.length_error or panel.context_alone:
        about = f", about ±{100 * panel.length_error:.1f} %" if panel.length_error else ""
        what = "length of the context alone" if panel.context_alone else "context length"
        layout = replace(layout, x_title=f"{what} (tokens{about})")
    return replace(layout, marks=marks, partly=panel.partly, blank=panel.blank)


def notes_of(cell: Tally) -> tuple[str, ...]:
    """What stands below a score of several trials: `53–89`, `n=19/20`; nothing below that of one."""
    if not cell.n or cell.trials < 2:
        return ()
    ends = f"{percent(cell.interval.low)}–{percent(cell.interval.high)}" if cell.interval else "one sample"
    return ends, f"n={scored_of(cell)}"


def mean_notes_of(column: Tally) -> tuple[str, ...]:
    """What stands below a mean; below a range, where answers are undecided, the score of the others."""
    if column.range is None:
        return notes_of(column)
    return f"scored {percent(column.mean)}" if column.mean is not None else "none scored", f"n={scored_of(column)}"


def _mean_characters(panel: Panel) -> float:
    """The width of the widest mean."""
    widest = max((len(range_words(column.range, whole=True)) for column in panel.columns if column.range), default=0)
    return max(_WIDEST_NUMBER, 0.9 * widest)


def arrange(
    lengths: Sequence[int],
    depths: Sequence[float | None],
    title: str,
    subtitle: str,
    *,
    legend: int,
    cell_notes: Sequence[Sequence[str]] | None,
    mean_notes: Sequence[Sequence[str]],
    characters: float = _WIDEST_NUMBER,
    mean_characters: float = 0.0,
) -> PanelLayout:
    """Lay out any picture with a cell for each length and depth; its legend has `legend` entries, still to be named.

    `cell_notes`, `mean_notes`: the lines below each number, `None` where cells have no numbers; `characters`: width of
    the widest number, `mean_characters` of the widest mean where that is wider.
    """
    columns, rows = len(lengths), len(depths)
    cell = (
        max(_NARROWEST / columns, min(0.8, _WIDEST / columns)),
        max(0.5 / rows, min(0.52, _TALLEST / rows)),
    )
    x = _x_axis(length_labels(lengths), cell[0] * POINTS)
    grid_width, grid_height = cell[0] * columns, cell[1] * rows
    labels = tuple(depth_label(depth) for depth in depths)
    y_title = ("text before the answer (%)" if grid_height > _TALL else "depth (%)") if grid_height > _FLAT else ""
    y = _y_axis(labels if y_title else tuple(_depth_in_words(label) for label in labels), cell[1] * POINTS)
    left = MARGIN + (0.34 if y_title else 0.1) + max(0.34, _longest(y.labels) * y.size * _GLYPH / POINTS)
    width = max(_FIGURE, left + grid_width + 0.85)
    room = width - 2 * MARGIN

    legend_columns = max(1, int(room / 2.35))
    legend_height = 0.21 * ceil(legend / legend_columns) + (0.12 if legend else 0.0)
    upright = _longest(x.labels) * x.size * _GLYPH / POINTS
    ticks = x.size / POINTS + 0.1 if not x.rotation else 0.1 + upright * (0.75 if x.rotation == 45 else 1.0)
    bottom = 0.08 + legend_height + 0.24 + ticks

    mean_size, mean_rotation = _mean_font(cell[0] * POINTS, max(characters, mean_characters))
    mean_lines = _lines(mean_size, cell[0] * POINTS, inf, () if mean_rotation else mean_notes)
    if mean_rotation:
        mean_height = mean_size * 2.6 / POINTS
    else:
        mean_height = max(0.25, (mean_size * 0.6 + LEADING * sum((mean_size, *mean_lines.notes))) / POINTS)
    titles = tuple(_wrap(one_line(title), int(room * POINTS / (TITLE_SIZE * _BOLD)))[:2])
    subtitles = tuple(_wrap(one_line(subtitle), int(room * POINTS / (SUBTITLE_SIZE * _GLYPH))))
    top = MARGIN + len(titles) * 0.22 + len(subtitles) * 0.165 + 0.14

    number = min(11.0, cell[0] * POINTS / (characters * _GLYPH), cell[1] * POINTS * 0.62)
    cell_lines = Lines(0.0, ())
    if cell_notes is not None and number >= _SMALLEST:
        cell_lines = _lines(number, cell[0] * POINTS, cell[1] * POINTS * 0.97, cell_notes)
    return PanelLayout(
        width=width,
        height=bottom + grid_height + 0.07 + mean_height + top,
        grid=(left, bottom, grid_width, grid_height),
        means=(left, bottom + grid_height + 0.07, grid_width, mean_height),
        bar=(left + grid_width + 0.16, bottom, 0.14, grid_height + 0.07 + mean_height),
        cell=cell,
        x=x,
        y=y,
        y_title=y_title,
        title=titles,
        subtitle=subtitles,
        marks=(),
        partly=False,
        blank=False,
        legend_columns=legend_columns,
        cell_lines=cell_lines,
        mean_lines=mean_lines,
        mean_rotation=mean_rotation,
    )


def _x_axis(labels: tuple[str, ...], cell: float) -> Axis:
    """Upright labels where they fit into `cell` points, slanted ones where those do, else only every k-th."""
    size = min(9.5, max(7.0, cell * 0.3))
    needed = (_longest(labels) + 0.8) * size * _GLYPH
    if needed <= cell:
        return Axis(tuple(range(len(labels))), labels, size)
    if size * 1.25 <= cell:
        return Axis(tuple(range(len(labels))), labels, size, 45.0)
    at = _every(len(labels), ceil(needed / cell))
    return Axis(at, tuple(labels[i] for i in at), size)


def _y_axis(labels: tuple[str, ...], cell: float) -> Axis:
    size = min(9.5, max(6.5, cell * 0.5))
    at = _every(len(labels), ceil(size * 1.15 / cell))
    return Axis(at, tuple(labels[i] for i in at), size)


def _depth_in_words(label: str) -> str:
    return "all depths" if label == "all" else f"depth {label} %"


def _every(count: int, step: int) -> tuple[int, ...]:
    """Every `step`-th of `count`, and the last: it takes the place of the one before where the two would touch."""
    at = list(range(0, count, step))
    if at[-1] != count - 1:
        at = [*(at[:-1] if count - 1 - at[-1] < step and len(at) > 1 else at), count - 1]
    return tuple(at)


def _mean_font(cell: float, characters: float) -> tuple[float, float]:
    """Font size and rotation of the column means in cells `cell` points wide; size 0 when none can be read."""
    size = min(9.5, cell / ((characters - 0.1) * _GLYPH))
    if size >= 6.0:
        return size, 0.0
    upright = min(7.0, cell / 1.15)
    return (upright, 90.0) if upright >= _SMALLEST else (0.0, 0.0)


def _lines(number: float, width: float, height: float, notes: Sequence[Sequence[str]]) -> Lines:
    """The lines of a cell `width` x `height` points: a note that is too wide or finds no room is not drawn."""
    sizes: list[float] = []
    left = height - LEADING * number
    for line in range(max(map(len, notes), default=0)):
        widest = max(display_width(texts[line]) for texts in notes if len(texts) > line)
        size = min(number * 0.68, width / ((widest + 1.2) * _GLYPH))
        drawn = size >= _SMALLEST and LEADING * size <= left
        sizes.append(size if drawn else 0.0)
        left -= LEADING * size if drawn else 0.0
    return Lines(number, tuple(sizes))


def _wrap(text: str, width: int) -> list[str]:
    """Break at ` · ` into lines of at most `width` columns; a part that is longer by itself is cut."""
    lines: list[str] = []
    for part in text.split(" · "):
        joined = f"{lines[-1]} · {part}" if lines else part
        if lines and display_width(joined) <= width:
            lines[-1] = joined
        else:
            lines.append(fit(part, width, mark="…"))
    return lines


def _longest(labels: tuple[str, ...]) -> int:
    return max(display_width(label) for label in labels)
