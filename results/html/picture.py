"""The one picture at the top of the page: which one says what the sentence says, and its points."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from needlework.haystack_fixtures.grid.cells import depth_label
from needlework.results.html.chart import ChartView, Line, Place, Point, chart_view
from needlework.results.html.texts import on_one_line
from needlework.results.statistics.documents import FOCUSED, WHOLE, Documents
from needlework.results.statistics.documents import Point as Asked
from needlework.results.statistics.in_short.own_documents import place_sentence, size_sentence
from needlework.results.statistics.panels import Panel, Tally
from needlework.results.statistics.run_report import RunReport
from needlework.results.style.text import length_labels, percent1
from needlework.results.tables.documents import ARMS

_SEARCH = {"bm25": "BM25 search", "dense": "embedding search"}
_PANELS = {WHOLE: "questions", "bm25": "questions_bm25", "dense": "questions_dense"}


@dataclass(frozen=True, slots=True)
class Picture:
    """What stands at the top: `charts`, the heatmap of the only panel (`heat`), a table of `tasks` or of `panels`."""

    charts: tuple[ChartView, ...] = ()
    heat: bool = False
    table: Literal["", "tasks", "panels"] = ""


def picture_of(report: RunReport) -> Picture:
    """Choose the picture. None of one box, none of a single row and column of equal values."""
    panels = report.panels
    charts = [chart for each in report.documents for chart in _document_charts(each, report)]
    if charts:
        return Picture(charts=tuple(charts), table="tasks" if {panel.task for panel in panels} - _OWN else "")
    if len(panels) == 1 and not panels[0].uneven:
        panel = panels[0]
        if len(panel.lengths) > 1 and len(panel.depths) > 1:
            return Picture(heat=True)
        return Picture(charts=tuple(_alone(panel)))
    if len(panels) == 1:
        return Picture(heat=True)
    if len({panel.model for panel in panels}) == len(panels) and any(len(panel.lengths) > 1 for panel in panels):
        return Picture(charts=(_models(panels),))
    return Picture(table="tasks" if len({panel.task for panel in panels}) > 1 else "panels" if panels else "")


_OWN = {"doc_position", "doc_size", "doc_absent"}


def _alone(panel: Panel) -> list[ChartView]:
    """One panel that has lengths only, or depths only."""
    if len(panel.lengths) > 1:
        return [
            chart_view("Score by length of the context", "context length (tokens)", [_over_lengths(panel, 0, "score")])
        ]
    depths = [at for at, depth in enumerate(panel.depths) if depth is not None]
    if len(depths) < 2:
        return []
    points = [
        _point(panel.depths[at] or 0.0, f"depth {depth_label(panel.depths[at])} %", panel.rows[at], (0, 0, at))
        for at in depths
    ]
    return [
        chart_view(
            "Score by where in the text the answer stands",
            "text before the answer (percent)",
            [Line("score", _known(points))],
            whole=(0.0, 100.0),
        )
    ]


def _models(panels: Sequence[Panel]) -> ChartView:
    lines = [_over_lengths(panel, number, on_one_line(panel.model, 60)) for number, panel in enumerate(panels)]
    return chart_view(
        "Each model's score by length of the context",
        "context length (tokens)",
        [line for line in lines if line.points],
    )


def _over_lengths(panel: Panel, number: int, name: str) -> Line:
    labels = length_labels(panel.lengths)
    row = 0 if len(panel.depths) == 1 else -1
    points = [
        _point(float(length), label, column, (number, at, row))
        for at, (length, label, column) in enumerate(zip(panel.lengths, labels, panel.columns, strict=True))
    ]
    return Line(name, _known(points))


def _point(x: float, label: str, found: Tally, place: Place) -> Point | None:
    if found.mean is None:
        return None
    ends = found.interval
    told = f"{label}: {percent1(found.mean)} %"
    told += f", 95 % interval {percent1(ends.low)} to {percent1(ends.high)}" if ends else ""
    low, high = (100 * ends.low, 100 * ends.high) if ends else (None, None)
    return Point(
        x, label.removeprefix("depth ").removesuffix(" %"), 100 * found.mean, low, high, f"{told}, n = {found.n}", place
    )


def _known(points: Sequence[Point | None]) -> tuple[Point, ...]:
    return tuple(point for point in points if point is not None)


def _document_charts(found: Documents, report: RunReport) -> list[ChartView]:
    several = f"{on_one_line(found.model, 60)}: " if len(report.documents) > 1 else ""
    numbers = {(panel.task, panel.needle): at for at, panel in enumerate(report.panels) if panel.model == found.model}
    charts = []
    if len({each.depth for each in found.by_depth}) > 1:
        longest = max(each.length for each in found.by_depth)
        points = [each for each in found.by_depth if each.length == longest]
        lines = _lines(points, lambda each: each.depth or 0.0, "doc_position", report.panels, numbers)
        title = several + place_sentence(found, longest if len({each.length for each in found.by_depth}) == 1 else None)
        if _has_points(lines):
            charts.append(chart_view(title, "text before the answer's document (percent)", lines, whole=(0.0, 100.0)))
    if len({each.length for each in found.by_size}) > 1:
        lines = _lines(found.by_size, lambda each: each.tokens or 0.0 if each.arm == FOCUSED else float(each.length),
                       "doc_size", report.panels, numbers)  # fmt: skip
        if _has_points(lines):
            charts.append(chart_view(several + size_sentence(found), "size of the documents (tokens)", lines))
    return charts


def _has_points(lines: Sequence[Line]) -> bool:
    """Whether anything was scored: answers that were all cut off or lost make no chart."""
    return any(line.points for line in lines)


def _lines(
    asked: Sequence[Asked], x: Callable[[Asked], float], task: str, panels: Sequence[Panel],
    numbers: Mapping[tuple[str, str], int],
) -> list[Line]:  # fmt: skip
    """A line for each way to give the documents; the answer's document alone is a single point."""
    lines = []
    for arm in dict.fromkeys(each.arm for each in asked):
        points = []
        for each in (each for each in asked if each.arm == arm and each.score.value is not None):
            number = numbers.get((task, _PANELS.get(arm, "")))
            place = None if number is None else _place(panels[number], number, each)
            size = f"{each.tokens:,.0f} tokens" if arm == FOCUSED and each.tokens else length_labels([each.length])[0]
            label = depth_label(each.depth) if each.depth is not None else size
            where = f"depth {label} %" if each.depth is not None else size
            told = f"{where}: {percent1(each.score.value or 0.0)} %, n = {each.score.n}"
            ends = (each.score.low, each.score.high)
            low, high = (None, None) if ends[0] is None or ends[1] is None else (100 * ends[0], 100 * ends[1])
            if low is not None and high is not None:
                told += f", 95 % interval {percent1(low / 100)} to {percent1(high / 100)}"
            short = length_labels([round(each.tokens or 0)])[0] if arm == FOCUSED else label
            points.append(Point(x(each), short, 100 * (each.score.value or 0.0), low, high, told, place))
        if points:
            lines.append(Line(_SEARCH.get(arm, ARMS.get(arm, arm)), tuple(points), joined=arm != FOCUSED))
    return lines


def _place(panel: Panel, number: int, each: Asked) -> Place | None:
    if each.length not in panel.lengths:
        return None
    row = panel.depths.index(each.depth) if each.depth in panel.depths else 0 if len(panel.depths) == 1 else -1
    return number, panel.lengths.index(each.length), row
