"""Charts of models, tasks and histories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from needlework.core.files import write_whole
from needlework.results.pictures.comparison import write_score_lines
from needlework.results.pictures.heatmap import FORMATS, Format, file_stem, image_of, look_of, untaken
from needlework.results.pictures.parts import FRAME, INK, SOFT
from needlework.results.statistics.leaderboard.boards import BoardSeries, SeriesPoint, has_misses
from needlework.results.statistics.panels import Panel, Share, Tally
from needlework.results.statistics.run_report import RunReport
from needlework.results.statistics.summary_sentence import task_clauses
from needlework.results.statistics.tasks import Macro, TaskScore
from needlework.results.statistics.wording import range_words
from needlework.results.style import display_width, fit, fonts_for, length_labels, one_line, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# Okabe and Ito's colours, told apart with every kind of colour blindness.
_COLORS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8c8c8c", "#000000")
MOST_MODELS = len(_COLORS)
_BAR, _GAP, _TOP, _BOTTOM, _LEFT, _WIDTH, _RIGHT = 0.17, 0.12, 0.75, 0.5, 2.9, 4.8, 0.75  # inches
_LEGEND_LINE = 0.22
_LONGEST_NAME = 46  # columns


@dataclass(frozen=True, slots=True)
class Bar:
    """One model's score, 0..1, in one row, with how many answers it counts."""

    model: str
    score: Share
    n: int


@dataclass(frozen=True, slots=True)
class BarRow:
    """A task, or an average of several, with the bars of those models that have it."""

    name: str
    bars: tuple[Bar, ...]
    average: bool = False


def bar_rows(reports: Sequence[tuple[str, RunReport]]) -> tuple[BarRow, ...]:
    """The rows of runs, each with what is to be added to its models' names: L-Eval's averages, then all tasks.

    The mean over families stands first where a run has one. Where L-Eval was asked at several lengths, or with
    retrievers, its averages say which.
    """
    averages: dict[str, list[Bar]] = {}
    tasks: dict[str, list[Bar]] = {}
    places = {(each.length, each.retriever) for _, report in reports for each in report.leval}
    for added, report in reports:
        for macro in report.macros:
            n = sum(row.overall.n for row in report.tasks if row.model == macro.model)
            averages.setdefault("mean over families", []).append(Bar(_name(macro.model, added), macro.score, n))
        for found in report.leval:
            where = " · ".join(filter(None, (length_labels([found.length])[0], found.retriever)))
            for each in found.averages:
                part = f", {len(each.tasks)} of {each.of} tasks" if len(each.tasks) < each.of else ""
                name = f"{each.name}{part}" + (f" ({where})" if len(places) > 1 else "")
                averages.setdefault(name, []).append(Bar(_name(found.model, added), each.score, each.n))
        for row in report.tasks:
            interval = row.overall.interval
            share = Share(row.overall.mean, *((interval.low, interval.high) if interval else (None, None)))
            tasks.setdefault(row.task, []).append(Bar(_name(row.model, added), share, row.overall.n))
    return (
        *(BarRow(name, tuple(bars), average=True) for name, bars in averages.items()),
        *(BarRow(name, tuple(bars)) for name, bars in sorted(tasks.items())),
    )


def models_of(reports: Sequence[tuple[str, RunReport]]) -> tuple[str, ...]:
    """The models of runs as `bar_rows` names them, in the order of the runs."""
    return tuple(dict.fromkeys(_name(model, added) for added, report in reports for model in report.models))


