"""The charts of runs, comparisons and leaderboards, from their statistics."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from needlework.core.grid import depth_label
from needlework.core.record import OWN_DOCUMENTS
from needlework.results import style
from needlework.results.records.samples import grouped, task_of
from needlework.results.report.panels import headline, scored_of
from needlework.results.report.section import (
    BarChart,
    BarRow,
    ChartBar,
    ChartLine,
    ChartPoint,
    ChartSpan,
    ColorScale,
    Heatmap,
    HeatmapCell,
    LineChart,
    PanelCell,
    chart_name,
)
from needlework.results.statistics.comparison.comparison import GroupDifference, TaskDifference
from needlework.results.statistics.depth_tables import depth_range_words
from needlework.results.statistics.documents import FOCUSED, ArmAtPlace, DocumentScores
from needlework.results.statistics.leaderboard import BoardSeries
from needlework.results.statistics.panels import Panel, PanelKey, Share, Tally
from needlework.results.statistics.run_report import RunReport
from needlework.results.statistics.suites.published import RulerTable
from needlework.results.statistics.tasks import TaskScore
from needlework.results.statistics.wording import points, range_words

ARMS = {"whole": "all documents", FOCUSED: "answer document alone", "bm25": "BM25 search", "dense": "embedding search"}
_LENGTH = "context length (tokens)"
_DOCUMENT_DEPTH = "text before the answer's document (percent)"
_NO_PAIR = replace(style.MARKS[1], letter="–", legend="no pair: not scored in both runs")
_MOST_PICTURES = 6  # of several models on one task


def panel_heatmap(
    panel: Panel, *, title: str = "", colors: style.ColorsName = "viridis", numbers: bool = False, source: str = ""
) -> Heatmap:
    """The heatmap of one panel. `title`: else its name; `source`: tells panels of one name apart."""
    cells = [[panel.cells.get((length, depth)) for length in panel.lengths] for depth in panel.depths]
    return Heatmap(
        name=chart_name("heatmap", panel.task, panel.needle, panel.model, source),
        title=style.one_line(title or panel.name),
        subtitle=style.one_line(headline(panel)),
        lengths=style.length_labels(panel.lengths),
        depths=tuple(depth_label(depth) for depth in panel.depths),
        rows=tuple(tuple(None if cell is None else tally_cell(cell) for cell in row) for row in cells),
        summaries=(("mean", tuple(map(_mean_cell, panel.columns))),),
        scale=ColorScale(style.COLORS[colors], label="score (%)"),
        numbers=numbers,
    )


def tally_cell(cell: Tally) -> HeatmapCell:
    """A score with its interval and n, or the mark of why there is none."""
    if cell.mean is None:
        return HeatmapCell(mark=style.mark_of(cell.n, cell.counts))
    ends = f"{style.percent(cell.interval.low)}–{style.percent(cell.interval.high)}" if cell.interval else "one sample"
    notes = (ends, f"n={scored_of(cell)}") if cell.trials > 1 else ()
    return HeatmapCell(cell.mean, style.percent(cell.mean), notes, is_partial=bool(cell.unscored))


def _mean_cell(column: Tally) -> HeatmapCell:
    """A range, which has no colour, where answers are undecided."""
    if column.range is None:
        return tally_cell(column)
    scored = "none scored" if column.mean is None else f"scored {style.percent(column.mean)}"
    return HeatmapCell(text=range_words(column.range, whole=True), notes=(scored, f"n={scored_of(column)}"))


def drawn_panels(panels: Sequence[Panel]) -> list[Panel]:
    """The panels whose heatmap has more than one cell; of own documents, which have charts, more than one line."""
    return [
        panel
        for panel in panels
        if len(panel.cells) > 1
        and (task_of(panel.task) not in OWN_DOCUMENTS or min(len(panel.lengths), len(panel.depths)) > 1)
    ]


def difference_heatmap(task: TaskDifference, name: Sequence[str], title: str, subtitle: str) -> Heatmap:
    """B - A of one task; ends of the scale are fixed, so that pictures can be laid side by side."""
    model, about, needle = task.family
    return Heatmap(
        name=chart_name("difference", *name, about, needle, model),
        title=style.one_line(title),
        subtitle=style.one_line(subtitle),
        lengths=style.length_labels(list(task.columns)),
        depths=tuple(map(depth_label, task.rows)),
        rows=tuple(tuple(None if cell is None else _difference_cell(cell) for cell in row) for row in task.table),
        summaries=(("mean", tuple(map(_difference_cell, task.columns.values()))),),
        scale=ColorScale(style.DIFFERENCES, -100, 100, "B - A (points)"),
    )


def _difference_cell(group: GroupDifference) -> HeatmapCell:
    trials = group.n + group.unscored
    if group.difference is None:
        return HeatmapCell(mark=_NO_PAIR)
    mean, low, high = group.difference.mean, group.difference.low, group.difference.high
    ends = "" if low is None or high is None else f"{points(low)}..{points(high)}"
    notes = (ends, f"n={group.n}" if not group.unscored else f"n={group.n}/{trials}") if trials > 1 else ()
    return HeatmapCell((mean + 1) / 2, points(mean), notes, is_partial=bool(group.unscored))


def score_lines(lines: Mapping[str, Mapping[int, Tally]], name: str, title: str, subtitle: str = "") -> list[LineChart]:
    """Return score over length, a line for each run or model; no chart where no length has a score."""
    drawn = tuple(_length_line(line, lengths) for line, lengths in lines.items() if lengths)
    if not any(point.score is not None for line in drawn for point in line.points):
        return []
    return [LineChart(name, style.one_line(title), _LENGTH, drawn, style.one_line(subtitle))]


def _length_line(name: str, tallies: Mapping[int, Tally], panel: PanelKey | None = None) -> ChartLine:
    """A line over lengths; its points lead to the trials of a panel, if there is one."""
    points = []
    for length, tally in tallies.items():
        cell = PanelCell(*panel, length, "mean") if panel else None
        points.append(share_point(length, style.length_label(length), tally.share, tally.n, cell))
    return ChartLine(style.one_line(name), tuple(points))


def _panel_line(panel: Panel, name: str) -> ChartLine:
    return _length_line(name, dict(zip(panel.lengths, panel.columns, strict=True)), panel.key)


def share_point(x: float, label: str, share: Share, n: int, cell: PanelCell | None = None) -> ChartPoint:
    """Return the point of a share with its interval."""
    score, low, high = (None if end is None else 100 * end for end in (share.value, share.low, share.high))
    return ChartPoint(x, label, score, low, high, n, cell)


def model_charts(panels: Sequence[Panel]) -> list[LineChart]:
    """Return a chart for each needle of several models at several lengths; none for several tasks."""
    groups = {
        at: group
        for at, group in grouped(panels, lambda panel: (panel.task, panel.needle)).items()
        if len(group) > 1
        and not any(panel.uneven for panel in group)
        and len({length for panel in group for length in panel.lengths}) > 1
    }
    if len(groups) > _MOST_PICTURES or len({panel.task for panel in panels}) > 1:
        return []
    charts = []
    for (task, needle), group in groups.items():
        about = " · ".join(filter(None, (task, needle)))
        title = style.one_line(f"{len(group)} models on {about}, by length of the context")
        lines = tuple(_panel_line(panel, panel.model) for panel in group)
        charts.append(LineChart(chart_name("models", task, needle), title, _LENGTH, lines))
    return charts


def panel_charts(panels: Sequence[Panel]) -> list[LineChart]:
    """Return score over length and over depth, a line for each panel; none where all are points."""
    several = len({panel.model for panel in panels}) > 1
    by_length, by_depth = [], []
    for panel in panels:
        name = style.one_line(" · ".join(filter(None, (panel.model if several else "", panel.task, panel.needle))))
        by_length.append(_panel_line(panel, name))
        points = []
        for depth, row in zip(panel.depths, panel.rows, strict=True):
            if depth is not None:
                cell = PanelCell(*panel.key, panel.lengths[0], depth)
                linked = cell if len(panel.lengths) == 1 else None
                points.append(share_point(depth, depth_label(depth), row.share, row.n, linked))
        by_depth.append(ChartLine(name, tuple(points)))
    title, across = "Score by where in the text the answer stands", "text before the answer (percent)"
    charts = (
        LineChart("length", "Score by length of the context", _LENGTH, tuple(by_length)),
        LineChart("depth", title, across, tuple(by_depth), ends=(0.0, 100.0)),
    )
    return [chart for chart in charts if len({point.x for line in chart.lines for point in line.points}) > 1]


def ruler_charts(tables: Sequence[RulerTable]) -> list[LineChart]:
    """RULER's mean over length, a line for each model; none where fewer than two lengths have a mean."""
    lines = []
    for table in tables:
        points = (
            share_point(row.length, style.length_label(row.length), Share(row.mean, row.low, row.high), row.n)
            for row in table.lengths
            if row.mean is not None
        )
        lines.append(ChartLine(style.one_line(f"{table.model} · {table.language}"), tuple(points)))
    if len({point.x for line in lines for point in line.points}) < 2:
        return []
    return [LineChart("ruler", "RULER: mean of the tasks by length of the context", _LENGTH, tuple(lines))]


