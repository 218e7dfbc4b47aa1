"""`asked-SERIES`: which cells an adaptive run asked, how often, and the bracket that it found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from math import log
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

from needlework.haystack_fixtures.grid.cells import depth_label
from needlework.haystack_fixtures.writing.whole_files import write_whole
from needlework.results.adaptive.statement import Statement
from needlework.results.pictures.heatmap import FORMATS, Format, file_stem, image_of, look_of, untaken
from needlework.results.pictures.parts import FRAME, INK, SOFT, ink_on
from needlework.results.statistics.in_short.lengths import adaptive_clause
from needlework.results.statistics.panels import depth_order
from needlework.results.style.fonts import fonts_for
from needlework.results.style.text import length_labels, one_line
from needlework.results.tables.adaptive import answer, bar_words, cost_words, length_words, series_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CELL, _ROW, _LEFT, _RIGHT, _TOP, _BOTTOM = 0.78, 0.27, 0.95, 0.35, 0.75, 0.6  # inches
_BAR = 0.72  # for each bar, above the grid
_LEAST, _MOST = (0.86, 0.92, 0.96), (0.10, 0.35, 0.50)  # colours of one trial and of most
_BRACKET = "#c2410c"
_COLORS = {"pass": "#2f7d4f", "fail": "#b3261e"}
_NARROWEST = 6.4
_TITLE, _LINE = 9.2, 0.24  # letters in an inch; inches between the lines of a title


def write_asked_charts(
    statements: Sequence[Statement], folder: Path, formats: Sequence[Format] = FORMATS
) -> list[Path]:
    """Write one chart for each series of an adaptive run, and return the paths."""
    paths: list[Path] = []
    taken: set[str] = set()
    for name, group in groupby(statements, key=series_name):
        found = list(group)
        stem = folder / untaken(file_stem("asked", found[0].task, found[0].needle, found[0].model), taken)
        for format_, image in zip(formats, _drawn(one_line(name), found, formats), strict=True):
            path = stem.with_name(f"{stem.name}.{format_}")
            write_whole(path, image)
            paths.append(path)
    return paths


def _told_alone(found: Sequence[Statement]) -> list[Statement]:
    """Without the longest lengths, where nothing was asked and no bracket ends: they would be white columns."""
    ends = {end for each in found for end in (each.low, each.high)}
    told = [at for each in found for at, of in enumerate(each.lengths) if of.asked or of.length in ends]
    return [replace(each, lengths=each.lengths[: max(told, default=0) + 1]) for each in found]


def _drawn(name: str, found: Sequence[Statement], formats: Sequence[Format]) -> list[bytes]:
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    lengths = [each.length for each in found[0].lengths]
    found = _told_alone(found)
    beyond = [length_labels([length])[0] for length in lengths[len(found[0].lengths) :]]
    unasked = f"; not asked: {' to '.join(dict.fromkeys((beyond[0], beyond[-1])))}" if beyond else ""
    first = found[0]
    depths = sorted({depth for each in first.lengths for depth in each.per_depth}, key=depth_order)
    across = max(_CELL * len(first.lengths), _NARROWEST - _LEFT - _RIGHT)
    down, above = _ROW * len(depths), _BAR * len(found)
    width = _LEFT + across + _RIGHT
    said = adaptive_clause(first)
    title = wrap(f"{one_line(first.model)} {said}" if said else name, int(_TITLE * width), max_lines=3, placeholder="…")
    height = _TOP + _LINE * (len(title) - 1) + above + down + _BOTTOM
    with rc_context(look_of(fonts_for(name))):
        figure = Figure(figsize=(width, height), facecolor="white")
        FigureCanvasAgg(figure)
        axes = figure.add_axes((_LEFT / width, _BOTTOM / height, across / width, down / height))
        _cells(axes, first, depths)
        for at, statement in enumerate(found):
            _bracket(axes, statement, down, above - _BAR * (at + 1))
        turns = sum(len(each.turns) for each in found)
        x = 0.12 / width
        for at, line in enumerate(title):
            y = 1 - (0.25 + _LINE * at) / height
            figure.text(x, y, line, fontsize=12, weight="bold", color=INK, va="center", parse_math=False)
        below = f"{name.removeprefix(one_line(first.model)).strip(' ·')}: {cost_words(first, turns)}{unasked}"
        figure.text(
            x, 1 - (0.28 + _LINE * len(title)) / height, below, fontsize=9, color=SOFT, va="center", parse_math=False
        )
        return [image_of(figure, format_) for format_ in formats]


def _cells(axes: Axes, found: Statement, depths: Sequence[float | None]) -> None:
    """A square for each place, darker the more often it was asked, with its n; white where it never was."""
    from matplotlib.patches import Rectangle

    most = max((n for each in found.lengths for n in each.per_depth.values()), default=1)
    for column, each in enumerate(found.lengths):
        for row, depth in enumerate(depths):
            n = each.per_depth.get(depth, 0)
            share = log(n) / log(most) if n and most > 1 else 0.0
            fill = tuple(a + share * (b - a) for a, b in zip(_LEAST, _MOST, strict=True)) if n else "white"
            axes.add_patch(Rectangle((column, row), 1, 1, facecolor=fill, edgecolor=FRAME, linewidth=0.5))
            if n:
                ink = ink_on(tuple(round(255 * part) for part in fill))  # type: ignore[arg-type]  # three parts
                axes.text(column + 0.5, row + 0.5, str(n), fontsize=8, color=ink, ha="center", va="center")
    axes.set_xlim(0, len(found.lengths))
    axes.set_ylim(len(depths), 0)  # depth 0 is the beginning of the document: at the top
    labels = length_labels([each.length for each in found.lengths])
    axes.set_xticks([at + 0.5 for at in range(len(labels))], labels, fontsize=9, color=INK)
    axes.set_yticks([at + 0.5 for at in range(len(depths))], [depth_label(d) for d in depths], fontsize=8, color=INK)
    axes.tick_params(length=0, pad=4)
    axes.set_xlabel("context length (tokens)", fontsize=9, color=SOFT)
    axes.set_ylabel("text before the answer (%)" if len(depths) > 6 else "depth (%)", fontsize=9, color=SOFT)
    for side in axes.spines.values():
        side.set_color(FRAME)


def _bracket(axes: Axes, found: Statement, down: float, up: float) -> None:
    """What was decided at each length, and above it the lengths between which the effective length lies."""
    lengths, rows = [each.length for each in found.lengths], axes.get_ylim()[0]
    inch = rows / down

    def y(inches: float) -> float:
        return -(up + inches) * inch

    base = found.base.length if found.base else None
    for at, each in enumerate(found.lengths):
        if each.asked:
            words, color = length_words(each, base), _COLORS.get(each.decision, SOFT)
            told = words.replace(" (", "\n(").replace(" ", "\n", 1) if each.n else words.replace(" ", "\n")
            axes.text(at + 0.5, y(0.16), told, fontsize=7, color=color, ha="center", va="center", clip_on=False)
    said = f"{bar_words(found)}: {answer(found)}"
    axes.text(0, y(0.60), said, fontsize=8.5, color=_BRACKET, ha="left", va="center", clip_on=False)
    if found.high is None:
        return
    first = lengths.index(found.low) if found.low is not None else 0
    last = lengths.index(found.high)
    axes.plot([first + 0.06, last + 0.94], [y(0.40)] * 2, color=_BRACKET, linewidth=2, clip_on=False)
    ends = [*([first + 0.06] if found.low is not None else []), *([] if found.or_more else [last + 0.94])]
    for end in ends:
        axes.plot([end, end], [y(0.33), y(0.47)], color=_BRACKET, linewidth=2, clip_on=False)
