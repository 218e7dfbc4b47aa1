"""`history`: the score of run after run with its 95 % intervals, and the stretches in which it changed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from needlework.haystack_fixtures.writing.whole_files import write_whole
from needlework.results.pictures.heatmap import FORMATS, image_of, look_of
from needlework.results.pictures.parts import FRAME, INK, SOFT
from needlework.results.statistics.board.series import Point, Series
from needlework.results.style.fonts import fonts_for
from needlework.results.style.text import display_width, fit, one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH, _HEIGHT = 7.6, 3.4  # inches
_LINE, _FALL, _RISE = "#0072B2", "#D55E00", "#009E73"
_LABELS = 12  # runs that are named below the axis
_TITLE = 74  # letters
_LONGEST = 16  # columns of a name
_ROOM = 88  # columns of names that stand side by side, dates above their times
_PAD = 0.012  # share of the picture that stays free around names


def write_history(series: Series, stem: Path, *, title: str, below: str) -> list[Path]:
    """Write `stem`.png and `stem`.svg, and return their paths. `below`: the line under the title."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    title = one_line(title)
    named = labels_of(series.names)
    with rc_context(look_of(fonts_for(title + "".join(named)))):
        figure = Figure(figsize=(_WIDTH, _HEIGHT), facecolor="white")
        FigureCanvasAgg(figure)
        foot = 0.45 / _HEIGHT
        axes = figure.add_axes((0.085, foot, 0.895, 0.82 - foot))
        for change in series.changes:
            color = _FALL if change.is_fall else _RISE
            axes.axvspan(change.first, change.last, color=color, alpha=0.14, linewidth=0)
            axes.axvline(change.at - 0.5, color=color, linewidth=1.4, linestyle="--")
        told = [(at, point.entry) for at, point in enumerate(series.points) if point.entry.mean is not None]
        for at, entry in told:
            if entry.low is not None and entry.high is not None:
                axes.vlines(at, 100 * entry.low, 100 * entry.high, color=_LINE, linewidth=1.2, alpha=0.6)
        means = [100 * (entry.mean or 0.0) for _, entry in told]
        axes.plot([at for at, _ in told], means, "-o", ms=5, color=_LINE, linewidth=1.8, clip_on=False)
        lower = [(at, point.counted) for at, point in enumerate(series.points) if _has_misses(point)]
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
        figure.text(0.02, 1 - 0.24 / _HEIGHT, fit(title, _TITLE), fontsize=10.5, weight="bold", color=INK, va="center")
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


def _has_misses(point: Point) -> bool:
    return point.entry.mean is None or abs(point.counted - point.entry.mean) > 1e-9


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
