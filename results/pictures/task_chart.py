"""`tasks-MODEL`: the score of every task with its interval, beside chance and beside the answer's own text alone.

Of several models one picture, `tasks`: a mark for each model in the row of a task.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from needlework.haystack_fixtures.writing.whole_files import write_whole
from needlework.results.pictures.heatmap import FORMATS, file_stem, image_of, look_of
from needlework.results.pictures.parts import FRAME, INK, SOFT
from needlework.results.statistics.in_short.tasks import task_clauses
from needlework.results.statistics.tasks import Macro, TaskScore
from needlework.results.style.fonts import fonts_for
from needlework.results.style.text import display_width, fit, one_line, percent
from needlework.results.tables.headline import range_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROW, _TOP, _BOTTOM, _WIDTH, _RIGHT = 0.27, 0.8, 0.85, 4.6, 1.05  # inches
_MODEL_ROW = 0.12  # more for each further model
_LETTER, _MARGIN = 0.073, 0.2  # width of a letter of a name; inches
_TITLE = 11.5  # letters of the title in an inch
# Okabe and Ito (2008), without its yellow: told apart by colour-blind eyes; marks tell them apart in grey.
_COLORS = ("#1f6f8b", "#d55e00", "#009e73", "#000000", "#cc79a7", "#e69f00", "#56b4e9")
_MARKS = "osD^vPX"


def write_task_charts(rows: Sequence[TaskScore], found: Sequence[Macro], folder: Path) -> list[Path]:
    """Write the chart of a run with two tasks or more, and return the paths; none of a run with one."""
    models = list(dict.fromkeys(row.model for row in rows))
    tasks = dict.fromkeys((row.family, row.task) for row in rows)
    if len(tasks) < 2:
        return []
    stem = folder / (file_stem("tasks", models[0]) if len(models) == 1 else "tasks")
    paths = []
    for format_, image in zip(FORMATS, _drawn(rows, found, models, list(tasks)), strict=True):
        path = stem.with_name(f"{stem.name}.{format_}")
        write_whole(path, image)
        paths.append(path)
    return paths


def _drawn(
    rows: Sequence[TaskScore], found: Sequence[Macro], models: Sequence[str], tasks: Sequence[tuple[str, str]]
) -> list[bytes]:
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    names, alone = [one_line(task) for _, task in tasks], len(models) == 1
    step = _ROW + _MODEL_ROW * (min(len(models), len(_COLORS)) - 1)
    left = _MARGIN + 0.15 + _LETTER * max(map(display_width, names))
    height, width = _TOP + _BOTTOM + step * len(tasks), left + _WIDTH + (_RIGHT if alone else 0.3)
    title, subtitle = _words(rows, found, models)
    with rc_context(look_of(fonts_for("".join([title, subtitle, *names, *models])))):
        figure = Figure(figsize=(width, height), facecolor="white")
        FigureCanvasAgg(figure)
        axes = figure.add_axes((left / width, _BOTTOM / height, _WIDTH / width, step * len(tasks) / height))
        for row in rows:
            number = models.index(row.model)
            aside = 0.0 if alone else 0.7 * ((number + 0.5) / len(models) - 0.5)
            _row(axes, tasks.index((row.family, row.task)) + aside, row, number, alone=alone)
        axes.set_ylim(len(tasks) - 0.5, -0.5)
        axes.set_xlim(-3, 103)
        axes.set_yticks(range(len(tasks)), names, fontsize=9, color=INK)
        axes.set_xticks(range(0, 101, 25), [str(each) for each in range(0, 101, 25)], fontsize=9, color=INK)
        axes.set_xlabel("score (percent); lines are 95 % intervals", fontsize=9, color=SOFT)
        axes.tick_params(length=0, pad=4)
        axes.grid(axis="x", color="#e3e3e3", linewidth=0.7)
        axes.set_axisbelow(True)
        for side in axes.spines.values():
            side.set_color(FRAME)
        # Families that follow each other are told apart.
        for at in range(1, len(tasks)):
            if tasks[at][0] != tasks[at - 1][0] or not alone:
                axes.axhline(at - 0.5, color=FRAME, linewidth=0.7)
        style: dict[str, Any] = {"va": "center", "parse_math": False}
        x = _MARGIN / width
        figure.text(
            x, 1 - 0.28 / height, fit(title, int(_TITLE * width)), fontsize=12, weight="bold", color=INK, **style
        )
        figure.text(x, 1 - 0.53 / height, subtitle, fontsize=9, color=SOFT, **style)
        handles, labels = axes.get_legend_handles_labels()
        if handles:
            figure.legend(
                handles, labels, loc="lower left", bbox_to_anchor=(x - 0.01, 0.0), ncols=3, frameon=False, fontsize=8
            )
        return [image_of(figure, format_) for format_ in FORMATS]


def _words(rows: Sequence[TaskScore], found: Sequence[Macro], models: Sequence[str]) -> tuple[str, str]:
    """The title, a sentence, and what stands below it."""
    if len(models) > 1:
        return f"{len(models)} models beside each other, task by task", ""
    macro = next((each for each in found if each.model == models[0]), None)
    first, *more = task_clauses(rows, macro) or ["has no score"]
    return f"{one_line(models[0])} {first}", "; ".join(more)


def _row(axes: Axes, at: float, row: TaskScore, number: int, *, alone: bool) -> None:
    overall, interval = row.overall, row.overall.interval
    color, mark = _COLORS[number % len(_COLORS)], _MARKS[number % len(_MARKS)]

    def once(label: str) -> str:
        return "" if label in axes.get_legend_handles_labels()[1] else label

    if alone and row.focused.mean is not None:
        label = once("the same questions on the answer's own text alone")
        axes.plot(100 * row.focused.mean, at, "D", ms=8, mfc="none", mec=SOFT, mew=1.1, label=label)
    if alone and row.chance:
        axes.plot(100 * row.chance, at, "|", ms=11, mec="#c2410c", mew=2, label=once("what guessing scores"))
    if overall.mean is not None:
        label = once("score" if alone else one_line(row.model))
        if interval is not None:
            axes.hlines(at, 100 * interval.low, 100 * interval.high, color=color, linewidth=2 if alone else 1.3)
        axes.plot(100 * overall.mean, at, mark, ms=6 if alone else 5, color=color, label=label)
    if overall.range is not None:
        low, high = overall.range
        label = once("answers that were cut off: all missed to all hit")
        axes.hlines(at, 100 * low, 100 * high, color=SOFT, linewidth=7, alpha=0.35, label=label, zorder=0)
    if alone:
        said = "no score" if overall.mean is None else f"{percent(overall.mean)} %"
        said = said if overall.range is None else f"{range_words(overall.range, whole=True)} %"
        axes.text(105, at, said, fontsize=8.5, color=INK, va="center", clip_on=False)
        axes.text(121, at, f"n {overall.n}", fontsize=8.5, color=SOFT, va="center", clip_on=False)
