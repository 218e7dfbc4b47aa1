"""Charts, heatmaps and tables of a report as the page's template draws them."""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from needlework.core.record import OWN_DOCUMENTS
from needlework.results.html.page import trusted
from needlework.results.report.charts import document_charts, panel_charts
from needlework.results.report.section import ChartPoint, Heatmap, HeatmapCell, LineChart, PanelCell
from needlework.results.statistics.panels import Panel
from needlework.results.statistics.run_report import RunReport
from needlework.results.style import display_width, percent1

_FRAME = {"width": 560, "height": 260, "left": 40, "right": 546, "top": 10, "bottom": 220}  # pixels
_INNER = _FRAME["right"] - _FRAME["left"] - 24
_MARKS = ("circle", "square", "diamond")
_MOST_LINES = 8  # that have a colour each


def picture_of(report: RunReport) -> dict[str, Any]:
    """Choose the top of the page, so that it is never one box, nor a row or column of equal values.

    `charts`; or `heat`: the heatmap of the only panel; and a `table` of tasks or of panels. `curves`: charts for a
    closed section below.
    """
    panels = report.panels
    curves = [chart_view(chart, panels) for chart in panel_charts(panels)] if len(panels) <= _MOST_LINES else []
    charts = [chart_view(chart, panels) for chart in _document_charts(report)]
    several = len({panel.task for panel in panels}) > 1
    heat, table = False, "tasks" if several else "panels" if panels else ""
    if charts:
        table = "tasks" if {panel.task for panel in panels} - set(OWN_DOCUMENTS) else ""
    elif len(panels) == 1:
        heat, table = panels[0].uneven or (len(panels[0].lengths) > 1 and len(panels[0].depths) > 1), ""
        charts, curves = ([], curves) if heat else (curves, [])
    elif len(report.models) == len(panels) and any(len(panel.lengths) > 1 for panel in panels):
        charts, curves, table = curves[:1], curves[1:], ""
    return {"charts": charts, "heat": heat, "table": table, "curves": curves}


def _document_charts(report: RunReport) -> list[LineChart]:
    """The charts of all models, by depth first; of several lengths the longest."""
    charts = []
    for scores in report.documents:
        drawn = document_charts(scores)
        by_depth = [chart for chart in drawn if chart.ends is not None]
        by_size = [chart for chart in drawn if chart.ends is None]
        name = f"{scores.model}: " if len(report.documents) > 1 else ""
        charts += [replace(chart, title=f"{name}{chart.title}") for chart in (*by_depth[-1:], *by_size)]
    return charts


def chart_view(chart: LineChart, panels: Sequence[Panel] = ()) -> dict[str, Any]:
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
                "x": round(_x(share) + aside, 1),
                "y": _y(point.score),
                "low": _y(point.low),
                "high": _y(point.high),
                "tip": _tip(point),
                "place": _trials_address(point.cell, panels),
            }
            for point, share in zip(points, chart.shares([point.x for point in points]), strict=True)
        ]
        path = trusted(" ".join(f"{dot['x']},{dot['y']}" for dot in dots) if line.is_joined else "")
        look = {"color": number % _MOST_LINES, "mark": _MARKS[number % 3], "path": path}
        lines.append({"name": line.name, **look, "dots": dots})
    return {
        "title": chart.title,
        "across": chart.across,
        "lines": lines,
        "rules": [(_y(value), str(value)) for value in (0, 25, 50, 75, 100)],
        "ticks": [(_x(share), label) for share, label in chart.ticks(_INNER // 7)],
        "summary": "; ".join(f"{line['name']}: {', '.join(dot['tip'] for dot in line['dots'])}" for line in lines),
        **_FRAME,
    }


def _x(share: float) -> float:
    return round(_FRAME["left"] + 12 + _INNER * share, 1)


def _y(score: float | None) -> float | None:
    bottom, top = _FRAME["bottom"], _FRAME["top"]
    return None if score is None else round(bottom - (bottom - top) * score / 100, 1)


def _tip(point: ChartPoint) -> str:
    where = f"depth {point.label} %" if point.cell and isinstance(point.cell.depth, float) else point.label
    ends = ""
    if point.low is not None and point.high is not None:
        ends = f", 95 % interval {percent1(point.low / 100)} to {percent1(point.high / 100)}"
    return f"{where}: {percent1((point.score or 0.0) / 100)} %{ends}, n = {point.n}"


def _trials_address(cell: PanelCell | None, panels: Sequence[Panel]) -> str:
    for number, panel in enumerate(panels if cell else ()):
        if cell and panel.key == cell[:3] and cell.length in panel.lengths:
            row = panel.depths.index(cell.depth) if cell.depth in panel.depths else 0 if len(panel.depths) == 1 else -1
            return f"{number},{panel.lengths.index(cell.length)},{row}"
    return ""


_ROOM_FOR_N = 12  # columns; in wider grids n is in the tooltip only
# Widest grid of each size of cells; the style sheet has a width for each name.
_SIZES = ((8, "large"), (16, "medium"), (40, "small"))
_LABEL_ROOM = {"large": 9, "medium": 7, "small": 4, "tiny": 0}  # characters of a length that fit across a cell


def grid_view(chart: Heatmap) -> dict[str, Any]:
    """Lay out a heatmap: a row for each depth, and the means. `size` and `upright` are class names."""
    size = next((name for widest, name in _SIZES if len(chart.lengths) <= widest), "tiny")
    return {
        "size": size,
        "upright": max(map(display_width, chart.lengths)) > _LABEL_ROOM[size],
        "lengths": chart.lengths,
        "means": [_cell(cell, chart) for cell in chart.summaries[0][1]],
        "rows": [
            (label, [_cell(cell, chart) for cell in cells])
            for label, cells in zip(chart.depths, chart.rows, strict=True)
        ],
    }


def _cell(cell: HeatmapCell | None, chart: Heatmap) -> tuple[str, str, str]:
    """Class names, the number or letter in the cell, and n where there is room."""
    is_difference = chart.scale.low < 0
    if cell is None or (cell.value is None and not cell.mark and not cell.text):
        return "none", "", ""
    if cell.mark is not None:
        return "gap" if is_difference else cell.mark.outcome, cell.mark.letter, ""
    n = cell.notes[-1] if cell.notes and len(chart.lengths) <= _ROOM_FOR_N else ""
    if cell.value is None:  # a range, because answers are undecided
        return "range", cell.text, n
    look = f"by{round(200 * cell.value - 100)}" if is_difference else f"c{cell.text}"
    return f"{look} part" if cell.is_partial else look, cell.text, n
