"""`documents-size-MODEL` and `documents-position-MODEL`: score against context size and against depth, by arm.

One curve for all documents in the context and one for each retriever, told apart by mark, line and colour; bars are
95 % intervals, `n` is the trials of a point. The answer document alone is the first point; its tokens stand below.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from needlework.haystack_fixtures.writing.whole_files import write_whole
from needlework.results.pictures.heatmap import FORMATS, Format, file_stem, image_of, look_of, untaken
from needlework.results.pictures.parts import FRAME, INK, SOFT
from needlework.results.statistics.documents import FOCUSED, WHOLE, Documents, Point
from needlework.results.statistics.in_short.own_documents import place_sentence, size_sentence
from needlework.results.style.fonts import fonts_for
from needlework.results.style.text import fit, length_labels, one_line
from needlework.results.tables.documents import ARMS, size_depth_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

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
    points: tuple[Point, ...]
    by_depth: bool
    told: str
    title: str


def write_document_charts(found: Sequence[Documents], folder: Path, formats: Sequence[Format] = FORMATS) -> list[Path]:
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


def _charts(found: Documents) -> Iterator[_Chart]:
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


def _line(axes: Axes, places: Sequence[tuple[float, Point]], arm: str) -> Line2D:
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


def _at(point: Point, chart: _Chart) -> float:
    """Where a point stands: its depth, or its size in tokens, 0 for the answer document alone."""
    return (point.depth or 0.0) if chart.by_depth else float(point.length)
