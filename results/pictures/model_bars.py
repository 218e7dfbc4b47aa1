"""Several models side by side: a bar with its 95 % interval for each model, task by task, averages first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from needlework.haystack_fixtures.writing.whole_files import write_whole
from needlework.results.pictures.heatmap import FORMATS, Format, image_of, look_of
from needlework.results.pictures.parts import FRAME, INK, SOFT
from needlework.results.statistics.run_report import RunReport
from needlework.results.statistics.tasks import Share
from needlework.results.style.fonts import fonts_for
from needlework.results.style.text import fit, length_labels, one_line, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
