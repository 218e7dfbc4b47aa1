"""Pictures of comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Protocol

from needlework.core.files import write_whole
from needlework.results.pictures.heatmap import FORMATS, Format, file_stem, image_of, look_of, untaken, write_painted
from needlework.results.pictures.layout import PanelLayout, arrange
from needlework.results.pictures.parts import FRAME, INK, SOFT, Canvas, Grid, HeatmapCell, Scale, draw
from needlework.results.statistics.comparison.comparison import GroupDifference, TaskDifference
from needlework.results.statistics.panels import Tally
from needlework.results.statistics.wording import points
from needlework.results.style import DIFFERENCES, Fonts, fonts_for, length_labels, one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_HATCH = "////"
_MISSING = "no pair: not scored in both runs"
_NUMBER = 5.4  # `+100` in mean characters; the sign is a wide one


def write_difference_heatmaps(
    tasks: Sequence[TaskDifference],
    folder: Path,
    *,
    titles: Sequence[str],
    subtitles: Sequence[str],
    name: str = "difference",
    formats: Sequence[Format] = FORMATS,
) -> list[Path]:
    """Write `NAME-{task}-{needle}` (and the model, where runs of several are compared) for each task."""
    paths: list[Path] = []
    taken: set[str] = set()
    for difference, title, subtitle in zip(tasks, titles, subtitles, strict=True):
        model, task, needle = difference.family
        stem = untaken(file_stem(name, task, needle, *([model] if model else [])), taken)
        layout = layout_of(difference, title, subtitle)

        def paint(
            canvas: Canvas, _: int, fonts: Fonts, task: TaskDifference = difference, layout: PanelLayout = layout
        ) -> None:
            draw(canvas, _grid_of(task), layout, fonts)

        paths += write_painted([layout], paint, folder / stem, formats=formats)
    return paths


def layout_of(task: TaskDifference, title: str, subtitle: str) -> PanelLayout:
    """Lay out the picture of one task, with room for a number in each cell."""
    gaps = any(cell is None or cell.difference is None for row in task.table for cell in row)
    return arrange(
        tuple(task.columns),
        tuple(task.rows),
        title,
        subtitle,
        legend=int(gaps),
        cell_notes=[_notes(cell) for cell in task.cells.values()],
        mean_notes=[_notes(column) for column in task.columns.values()],
        characters=_NUMBER,
    )


def _notes(group: GroupDifference) -> tuple[str, ...]:
    """What stands below a difference of several pairs: `-8..+21`, `n=4`, `n=3/4` where a trial has no pair."""
    trials = group.n + group.unscored
    if group.difference is None or trials < 2:
        return ()
    low, high = group.difference.low, group.difference.high
    ends = "" if low is None or high is None else f"{points(low)}..{points(high)}"
    return ends, f"n={group.n}" if not group.unscored else f"n={group.n}/{trials}"


def _grid_of(task: TaskDifference) -> Grid:
    rows = [[_cell(cell) for cell in row] for row in task.table]
    gaps = any(cell.value is None for row in rows for cell in row)
    return Grid(
        rows=rows,
        means=[_cell(column) for column in task.columns.values()],
        # Fixed ends, so that pictures of different comparisons can be laid side by side.
        scale=Scale(DIFFERENCES, -100, 100, "B - A (points)", few=(-100, 0, 100), many=(-100, -50, 0, 50, 100)),
        legend=[(_HATCH, _MISSING)] if gaps else [],
    )


def _cell(group: GroupDifference | None) -> HeatmapCell:
    if group is None or group.difference is None:
        return HeatmapCell(None, hatch=_HATCH)
    return HeatmapCell(100 * group.difference.mean, (points(group.difference.mean), *_notes(group)))


# Okabe and Ito (2008), without its yellow: told apart by colour-blind eyes; marks and dashes tell them apart in grey.
_COLORS = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_MARKS = "osD^vPX"
_DASHES = ("-", "--", "-.", ":")
_WIDTH, _HEIGHT, _ROW = 7.6, 3.4, 0.24  # inches; the last one: of a line of the title, a row of the legend
_LETTERS = 8.8  # of the title, in an inch
_ASIDE = 0.055  # of the distance of two lengths: lines that lie on each other are seen


class ScoreLine(Protocol):
    """What one line shows: a run or a model, by its name; all of its trials, and those of each length (tokens)."""

    @property
    def name(self) -> str: ...
    @property
    def scores(self) -> Tally: ...
    @property
    def lengths(self) -> Mapping[int, Tally]: ...


def write_score_lines(found: Sequence[ScoreLine], stem: Path, *, title: str, below: str = "") -> list[Path]:
    """Write `stem`.png and `stem`.svg, and return their paths; none where no length has a score. `below`: what to say
    first in the line under the title.
    """
    found = [each for each in found if each.scores.trials]
    lengths = sorted({length for each in found for length in each.lengths})
    if not any(scores.n for each in found for scores in each.lengths.values()):
        return []
    paths = []
    for format_, image in zip(FORMATS, _drawn(found, lengths, one_line(title), one_line(below)), strict=True):
        path = stem.with_name(f"{stem.name}.{format_}")
        write_whole(path, image)
        paths.append(path)
    return paths


def _drawn(found: Sequence[ScoreLine], lengths: Sequence[int], title: str, below: str) -> list[bytes]:
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    longest = max(len(one_line(each.name)) for each in found)
    columns = min(len(found), 5 if longest <= 12 else 3 if longest <= 24 else 2)
    rows = -(-len(found) // columns)
    titles = wrap(title, int(_LETTERS * _WIDTH), max_lines=3, placeholder="…")
    top = 0.38 + _ROW * len(titles)
    height = _HEIGHT + _ROW * (rows + len(titles) - 1)
    names = "".join(one_line(each.name) for each in found)
    with rc_context(look_of(fonts_for(title + names))):
        figure = Figure(figsize=(_WIDTH, height), facecolor="white")
        FigureCanvasAgg(figure)
        foot = 0.55 + _ROW * rows
        axes = figure.add_axes((0.085, foot / height, 0.895, (height - foot - top) / height))
        for at, each in enumerate(found):
            _line(axes, each, at, len(found), lengths)
        axes.set_xticks(range(len(lengths)), length_labels(lengths), fontsize=9, color=INK)
        axes.set_xlim(-0.35, len(lengths) - 0.65)
        axes.set_yticks(range(0, 101, 20), [str(each) for each in range(0, 101, 20)], fontsize=9, color=INK)
        axes.set_ylim(-4, 104)
        axes.set_xlabel("context length (tokens)", fontsize=9, color=SOFT)
        axes.set_ylabel("score (percent)", fontsize=9, color=SOFT)
        axes.tick_params(length=0, pad=4)
        axes.grid(axis="y", color="#e3e3e3", linewidth=0.7)
        axes.set_axisbelow(True)
        for side in axes.spines.values():
            side.set_color(FRAME)
        figure.legend(
            *axes.get_legend_handles_labels(),
            loc="lower center",
            ncols=columns,
            frameon=False,
            fontsize=8.5,
            handlelength=3,
        )
        for at, line in enumerate(titles):
            y = 1 - (0.24 + _ROW * at) / height
            figure.text(0.02, y, line, fontsize=12, weight="bold", color=INK, va="center", parse_math=False)
        said = f"{below}{': ' if below else ''}bands are 95 % intervals; x: no trial of that length has a score"
        figure.text(0.02, 1 - (top - 0.15) / height, said, fontsize=8.5, color=SOFT, va="center", parse_math=False)
        return [image_of(figure, format_) for format_ in FORMATS]


def _line(axes: Axes, each: ScoreLine, at: int, count: int, lengths: Sequence[int]) -> None:
    color, mark, dash = _COLORS[at % len(_COLORS)], _MARKS[at % len(_MARKS)], _DASHES[at % len(_DASHES)]
    aside = _ASIDE * (at - (count - 1) / 2)
    scores = [each.lengths.get(length) for length in lengths]
    means = [(i + aside, 100 * of.mean) for i, of in enumerate(scores) if of is not None and of.mean is not None]
    bands = [
        (i + aside, 100 * of.interval.low, 100 * of.interval.high)
        for i, of in enumerate(scores)
        if of is not None and of.interval is not None
    ]
    label = one_line(each.name)
    axes.plot(*_columns(means), dash, marker=mark, ms=5, color=color, linewidth=1.8, label=label, clip_on=False)
    if bands:
        x, low, high = _columns(bands)
        axes.fill_between(x, low, high, color=color, alpha=0.1, linewidth=0)
        axes.vlines(x, low, high, color=color, linewidth=0.9, alpha=0.8)
    lost = [i + aside for i, of in enumerate(scores) if of is not None and of.trials and not of.n]
    axes.plot(lost, [0] * len(lost), "x", ms=8, mew=2, color=color, clip_on=False)


def _columns(rows: Sequence[tuple[float, ...]]) -> list[list[float]]:
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[], []]
