"""`tasks-MODEL`: the score of every task with its interval, beside chance and beside the same questions alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from needlework.haystack_fixtures.whole_files import write_whole
from needlework.results.pictures.heatmap import FORMATS, file_stem, image_of, look_of
from needlework.results.pictures.parts import FRAME, INK, SOFT
from needlework.results.statistics.tasks import Macro, TaskScore
from needlework.results.style.fonts import fonts_for
from needlework.results.style.text import one_line, percent
from needlework.results.tables.headline import range_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROW, _TOP, _BOTTOM, _LEFT, _WIDTH, _RIGHT = 0.27, 0.85, 0.95, 2.9, 4.6, 1.1  # inches
_SCORE = "#1f6f8b"


def write_task_charts(rows: Sequence[TaskScore], found: Sequence[Macro], folder: Path) -> list[Path]:
    """Write one chart for each model that was asked two tasks or more, and return the paths."""
    paths = []
    for model in dict.fromkeys(row.model for row in rows):
        own = [row for row in rows if row.model == model]
        if len(own) < 2:
            continue
        macro = next((each for each in found if each.model == model), None)
        stem = folder / file_stem("tasks", model)
        images = _drawn(one_line(model), own, macro)
        for format_, image in zip(FORMATS, images, strict=True):
            path = stem.with_name(f"{stem.name}.{format_}")
            write_whole(path, image)
            paths.append(path)
    return paths


def _drawn(model: str, rows: Sequence[TaskScore], macro: Macro | None) -> list[bytes]:
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    names = [one_line(row.task) for row in rows]
    height = _TOP + _BOTTOM + _ROW * len(rows)
    width = _LEFT + _WIDTH + _RIGHT
    with rc_context(look_of(fonts_for("".join([model, *names])))):
        figure = Figure(figsize=(width, height), facecolor="white")
        FigureCanvasAgg(figure)
        axes = figure.add_axes((_LEFT / width, _BOTTOM / height, _WIDTH / width, _ROW * len(rows) / height))
        for at, row in enumerate(rows):
            _row(axes, at, row)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlim(-2, 102)
        axes.set_yticks(range(len(rows)), names, fontsize=9, color=INK)
        axes.set_xticks(range(0, 101, 25), [str(each) for each in range(0, 101, 25)], fontsize=9, color=INK)
        axes.set_xlabel("score in percent", fontsize=9, color=SOFT)
        axes.tick_params(length=0, pad=4)
        axes.grid(axis="x", color="#e3e3e3", linewidth=0.7)
        axes.set_axisbelow(True)
        for side in axes.spines.values():
            side.set_color(FRAME)
        # Families that follow each other are told apart.
        for at in range(1, len(rows)):
            if rows[at].family != rows[at - 1].family:
                axes.axhline(at - 0.5, color=FRAME, linewidth=0.7)
        figure.text(0.02, 1 - 0.3 / height, model, fontsize=12, weight="bold", color=INK, va="center")
        figure.text(0.02, 1 - 0.58 / height, _subtitle(macro, len(rows)), fontsize=9, color=SOFT, va="center")
        axes.legend(
            loc="upper center", bbox_to_anchor=(0.5, -0.42 / (_ROW * len(rows))), ncols=3, frameon=False, fontsize=8
        ) if axes.get_legend_handles_labels()[0] else None
        return [image_of(figure, format_) for format_ in FORMATS]


def _row(axes: Axes, at: int, row: TaskScore) -> None:
    overall, interval = row.overall, row.overall.interval

    def once(label: str) -> str:
        return "" if label in axes.get_legend_handles_labels()[1] else label

    if row.focused.mean is not None:
        label = once("on a text of nothing else")
        axes.plot(100 * row.focused.mean, at, "D", ms=9, mfc="none", mec=SOFT, mew=1.2, label=label, clip_on=False)
    if row.chance:
        axes.plot(100 * row.chance, at, "|", ms=11, mec="#c2410c", mew=2, label=once("chance"))
    if overall.mean is not None:
        label = once("score, 95 % interval")
        if interval is not None:
            axes.hlines(at, 100 * interval.low, 100 * interval.high, color=_SCORE, linewidth=2)
        axes.plot(100 * overall.mean, at, "o", ms=6, color=_SCORE, label=label, clip_on=False)
    if overall.range is not None:
        low, high = overall.range
        label = once("undecided answers: all missed to all hit")
        axes.hlines(at, 100 * low, 100 * high, color=SOFT, linewidth=7, alpha=0.35, label=label, zorder=0)
    said = "no score" if overall.mean is None else percent(overall.mean)
    said = said if overall.range is None else range_words(overall.range, whole=True)
    axes.text(104, at, f"{said}  n {overall.n}", fontsize=8.5, color=INK, va="center", clip_on=False)


def _subtitle(macro: Macro | None, tasks: int) -> str:
    if macro is not None and macro.range is not None:
        said = f"macro score {range_words(macro.range)} % (undecided answers: all missed to all hit)"
        return f"{said}, mean of {macro.families} families, {tasks} tasks"
    if macro is None or macro.score.value is None or macro.score.low is None or macro.score.high is None:
        return f"{tasks} tasks"
    ends = f"{100 * macro.score.low:.1f}–{100 * macro.score.high:.1f}"
    score = f"macro score {100 * macro.score.value:.1f} % (95 % interval {ends})"
    return f"{score}, mean of {macro.families} families, {tasks} tasks"
