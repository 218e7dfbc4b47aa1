"""A chart of scores as the template draws it: lines with 95 % intervals, as SVG that needs no script."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2

from needlework.results.style.text import display_width

Place = tuple[int, int, int]
"""Number of the heatmap, column, row: where the trials of a point are."""
WIDTH, HEIGHT = 560, 260
_LEFT, _RIGHT, _TOP, _BOTTOM = 40, 14, 10, 40
_MARKS = ("circle", "square", "diamond")


@dataclass(frozen=True, slots=True)
class Point:
    """A score in percent at `x`, with the ends of its interval; `label` is what `x` is called, `tip` what to say."""

    x: float
    label: str
    score: float
    low: float | None
    high: float | None
    tip: str
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """One series; `joined`: whether its points are joined."""

    name: str
    points: tuple[Point, ...]
    joined: bool = True


@dataclass(frozen=True, slots=True)
class DotView:
    """A point in pixels."""

    x: float
    y: float
    low: float | None
    high: float | None
    tip: str
    place: str


@dataclass(frozen=True, slots=True)
class LineView:
    """A series in pixels. `color`: number of its colour; `mark`: its shape; `path`: the corners of its line."""

    name: str
    color: int
    mark: str
    path: str
    dots: tuple[DotView, ...]


@dataclass(frozen=True, slots=True)
class ChartView:
    """A chart. `title` is a sentence; `across` says what the x axis is; `ticks`: pixel and label of each."""

    title: str
    across: str
    lines: tuple[LineView, ...]
    rules: tuple[tuple[float, str], ...]
    ticks: tuple[tuple[float, str], ...]
    told: str
    width: int = WIDTH
    height: int = HEIGHT
    left: int = _LEFT
    right: int = WIDTH - _RIGHT
    bottom: int = HEIGHT - _BOTTOM


def chart_view(
    title: str, across: str, lines: Sequence[Line], *, whole: tuple[float, float] | None = None
) -> ChartView:
    """Lay out `lines`. `whole`: the ends of the x axis, where they are not those of the points (depths: 0 and 100)."""
    points = [point for line in lines for point in line.points]
    xs = sorted({point.x for point in points})
    first, last = whole or ((xs[0], xs[-1]) if xs else (0.0, 1.0))
    scale = log2 if first > 0 and whole is None and _like_powers(xs) else float
    low, high = scale(first), scale(last)

    def across_at(x: float) -> float:
        inner = WIDTH - _LEFT - _RIGHT - 24
        return round(_LEFT + 12 + (inner / 2 if high == low else inner * (scale(x) - low) / (high - low)), 1)

    def up_at(score: float) -> float:
        return round(HEIGHT - _BOTTOM - (HEIGHT - _BOTTOM - _TOP) * score / 100, 1)

    views = []
    for number, line in enumerate(lines):
        aside = 5 * (number - (len(lines) - 1) / 2) if len(lines) > 1 else 0.0
        dots = tuple(
            DotView(
                round(across_at(point.x) + aside, 1),
                up_at(point.score),
                None if point.low is None else up_at(point.low),
                None if point.high is None else up_at(point.high),
                point.tip,
                "" if point.place is None else ",".join(map(str, point.place)),
            )
            for point in line.points
        )
        path = " ".join(f"{dot.x},{dot.y}" for dot in dots) if line.joined else ""
        views.append(LineView(line.name, number % 8, _MARKS[number % 3], path, dots))
    return ChartView(
        title=title,
        across=across,
        lines=tuple(views),
        rules=tuple((up_at(value), str(value)) for value in (0, 25, 50, 75, 100)),
        ticks=tuple(_apart([(across_at(x), label) for x, label in sorted({(p.x, p.label) for p in points})])),
        told="; ".join(f"{line.name}: {', '.join(point.tip for point in line.points)}" for line in lines),
    )


def _like_powers(xs: Sequence[float]) -> bool:
    """Whether lengths stand more evenly by their logarithms."""
    if len(xs) < 3 or xs[-1] / xs[0] < 4:
        return False
    middle = xs[len(xs) // 2]
    return abs(log2(middle / xs[0]) / log2(xs[-1] / xs[0]) - 0.5) < abs((middle - xs[0]) / (xs[-1] - xs[0]) - 0.5)


def _apart(ticks: Sequence[tuple[float, str]]) -> list[tuple[float, str]]:
    """As many labels as do not touch, the last one always."""
    kept: list[tuple[float, str]] = []
    for x, label in reversed(ticks):
        room = 3.6 * (display_width(label) + display_width(kept[-1][1])) + 8 if kept else 0
        if not kept or kept[-1][0] - x >= room:
            kept.append((x, label))
    return kept[::-1]