def write_model_bars(
    rows: Sequence[BarRow], models: Sequence[str], stem: Path, formats: Sequence[Format] = FORMATS, title: str = ""
) -> list[Path]:
    """Write the chart as `stem.png`, `stem.svg`; at most `MOST_MODELS` models have colours."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    names = [fit(one_line(row.name), 40, "…") for row in rows]
    heights = [_BAR * len(models) + _GAP] * len(rows)
    top = _TOP + _LEGEND_LINE * -(-len(models) // _columns(models))
    height, width = top + sum(heights) + _BOTTOM, _LEFT + _WIDTH + _RIGHT
    heading = title or "Score by task"
    with rc_context(look_of(fonts_for("".join([heading, *names, *models])))):
        figure = Figure(figsize=(width, height), facecolor="white")
        FigureCanvasAgg(figure)
        axes = figure.add_axes((_LEFT / width, _BOTTOM / height, _WIDTH / width, sum(heights) / height))
        step = len(models) + _GAP / _BAR  # in bars
        for at, row in enumerate(rows):
            _row(axes, at * step, row, models)
        axes.set_ylim(len(rows) * step - 0.5 - _GAP / _BAR / 2, -0.5 - _GAP / _BAR / 2)
        middles = [at * step + (len(models) - 1) / 2 for at in range(len(rows))]
        labels = axes.set_yticks(middles, names, fontsize=9, color=INK)
        for label, row in zip(labels, rows, strict=True):
            label.label1.set_fontweight("bold" if row.average else "normal")
        axes.set_xlim(0, 100)
        axes.set_xticks(range(0, 101, 25), [str(each) for each in range(0, 101, 25)], fontsize=9, color=INK)
        axes.set_xlabel("score in percent, 95 % interval", fontsize=9, color=SOFT)
        axes.tick_params(length=0, pad=4)
        axes.grid(axis="x", color="#e3e3e3", linewidth=0.7)
        axes.set_axisbelow(True)
        for side in axes.spines.values():
            side.set_color(FRAME)
        last = max((at for at, row in enumerate(rows) if row.average), default=-1)
        if 0 <= last < len(rows) - 1:
            axes.axhline((last + 1) * step - 0.5 - _GAP / _BAR / 2, color=SOFT, linewidth=0.9)
        figure.text(0.02, 1 - 0.28 / height, heading, fontsize=12, weight="bold", color=INK, va="center")
        handles, texts = axes.get_legend_handles_labels()
        figure.legend(
            handles, texts, loc="upper left", bbox_to_anchor=(0.012, 1 - 0.42 / height), ncols=_columns(models),
            frameon=False, fontsize=8.5, labelcolor=INK, handlelength=1.2, columnspacing=1.6,
        )  # fmt: skip
        images = [image_of(figure, format_) for format_ in formats]
    paths = [stem.with_name(f"{stem.name}.{format_}") for format_ in formats]
    for path, image in zip(paths, images, strict=True):
        write_whole(path, image)
    return paths


def _row(axes: Axes, top: float, row: BarRow, models: Sequence[str]) -> None:
    known = axes.get_legend_handles_labels()[1]
    there = {bar.model: bar for bar in row.bars}
    for at, model in enumerate(models):
        bar, y, color = there.get(model), top + at, _COLORS[at % MOST_MODELS]
        label = "" if model in known else model
        if bar is None or bar.score.value is None:
            axes.barh(y, 0, color=color, label=label)
            axes.text(0.8, y, "no score" if bar else "not asked", fontsize=7.5, color=SOFT, va="center")
            continue
        low, high = (None if each is None else 100 * each for each in _ends(bar.score))
        axes.barh(y, 100 * bar.score.value, height=0.86, color=color, label=label)
        if low is not None and high is not None:
            axes.plot([low, high], [y, y], color=INK, linewidth=1.1, solid_capstyle="butt", clip_on=False)
            axes.plot([low, high], [y, y], "|", color=INK, ms=4.5, mew=1.1, clip_on=False)
        axes.text(102, y, f"{percent(bar.score.value)}  n {bar.n}", fontsize=7.5, color=INK, va="center", clip_on=False)


def _ends(share: Share) -> tuple[float | None, float | None]:
    """Ends beyond 0 and 1, which a mean of intervals may have, stay inside the frame."""
    low = None if share.low is None else max(0.0, share.low)
    high = None if share.high is None else min(1.0, share.high)
    return low, high


def _columns(models: Sequence[str]) -> int:
    return 3 if max(map(len, models), default=0) < 22 else 2 if max(map(len, models)) < 34 else 1


def _name(model: str, added: str) -> str:
    return fit(one_line(" · ".join(filter(None, (model, added)))), _LONGEST_NAME, "…")


_MOST = 6  # pictures of one task


@dataclass(frozen=True, slots=True)
class ModelLine:
    """One model: all of its trials, and those of each length (tokens)."""

    name: str
    scores: Tally
    lengths: Mapping[int, Tally]


def write_model_lines(panels: Sequence[Panel], folder: Path) -> list[Path]:
    """Write a picture for each needle that several models were asked at several lengths, and return the paths.

    None of a run of several tasks: `tasks.png` has them all.
    """
    groups: dict[tuple[str, str], list[Panel]] = {}
    for panel in panels:
        groups.setdefault((panel.task, panel.needle), []).append(panel)
    wanted = {at: own for at, own in groups.items() if len(own) > 1 and not any(each.uneven for each in own)}
    wanted = {at: own for at, own in wanted.items() if len({length for each in own for length in each.lengths}) > 1}
    if len(wanted) > _MOST or len({panel.task for panel in panels}) > 1:
        return []
    paths: list[Path] = []
    taken: set[str] = set()
    for (task, needle), own in wanted.items():
        lines = [
            ModelLine(each.model, each.overall, dict(zip(each.lengths, each.columns, strict=True))) for each in own
        ]
        stem = folder / untaken(file_stem("models", task, needle), taken)
        asked = " · ".join(one_line(part) for part in (task, needle) if part)
        paths += write_score_lines(lines, stem, title=f"{len(own)} models on {asked}, by length of the context")
    return paths


# Of several models one picture, `tasks`: a mark for each model in the row of a task.
_ROW, _TASK_CHART_TOP, _TASK_CHART_BOTTOM, _TASK_CHART_WIDTH, _TASK_CHART_RIGHT = 0.27, 0.8, 0.85, 4.6, 1.05  # inches
_MODEL_ROW = 0.12  # more for each further model
_LETTER, _MARGIN = 0.073, 0.2  # width of a letter of a name; inches
_TITLE = 11.5  # letters of the title in an inch
# Okabe and Ito (2008), without its yellow: told apart by colour-blind eyes; marks tell them apart in grey.
_TASK_CHART_COLORS = ("#1f6f8b", "#d55e00", "#009e73", "#000000", "#cc79a7", "#e69f00", "#56b4e9")
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
    step = _ROW + _MODEL_ROW * (min(len(models), len(_TASK_CHART_COLORS)) - 1)
    left = _MARGIN + 0.15 + _LETTER * max(map(display_width, names))
    height, width = (
        _TASK_CHART_TOP + _TASK_CHART_BOTTOM + step * len(tasks),
        left + _TASK_CHART_WIDTH + (_TASK_CHART_RIGHT if alone else 0.3),
    )
    title, subtitle = _words(rows, found, models)
    with rc_context(look_of(fonts_for("".join([title, subtitle, *names, *models])))):
        figure = Figure(figsize=(width, height), facecolor="white")
        FigureCanvasAgg(figure)
        axes = figure.add_axes(
            (left / width, _TASK_CHART_BOTTOM / height, _TASK_CHART_WIDTH / width, step * len(tasks) / height)
        )
        for row in rows:
            number = models.index(row.model)
            aside = 0.0 if alone else 0.7 * ((number + 0.5) / len(models) - 0.5)
            _task_chart_row(axes, tasks.index((row.family, row.task)) + aside, row, number, alone=alone)
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


def _task_chart_row(axes: Axes, at: float, row: TaskScore, number: int, *, alone: bool) -> None:
    overall, interval = row.overall, row.overall.interval
    color, mark = _TASK_CHART_COLORS[number % len(_TASK_CHART_COLORS)], _MARKS[number % len(_MARKS)]

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


_HISTORY_WIDTH, _HEIGHT = 7.6, 3.4  # inches
_LINE, _FALL, _RISE = "#0072B2", "#D55E00", "#009E73"
_LABELS = 12  # runs that are named below the axis
_HISTORY_TITLE = 74  # letters
_LONGEST = 16  # columns of a name
_ROOM = 88  # columns of names that stand side by side, dates above their times
_PAD = 0.012  # share of the picture that stays free around names


def write_history(series: BoardSeries, stem: Path, *, title: str, below: str) -> list[Path]:
    """Write `stem`.png and `stem`.svg, and return their paths. `below`: the line under the title."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    title = one_line(title)
    named = labels_of(series.names)
    with rc_context(look_of(fonts_for(title + "".join(named)))):
        figure = Figure(figsize=(_HISTORY_WIDTH, _HEIGHT), facecolor="white")
        FigureCanvasAgg(figure)
        foot = 0.45 / _HEIGHT
        axes = figure.add_axes((0.085, foot, 0.895, 0.82 - foot))
        for change in series.changes:
            color = _FALL if change.is_fall else _RISE
            axes.axvspan(change.first, change.last, color=color, alpha=0.14, linewidth=0)
            axes.axvline(change.at - 0.5, color=color, linewidth=1.4, linestyle="--")
        told = [(at, point.entry.overall) for at, point in enumerate(series.points) if point.entry.overall.n]
        for at, entry in told:
            if ends := entry.interval:
                axes.vlines(at, 100 * ends.low, 100 * ends.high, color=_LINE, linewidth=1.2, alpha=0.6)
        means = [100 * (entry.mean or 0.0) for _, entry in told]
        axes.plot([at for at, _ in told], means, "-o", ms=5, color=_LINE, linewidth=1.8, clip_on=False)
        lower = [(at, point.entry.counted) for at, point in enumerate(series.points) if _has_misses(point)]
        axes.plot(
            [at for at, _ in lower], [100 * counted for _, counted in lower], "o", ms=6, mfc="white", color=_LINE,
            clip_on=False,
        )  # fmt: skip
        every = -(-len(named) // _LABELS)
        upright = all(each.count(" ") <= 1 for each in named) and every == 1 and _width(named) <= _ROOM
        slant, side = (0, "center") if upright else (20, "right")
        names = [each.replace(" ", "\n") if upright else each for each in named[::every]]
        axes.set_xticks(range(0, len(named), every), names, fontsize=8, color=INK, rotation=slant, ha=side)
        axes.set_xlim(-0.4, len(named) - 0.6)
        axes.set_ylim(-4, 104)
        axes.set_yticks(range(0, 101, 20), [str(each) for each in range(0, 101, 20)], fontsize=9, color=INK)
        axes.set_ylabel("score in percent", fontsize=9, color=SOFT)
        axes.tick_params(length=0, pad=4)
        axes.grid(axis="y", color="#e3e3e3", linewidth=0.7)
        axes.set_axisbelow(True)
        for spine in axes.spines.values():
            spine.set_color(FRAME)
        figure.text(
            0.02, 1 - 0.24 / _HEIGHT, fit(title, _HISTORY_TITLE), fontsize=10.5, weight="bold", color=INK, va="center"
        )
        circles = "; circles: misses counted" if lower else ""
        shaded = "; shaded: changes, all 95 % sure" if series.changes else ""
        said = f"{one_line(below)}; lines: 95 % intervals{circles}{shaded}"
        figure.text(0.02, 1 - 0.47 / _HEIGHT, said, fontsize=8.5, color=SOFT, va="center")
        _make_room(figure, axes)
        paths = []
        for format_ in FORMATS:
            path = stem.with_name(f"{stem.name}.{format_}")
            write_whole(path, image_of(figure, format_))
            paths.append(path)
    return paths


def labels_of(names: Sequence[str]) -> list[str]:
    """Short names that can be told apart as the whole ones can: their starts, else their ends, else with numbers."""
    whole = [one_line(name) for name in names]
    starts = [fit(name, _LONGEST, "…") for name in whole]
    ends = [name if display_width(name) <= _LONGEST else f"…{fit(name[::-1], _LONGEST, '')[::-1]}" for name in whole]
    numbered = [f"{fit(name, _LONGEST - 4, '…')}#{number}" for number, name in enumerate(whole, 1)]
    return next((each for each in (starts, ends) if len(set(each)) == len(set(whole))), numbered)


def _has_misses(point: SeriesPoint) -> bool:
    return has_misses(point.entry)


def _width(names: Sequence[str]) -> int:
    """Columns of all names side by side, each as wide as the widest line."""
    return len(names) * (1 + max(display_width(line) for name in names for line in name.split(" ")))


def _make_room(figure: Figure, axes: Axes) -> None:
    """Make the axes smaller by what stands out of the picture."""
    outer = axes.get_tightbbox()
    if outer is None:  # as of axes that are not shown
        return
    box = outer.transformed(figure.transFigure.inverted())
    left, right, foot = (max(0.0, out) for out in (_PAD - box.x0, box.x1 - 1 + _PAD, _PAD - box.y0))
    x, y, width, height = axes.get_position().bounds
    axes.set_position((x + left, y + foot, width - left - right, height - foot))