def document_charts(scores: DocumentScores) -> list[LineChart]:
    """Score by size of the documents, and by the answer's position; no chart of a single place."""
    about, size = f"{scores.model} on your documents", "size of the documents (tokens)"
    charts = []
    if _several_places(scores.by_size):
        lines, subtitle = _arm_lines(scores, scores.by_size, "doc_size"), f"{about}, {size_depth_words(scores)}"
        name, title = chart_name("documents-size", scores.model), "Score by size of the documents"
        charts.append(LineChart(name, title, size, lines, subtitle))
    lengths = sorted({point.length for point in scores.by_depth if point.arm != FOCUSED})
    for length in lengths:
        label = style.length_label(length)
        points = [point for point in scores.by_depth if point.length == length and point.depth is not None]
        name = chart_name("documents-position", label if len(lengths) > 1 else "", scores.model)
        if _several_places(points):
            title, subtitle = "Score by place of the answer's document", f"{about}, {label} tokens"
            lines = _arm_lines(scores, points, "doc_position")
            charts.append(LineChart(name, title, _DOCUMENT_DEPTH, lines, subtitle, ends=(0.0, 100.0)))
    return charts


def size_depth_words(scores: DocumentScores) -> str:
    """The answer document's depths when sizes were asked: `answer document at 0..100 %`."""
    depths = scores.size_depths
    return f"answer document at {depth_range_words((depths[0], depths[-1])) if depths else 'no depth'}"


