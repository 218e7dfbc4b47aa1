"""`history`: the score of run after run with its 95 % intervals, and the stretches in which it changed."""

from __future__ import annotations

from pathlib import Path

from needlework.haystack_fixtures.whole_files import write_whole
from needlework.results.pictures.heatmap import FORMATS, image_of, look_of
from needlework.results.pictures.parts import FRAME, INK, SOFT
from needlework.results.statistics.board.series import Series
from needlework.results.style.fonts import fonts_for
from needlework.results.style.text import fit, one_line

_WIDTH, _HEIGHT = 7.6, 3.4  # inches
_LINE, _FALL, _RISE = "#0072B2", "#D55E00", "#009E73"
_LABELS = 12  # places that are named below the axis
_TITLE = 74  # letters
_UPRIGHT = 7  # places whose names stand side by side, dates above their times


def write_history(series: Series, stem: Path, *, title: str, below: str) -> list[Path]:
    """Write `stem`.png and `stem`.svg, and return their paths. `below`: the line under the title."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    title = one_line(title)
    places = [fit(one_line(point.place), 16) for point in series.points]
    with rc_context(look_of(fonts_for(title + "".join(places)))):
        figure = Figure(figsize=(_WIDTH, _HEIGHT), facecolor="white")
        FigureCanvasAgg(figure)
        upright = len(places) <= _UPRIGHT
        foot = (0.45 if upright else 0.78) / _HEIGHT
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
        every = -(-len(places) // _LABELS)
        slant, side = (0, "center") if upright else (20, "right")
        names = [place.replace(" ", "\n") if upright else place for place in places[::every]]
        axes.set_xticks(range(0, len(places), every), names, fontsize=8, color=INK, rotation=slant, ha=side)
        axes.set_xlim(-0.4, len(places) - 0.6)
        axes.set_ylim(-4, 104)
        axes.set_yticks(range(0, 101, 20), [str(each) for each in range(0, 101, 20)], fontsize=9, color=INK)
        axes.set_ylabel("score in percent", fontsize=9, color=SOFT)
        axes.tick_params(length=0, pad=4)
        axes.grid(axis="y", color="#e3e3e3", linewidth=0.7)
        axes.set_axisbelow(True)
        for spine in axes.spines.values():
            spine.set_color(FRAME)
        figure.text(0.02, 1 - 0.24 / _HEIGHT, fit(title, _TITLE), fontsize=10.5, weight="bold", color=INK, va="center")
        shaded = "; shaded: a change lies there, 95 % sure of all of them" if series.changes else ""
        said = f"{one_line(below)}; lines: 95 % intervals{shaded}"
        figure.text(0.02, 1 - 0.47 / _HEIGHT, said, fontsize=8.5, color=SOFT, va="center")
        paths = []
        for format_ in FORMATS:
            path = stem.with_name(f"{stem.name}.{format_}")
            write_whole(path, image_of(figure, format_))
            paths.append(path)
    return paths
