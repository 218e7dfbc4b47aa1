"""Charts of own documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import log
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from needlework.core.files import write_whole
from needlework.core.grid import depth_label
from needlework.results.adaptive.survey import LengthStatement
from needlework.results.pictures.heatmap import FORMATS, Format, file_stem, image_of, look_of, untaken
from needlework.results.pictures.parts import FRAME, INK, SOFT, ink_on
from needlework.results.report.adaptive import answer, bar_words, cost_words, length_words, series_name
from needlework.results.report.documents import ARMS, size_depth_words
from needlework.results.statistics.documents import FOCUSED, WHOLE, ArmAtPlace, DocumentScores
from needlework.results.statistics.panels import depth_order
from needlework.results.statistics.summary_sentence import place_sentence, size_sentence
from needlework.results.statistics.wording import adaptive_clause
from needlework.results.style import fit, fonts_for, length_labels, one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D


# One curve for all documents in the context and one for each retriever, told apart by mark, line and colour; bars are
# 95 % intervals, `n` is the trials of a point. The answer document alone is the first point; its tokens stand below.
_WIDTH, _HEIGHT = 7.2, 4.9  # inches
_BOX = (0.095, 0.15, 0.875, 0.63)  # of the figure: left, bottom, width, height
# Colour, mark and line of each arm; the colours stay apart for colour-blind eyes and in grey print.
_LOOKS: dict[str, tuple[str, str, str]] = {
    WHOLE: ("#1f6f8b", "o", "-"),
    "bm25": ("#c2410c", "s", "--"),
    "dense": ("#4d4d4d", "^", ":"),
    FOCUSED: ("#1a1a1a", "D", "-"),
}
_TITLE = 82  # columns
_APART = 0.008  # of the axis, between arms at one place


@dataclass(frozen=True, slots=True)
class _Chart:
    """One picture: its points, over depth or over size, and what is said of the rest: `8k`; `title` is a sentence."""

    name: str
    points: tuple[ArmAtPlace, ...]
    by_depth: bool
    told: str
    title: str


def write_document_charts(
    found: Sequence[DocumentScores], folder: Path, formats: Sequence[Format] = FORMATS
) -> list[Path]:
    """Write the charts of each model into `folder`, and return the paths; a chart of a single point is not drawn."""
    paths: list[Path] = []
    taken: set[str] = set()
    for each in found:
        for chart in _charts(each):
            if len({(point.arm == FOCUSED, point.length, point.depth) for point in chart.points if point.score.n}) < 2:
                continue
            stem = untaken(file_stem(f"documents-{chart.name}", each.model), taken)
            for format_, image in zip(formats, _drawn(one_line(each.model), chart, formats), strict=True):
                path = folder / f"{stem}.{format_}"
                write_whole(path, image)
                paths.append(path)
    return paths


def _charts(found: DocumentScores) -> Iterator[_Chart]:
    yield _Chart("size", found.by_size, by_depth=False, told=size_depth_words(found), title=size_sentence(found))
    lengths = sorted({point.length for point in found.by_depth if point.arm != FOCUSED})
    for length, label in zip(lengths, length_labels(lengths), strict=True):
        points = tuple(point for point in found.by_depth if point.length == length and point.depth is not None)
        yield _Chart(
            f"position-{label}" if len(lengths) > 1 else "position",
            points,
            by_depth=True,
            told=label,
            title=place_sentence(found, length if len(lengths) == 1 else None),
        )


def _drawn(model: str, chart: _Chart, formats: Sequence[Format]) -> list[bytes]:
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    across = "text before the answer's document (percent)" if chart.by_depth else "size of the documents (tokens)"
    fonts = fonts_for(f"{model}{chart.title}{chart.told}")
    with rc_context(look_of(fonts)):
        figure = Figure(figsize=(_WIDTH, _HEIGHT), facecolor="white")
        FigureCanvasAgg(figure)
        axes = figure.add_axes(_BOX)
        curves = _curves(axes, chart)
        axes.set_ylim(-3, 103)
        axes.set_yticks(range(0, 101, 25))
        axes.set_ylabel("answers that are right (percent)", fontsize=9.5, color=INK)
        axes.set_xlabel(f"{across}; bars are 95 % intervals", fontsize=9.5, color=INK)
        axes.tick_params(length=2.5, width=0.6, color=FRAME, labelcolor=INK, labelsize=9)
        axes.grid(color="#e3e3e3", linewidth=0.7)
        axes.set_axisbelow(True)
        for side in axes.spines.values():
            side.set_color(FRAME)
        style: dict[str, Any] = {"ha": "left", "va": "top", "parse_math": False}
        left = 0.2 / _WIDTH
        figure.text(left, 1 - 0.16 / _HEIGHT, fit(chart.title, _TITLE), fontsize=12, weight="bold", color=INK, **style)
        told = chart.told if len(curves) != 1 else f"{chart.told}: {curves[0].get_label()}"  # one needs no legend
        subtitle = f"{fonts.displayable(model)} on your documents, {told}"
        figure.text(left, 1 - 0.42 / _HEIGHT, subtitle, fontsize=8.5, color=SOFT, **style)
        if len(curves) > 1:
            axes.legend(
                handles=curves,
                loc="lower left",
                bbox_to_anchor=(-0.01, 1.005),
                ncols=3 if len(curves) == 3 else 2,
                frameon=False,
                fontsize=8.5,
                labelcolor=INK,
                handlelength=3.0,
                columnspacing=1.2,
            )
        return [image_of(figure, format_) for format_ in formats]


def _curves(axes: Axes, chart: _Chart) -> list[Line2D]:
    """Draw one line for each arm through its scored points, and return them; the answer document alone comes first."""
    shown = [point for point in chart.points if point.score.value is not None]
    alone = [point for point in shown if point.arm == FOCUSED]
    arms = [arm for arm in dict.fromkeys(point.arm for point in shown) if arm != FOCUSED]
    at = {id(point): _at(point, chart) for point in shown}
    reach = max(at.values()) or 1.0
    lines = [_line(axes, [(at[id(alone[0])], alone[0])], FOCUSED)] if alone else []
    for number, arm in enumerate(arms):
        shift = (number - (len(arms) - 1) / 2) * _APART * reach
        own = sorted((point for point in shown if point.arm == arm), key=lambda point: at[id(point)])
        lines.append(_line(axes, [(at[id(point)] + shift, point) for point in own], arm))
    ticks = sorted({at[id(point)] for point in shown})
    labels = [f"{tick:g}" for tick in ticks] if chart.by_depth else list(length_labels([round(tick) for tick in ticks]))
    if alone and alone[0].tokens is not None:
        labels[0] = f"alone\n({alone[0].tokens:,.0f})"
    axes.set_xticks(ticks, labels)
    axes.set_xlim(-0.03 * reach, 1.03 * reach)
    return lines


def _line(axes: Axes, places: Sequence[tuple[float, ArmAtPlace]], arm: str) -> Line2D:
    color, mark, line = _LOOKS.get(arm, _LOOKS[WHOLE])
    scores = [100 * (point.score.value or 0) for _, point in places]
    each = list(zip(scores, places, strict=True))
    # One question has no interval: no bar.
    below = [score - 100 * low if (low := point.score.low) is not None else 0.0 for score, (_, point) in each]
    above = [100 * high - score if (high := point.score.high) is not None else 0.0 for score, (_, point) in each]
    counts = [point.score.n for _, point in places]
    told = f"n {counts[0]}" if len(set(counts)) == 1 else f"n {min(counts)}–{max(counts)}"
    label = f"{ARMS.get(arm, arm)} ({told})"
    drawn = axes.errorbar(
        [x for x, _ in places],
        scores,
        yerr=[[max(0.0, each) for each in below], [max(0.0, each) for each in above]],
        color=color,
        marker=mark,
        linestyle=line if len(places) > 1 else "none",
        markersize=6,
        linewidth=1.6,
        elinewidth=1.1,
        capsize=3,
        clip_on=False,
    )
    curve: Line2D = drawn[0]
    curve.set_label(label)
    return curve


def _at(point: ArmAtPlace, chart: _Chart) -> float:
    """Where a point stands: its depth, or its size in tokens, 0 for the answer document alone."""
    return (point.depth or 0.0) if chart.by_depth else float(point.length)


_CELL, _ROW, _LEFT, _RIGHT, _TOP, _BOTTOM = 0.78, 0.27, 0.95, 0.35, 0.75, 0.6  # inches
_BAR = 0.72  # for each bar, above the grid
_LEAST, _MOST = (0.86, 0.92, 0.96), (0.10, 0.35, 0.50)  # colours of one trial and of most
_BRACKET = "#c2410c"
_COLORS = {"pass": "#2f7d4f", "fail": "#b3261e"}
_NARROWEST = 6.4
_ASKED_CHART_TITLE, _LINE = 9.2, 0.24  # letters in an inch; inches between the lines of a title


def write_asked_charts(
    statements: Sequence[LengthStatement], folder: Path, formats: Sequence[Format] = FORMATS
) -> list[Path]:
    """Write one chart for each series of an adaptive run, and return the paths."""
    paths: list[Path] = []
    taken: set[str] = set()
    for name, group in groupby(statements, key=series_name):
        found = list(group)
        stem = folder / untaken(file_stem("asked", found[0].task, found[0].needle, found[0].model), taken)
        for format_, image in zip(formats, _asked_chart_drawn(one_line(name), found, formats), strict=True):
            path = stem.with_name(f"{stem.name}.{format_}")
            write_whole(path, image)
            paths.append(path)
    return paths


def _told_alone(found: Sequence[LengthStatement]) -> list[LengthStatement]:
    """Without the longest lengths, where nothing was asked and no bracket ends: they would be white columns."""
    ends = {end for each in found for end in (each.low, each.high)}
    told = [at for each in found for at, of in enumerate(each.lengths) if of.asked or of.length in ends]
    return [replace(each, lengths=each.lengths[: max(told, default=0) + 1]) for each in found]


def _asked_chart_drawn(name: str, found: Sequence[LengthStatement], formats: Sequence[Format]) -> list[bytes]:
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
    title = wrap(
        f"{one_line(first.model)} {said}" if said else name,
        int(_ASKED_CHART_TITLE * width),
        max_lines=3,
        placeholder="…",
    )
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


def _cells(axes: Axes, found: LengthStatement, depths: Sequence[float | None]) -> None:
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


def _bracket(axes: Axes, found: LengthStatement, down: float, up: float) -> None:
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