def _several_places(points: Sequence[ArmAtPlace]) -> bool:
    return len({(point.arm == FOCUSED, point.length, point.depth) for point in points if point.score.n}) > 1


def _arm_lines(scores: DocumentScores, points: Sequence[ArmAtPlace], task: str) -> tuple[ChartLine, ...]:
    """A line for each way to give the documents; the answer's document alone is a single point."""
    needles = {"whole": "questions", "bm25": "questions_bm25", "dense": "questions_dense"}
    lines = []
    for arm in sorted(dict.fromkeys(point.arm for point in points), key=lambda arm: arm == FOCUSED):
        drawn = []
        for point in points:
            if point.arm != arm or point.score.value is None:
                continue
            size = round(point.tokens or 0) if arm == FOCUSED else point.length
            x, label, depth = (
                (size, style.length_label(size), "mean")
                if point.depth is None
                else (point.depth, depth_label(point.depth), point.depth)
            )
            cell = PanelCell(scores.model, task, needles[arm], point.length, depth) if arm in needles else None
            drawn.append(share_point(x, label, point.score, point.score.n, cell))
        if drawn:
            lines.append(ChartLine(ARMS.get(arm, arm), tuple(drawn), is_joined=arm != FOCUSED))
    return tuple(lines)


def bar_chart(reports: Sequence[tuple[str, RunReport]], title: str) -> BarChart:
    """Return the scores of runs, each with an addition to its models' names: averages, then tasks."""
    averages: dict[str, list[ChartBar]] = {}
    tasks: dict[str, list[ChartBar]] = {}
    for added, report in reports:
        for macro in report.macros:
            n = sum(row.overall.n for row in report.tasks if row.model == macro.model)
            averages.setdefault("mean over families", []).append(_share_bar(macro.model, added, macro.score, n))
        for summary in report.leval:
            arm = " · ".join(filter(None, (style.length_label(summary.length), summary.retriever)))
            for average in summary.averages:
                name = f"{average.name}, {len(average.tasks)} of {average.of} tasks ({arm})"
                bar = _share_bar(summary.model, added, average.score, average.n)
                averages.setdefault(name, []).append(bar)
        for row in report.tasks:
            tasks.setdefault(row.task, []).append(_task_bar(row, added))
    rows = [BarRow(style.one_line(name), tuple(bars)) for name, bars in (averages | tasks).items()]
    models = dict.fromkeys(_bar_name(model, added) for added, report in reports for model in report.models)
    return BarChart("bars", title, tuple(rows), tuple(models))


