"""Charts and texts of the page."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import log2
from typing import Literal

from markupsafe import Markup

from needlework.core.grid import depth_label
from needlework.results.report.charts import ARMS
from needlework.results.statistics.documents import FOCUSED, WHOLE, DocumentScores
from needlework.results.statistics.documents import ArmAtPlace as Asked
from needlework.results.statistics.panels import Panel, Tally
from needlework.results.statistics.run_report import RunReport
from needlework.results.statistics.summary_sentence import place_sentence, size_sentence
from needlework.results.style import display_width, fit, length_labels, one_line, percent1

Place = tuple[int, int, int]
"""Number of the heatmap, column, row: where the trials of a point are."""
WIDTH, HEIGHT = 560, 260
_LEFT, _RIGHT, _TOP, _BOTTOM = 40, 14, 10, 40
_MARKS = ("circle", "square", "diamond")


@dataclass(frozen=True, slots=True)
class ChartPoint:
    """A score in percent at `x`, with the ends of its interval; `label` is what `x` is called, `tip` what to say."""

    x: float
    label: str
    score: float
    low: float | None
    high: float | None
    tip: str
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class ChartLine:
    """One series; `joined`: whether its points are joined."""

    name: str
    points: tuple[ChartPoint, ...]
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
    title: str, across: str, lines: Sequence[ChartLine], *, whole: tuple[float, float] | None = None
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
            [ChartLine("score", _known(points))],
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


def _over_lengths(panel: Panel, number: int, name: str) -> ChartLine:
    labels = length_labels(panel.lengths)
    row = 0 if len(panel.depths) == 1 else -1
    points = [
        _point(float(length), label, column, (number, at, row))
        for at, (length, label, column) in enumerate(zip(panel.lengths, labels, panel.columns, strict=True))
    ]
    return ChartLine(name, _known(points))


def _point(x: float, label: str, found: Tally, place: Place) -> ChartPoint | None:
    if found.mean is None:
        return None
    ends = found.interval
    told = f"{label}: {percent1(found.mean)} %"
    told += f", 95 % interval {percent1(ends.low)} to {percent1(ends.high)}" if ends else ""
    low, high = (100 * ends.low, 100 * ends.high) if ends else (None, None)
    return ChartPoint(
        x, label.removeprefix("depth ").removesuffix(" %"), 100 * found.mean, low, high, f"{told}, n = {found.n}", place
    )


def _known(points: Sequence[ChartPoint | None]) -> tuple[ChartPoint, ...]:
    return tuple(point for point in points if point is not None)


def _document_charts(found: DocumentScores, report: RunReport) -> list[ChartView]:
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


def _has_points(lines: Sequence[ChartLine]) -> bool:
    """Whether anything was scored: answers that were all cut off or lost make no chart."""
    return any(line.points for line in lines)


def _lines(
    asked: Sequence[Asked], x: Callable[[Asked], float], task: str, panels: Sequence[Panel],
    numbers: Mapping[tuple[str, str], int],
) -> list[ChartLine]:  # fmt: skip
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
            points.append(ChartPoint(x(each), short, 100 * (each.score.value or 0.0), low, high, told, place))
        if points:
            lines.append(ChartLine(_SEARCH.get(arm, ARMS.get(arm, arm)), tuple(points), joined=arm != FOCUSED))
    return lines


def _place(panel: Panel, number: int, each: Asked) -> Place | None:
    if each.length not in panel.lengths:
        return None
    row = panel.depths.index(each.depth) if each.depth in panel.depths else 0 if len(panel.depths) == 1 else -1
    return number, panel.lengths.index(each.length), row


# Whole, or its beginning, the number of characters left out, and its end. The number stands apart from the text, so
# that the mark on the page cannot be forged by a text that looks like one.
Shown = str | tuple[str, int, str]

_SURROGATES = re.compile(r"[\ud800-\udfff]")
_BREAKS = re.compile(r"\r\n?")
# C0 but tab and newline, DEL, C1, noncharacters, and what reorders the text after it: embeddings, overrides, isolates.
# The marks U+200E, U+200F and U+061C stay: right-to-left languages need them, and they move only their neighbours.
_UNSEEN = r"\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufdd0-\ufdef\ufffe\uffff"
_INVISIBLE = re.compile(f"[{_UNSEEN}]")
_CHANGED = re.compile(rf"[{_UNSEEN}\ud800-\udfff]")
_NONCHARACTERS = re.compile(r"[\ufdd0-\ufdef]")
_ESCAPES = tuple((mark, f"\\u{ord(mark):04x}") for mark in "<>&\u2028\u2029")  # what ends a script, or a line of it
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_facts = json.JSONEncoder(ensure_ascii=False, sort_keys=True, default=str).encode


def visible(text: str) -> str:
    """Show control characters as their code points, `⟨U+001B⟩`; half a surrogate pair becomes U+FFFD."""
    if (text.isascii() and text.isprintable()) or not _CHANGED.search(text):
        return text
    return _SURROGATES.sub("\ufffd", _INVISIBLE.sub(_code_point, _BREAKS.sub("\n", text)))


def without_marks(text: str) -> str:
    """Remove noncharacters: some tokenizers set special tokens apart with them."""
    return text if text.isascii() else _NONCHARACTERS.sub("", text)


def shown(text: str, limit: int) -> Shown:
    """Return `text` as the page shows it: two thirds of `limit` characters of its beginning, the rest of its end."""
    if len(text) <= limit:
        return visible(text)
    head = limit * 2 // 3
    return visible(text[:head]), len(text) - limit, visible(text[head - limit :])


def on_one_line(text: str, columns: int = 300) -> str:
    """Return a name or a sentence: one line, not endless, and nothing in it that moves the text after it."""
    return visible(fit(one_line(text), columns, "…"))


def percent_number(score: float) -> int | float:
    """A score in 0..1 as the percent that the page prints, rounded by the rule of `percent1`."""
    value = float(percent1(score))
    return int(value) if value.is_integer() else value


def is_cut(value: object) -> bool:
    """Whether `value` is a text that `shown` shortened."""
    return isinstance(value, tuple) and len(value) == 3 and isinstance(value[1], int)


def facts_text(value: object, limit: int) -> Shown | None:
    """Return any JSON value as text, keys in order; `None` where it says nothing."""
    return None if value in (None, {}, [], "") else shown(_facts(value), limit)


def script_json(value: object) -> str:
    """Return compact JSON that can stand in a `<script>` element, whatever is in it."""
    return script_safe(_ENCODER.encode(value))


def script_safe(text: str) -> str:
    """The same of JSON that is written already."""
    for mark, escape in _ESCAPES:
        if mark in text:
            text = text.replace(mark, escape)
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)


def trusted(text: str) -> Markup:
    """Mark our own style sheet, script or `script_json` text as ready for the template."""
    return Markup(text)  # noqa: S704 - never called with a text of a model or a user


def _code_point(match: re.Match[str]) -> str:
    return f"⟨U+{ord(match[0]):04X}⟩"
