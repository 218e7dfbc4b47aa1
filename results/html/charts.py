"""Charts of the page, and texts that are safe in it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from markupsafe import Markup

from needlework.core.labels import OWN_DOCUMENTS
from needlework.results.report.chart import ChartPoint, LineChart, PanelCell
from needlework.results.report.charts import document_charts, panel_charts
from needlework.results.report.section import Table
from needlework.results.statistics.panels import Panel
from needlework.results.statistics.run_report import RunReport
from needlework.results.style import fit, one_line, percent1

_WIDTH, _HEIGHT = 560, 260
_LEFT, _RIGHT, _TOP, _BOTTOM = 40, 14, 10, 40
_INNER = _WIDTH - _LEFT - _RIGHT - 24
_MARKS = ("circle", "square", "diamond")
_MOST_LINES = 8  # that have a colour each


def chart_view(chart: LineChart, panels: Sequence[Panel]) -> dict[str, Any]:
    """Lay out a chart in pixels; its points lead to the trials of `panels`.

    `rules`, `ticks`: position and label of each; `path`: the corners of a line; `summary`: for screen readers; a dot's
    `tip`: what to say of it, `place`: `panel,column,row` of its trials.
    """
    lines: list[dict[str, Any]] = []
    for number, line in enumerate(chart.lines):
        aside = 5 * (number - (len(chart.lines) - 1) / 2)
        points = [point for point in line.points if point.score is not None]
        dots = [
            {
                "x": round(_across(share) + aside, 1),
                "y": _up(point.score or 0.0),
                "low": None if point.low is None else _up(point.low),
                "high": None if point.high is None else _up(point.high),
                "tip": _tip(point),
                "place": _place(point.cell, panels),
            }
            for point, share in zip(points, chart.shares([point.x for point in points]), strict=True)
        ]
        path = " ".join(f"{dot['x']},{dot['y']}" for dot in dots) if line.is_joined else ""
        look = {"color": number % _MOST_LINES, "mark": _MARKS[number % 3], "path": path}
        lines.append({"name": on_one_line(line.name), **look, "dots": dots})
    return {
        "title": on_one_line(chart.title),
        "across": chart.across,
        "lines": lines,
        "rules": [(_up(value), str(value)) for value in (0, 25, 50, 75, 100)],
        "ticks": [(_across(share), label) for share, label in chart.ticks(_INNER // 7)],
        "summary": "; ".join(f"{line['name']}: {', '.join(dot['tip'] for dot in line['dots'])}" for line in lines),
        "width": _WIDTH,
        "height": _HEIGHT,
        "left": _LEFT,
        "right": _WIDTH - _RIGHT,
        "bottom": _HEIGHT - _BOTTOM,
    }


def _across(share: float) -> float:
    return round(_LEFT + 12 + _INNER * share, 1)


def _up(score: float) -> float:
    return round(_HEIGHT - _BOTTOM - (_HEIGHT - _BOTTOM - _TOP) * score / 100, 1)


def _tip(point: ChartPoint) -> str:
    where = f"depth {point.label} %" if point.cell and isinstance(point.cell.depth, float) else point.label
    ends = ""
    if point.low is not None and point.high is not None:
        ends = f", 95 % interval {percent1(point.low / 100)} to {percent1(point.high / 100)}"
    return f"{where}: {percent1((point.score or 0.0) / 100)} %{ends}, n = {point.n}"


def _place(cell: PanelCell | None, panels: Sequence[Panel]) -> str:
    if cell is None:
        return ""
    for number, panel in enumerate(panels):
        if (panel.model, panel.task, panel.needle) == cell[:3] and cell.length in panel.lengths:
            row = panel.depths.index(cell.depth) if cell.depth in panel.depths else 0 if len(panel.depths) == 1 else -1
            return f"{number},{panel.lengths.index(cell.length)},{row}"
    return ""


@dataclass(frozen=True, slots=True)
class Picture:
    """What is at the top of the page: `charts`, the heatmap of the only panel (`heat`), a table of `tasks` or of
    `panels`. `curves`: charts for a closed section below.
    """

    charts: tuple[dict[str, Any], ...] = ()
    heat: bool = False
    table: Literal["", "tasks", "panels"] = ""
    curves: tuple[dict[str, Any], ...] = ()


def picture_of(report: RunReport) -> Picture:
    """Choose the picture. None of one box, none of a single row and column of equal values."""
    panels = report.panels
    several = len({panel.task for panel in panels}) > 1
    curves = tuple(chart_view(chart, panels) for chart in panel_charts(panels)) if len(panels) <= _MOST_LINES else ()
    charts = tuple(chart_view(chart, panels) for chart in _document_charts(report))
    if charts:
        others = {panel.task for panel in panels} - set(OWN_DOCUMENTS)
        return Picture(charts=charts, table="tasks" if others else "", curves=curves)
    if len(panels) == 1:
        panel = panels[0]
        is_grid = panel.uneven or (len(panel.lengths) > 1 and len(panel.depths) > 1)
        return Picture(heat=True, curves=curves) if is_grid else Picture(charts=curves)
    if len({panel.model for panel in panels}) == len(panels) and any(len(panel.lengths) > 1 for panel in panels):
        return Picture(charts=curves[:1], curves=curves[1:])
    return Picture(table="tasks" if several else "panels" if panels else "", curves=curves)


def _document_charts(report: RunReport) -> list[LineChart]:
    """Those of all models, by depth first; of several lengths the longest."""
    charts = []
    for found in report.documents:
        own = document_charts(found)
        by_depth = [chart for chart in own if chart.ends is not None]
        by_size = [chart for chart in own if chart.ends is None]
        name = f"{found.model}: " if len(report.documents) > 1 else ""
        charts += [replace(chart, title=f"{name}{chart.title}") for chart in (*by_depth[-1:], *by_size)]
    return charts


def table_view(table: Table, links: Sequence[str] = ()) -> dict[str, object]:
    """A table as the template draws it: texts on one line, bars in percent. `links`: of the rows' names."""
    return {
        "caption": on_one_line(table.caption),
        "head": [on_one_line(text) for text in table.head],
        "rows": [[on_one_line(text) for text in row] for row in table.rows],
        "names": table.names,
        "bars": [bar and [percent_number(end) for end in bar] for bar in table.bars],
        "links": links,
    }


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


def script_json(value: object) -> str:
    """Return compact JSON that can stand in a `<script>` element, whatever is in it."""
    text = _ENCODER.encode(value)
    for mark, escape in _ESCAPES:
        if mark in text:
            text = text.replace(mark, escape)
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)


def trusted(text: str) -> Markup:
    """Mark our own style sheet, script or `script_json` text as ready for the template."""
    return Markup(text)  # noqa: S704 - never called with a text of a model or a user


def _code_point(match: re.Match[str]) -> str:
    return f"⟨U+{ord(match[0]):04X}⟩"