def task_charts(rows: Sequence[TaskScore]) -> list[BarChart]:
    """The chart of a run with two tasks or more."""
    models = tuple(dict.fromkeys(style.one_line(row.model) for row in rows))
    tasks = dict.fromkeys(row.task for row in rows)
    if len(tasks) < 2:
        return []
    bars = tuple(
        BarRow(style.one_line(task), tuple(_task_bar(row) for row in rows if row.task == task)) for task in tasks
    )
    name = chart_name("tasks", rows[0].model if len(models) == 1 else "")
    return [BarChart(name, f"{', '.join(models)}: score by task", bars, models)]


def _task_bar(row: TaskScore, added: str = "") -> ChartBar:
    limits = row.overall.range
    bar = _share_bar(row.model, added, row.overall.share, row.overall.n)
    return replace(
        bar,
        text=bar.text if limits is None else f"{range_words(limits, whole=True)} %",
        limits=limits and (100 * limits[0], 100 * limits[1]),
        focused=None if row.focused.mean is None else 100 * row.focused.mean,
        chance=None if not row.chance else 100 * row.chance,
    )


def _share_bar(model: str, added: str, share: Share, n: int) -> ChartBar:
    low, high = (None if end is None else 100 * min(1.0, max(0.0, end)) for end in (share.low, share.high))
    value = None if share.value is None else 100 * share.value
    text = "no score" if share.value is None else f"{style.percent(share.value)} %"
    return ChartBar(_bar_name(model, added), value, low, high, n, text)


def _bar_name(model: str, added: str) -> str:
    return style.one_line(" · ".join(filter(None, (model, added))))


def history_chart(series: BoardSeries, name: str, title: str, subtitle: str) -> LineChart:
    """Return the scores of run after run, and the changes that are shown."""
    scores, counted = [], []
    for at, (entry, label) in enumerate(zip(series.entries, map(style.one_line, series.names), strict=True)):
        scores.append(share_point(at, label, entry.overall.share, entry.overall.n))
        if entry.has_misses:
            counted.append(ChartPoint(at, label, 100 * entry.counted, None, None, entry.overall.trials))
    lines = [ChartLine("score", tuple(scores))]
    lines += [ChartLine("misses counted", tuple(counted), is_joined=False)] if counted else []
    notes = [style.one_line(subtitle), *(["shaded: changes, all 95 % sure"] if series.changes else [])]
    spans = tuple(ChartSpan(change.first, change.last, change.is_fall) for change in series.changes)
    ends = (-0.3, len(scores) - 0.7)
    return LineChart(name, style.one_line(title), "run", tuple(lines), "; ".join(notes), ends, spans)
