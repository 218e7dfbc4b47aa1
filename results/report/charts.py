"""The charts of runs, comparisons and leaderboards, from their statistics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from needlework.core.grid import depth_label
from needlework.core.labels import OWN_DOCUMENTS
from needlework.results.records.samples import grouped, task_of
from needlework.results.report.chart import (
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
from needlework.results.report.panels import headline, scored_of
from needlework.results.statistics.comparison.comparison import GroupDifference, TaskDifference
from needlework.results.statistics.documents import FOCUSED, ArmAtPlace, DocumentScores
from needlework.results.statistics.leaderboard.boards import BoardSeries, has_misses
from needlework.results.statistics.panels import Panel, Share, Tally
from needlework.results.statistics.run_report import RunReport
from needlework.results.statistics.suites.ruler import RulerTable
from needlework.results.statistics.summary_sentence import place_sentence, size_sentence, task_clauses
from needlework.results.statistics.tasks import Macro, TaskScore
from needlework.results.statistics.wording import points, range_words
from needlework.results.style import (
    COLORS,
    DIFFERENCES,
    MARKS,
    ColorsName,
    length_labels,
    mark_of,
    one_line,
    percent,
    percent1,
)

ARMS = {"whole": "all documents", FOCUSED: "answer document alone", "bm25": "BM25 search", "dense": "embedding search"}
_LENGTH = "context length (tokens)"
_NO_PAIR = replace(MARKS[1], letter="–", legend="no pair: not scored in both runs")
_MOST_PICTURES = 6  # of several models on one task


class ScoreLine(Protocol):
    """A run or a model: all of its trials, and those of each length (tokens)."""

    @property
    def name(self) -> str: ...
    @property
    def scores(self) -> Tally: ...
    @property
    def lengths(self) -> Mapping[int, Tally]: ...


def panel_heatmap(
    panel: Panel, *, title: str = "", colors: ColorsName = "viridis", numbers: bool = False, source: str = ""
) -> Heatmap:
    """The heatmap of one panel. `title`: else its name; `source`: tells panels of one name apart."""
    cells = [[panel.cells.get((length, depth)) for length in panel.lengths] for depth in panel.depths]
    about = f", about ±{100 * panel.length_error:.1f} %" if panel.length_error else ""
    what = "length of the context alone" if panel.context_alone else "context length"
    return Heatmap(
        name=chart_name("heatmap", panel.task, panel.needle, panel.model, source),
        title=one_line(title or panel.name),
        subtitle=one_line(headline(panel)),
        lengths=length_labels(panel.lengths),
        depths=tuple(depth_label(depth) for depth in panel.depths),
        rows=tuple(tuple(None if cell is None else tally_cell(cell) for cell in row) for row in cells),
        summaries=(("mean", tuple(map(_mean_cell, panel.columns))),),
        scale=ColorScale(COLORS[colors], label="score (%)"),
        across=f"{what} (tokens{about})",
        numbers=numbers,
    )


def tally_cell(cell: Tally) -> HeatmapCell:
    """A score with its interval and n, or the mark of why there is none."""
    if cell.mean is None:
        return HeatmapCell(mark=mark_of(cell.n, cell.counts))
    ends = f"{percent(cell.interval.low)}–{percent(cell.interval.high)}" if cell.interval else "one sample"
    notes = (ends, f"n={scored_of(cell)}") if cell.trials > 1 else ()
    return HeatmapCell(cell.mean, percent(cell.mean), notes, is_partial=bool(cell.unscored))


def _mean_cell(column: Tally) -> HeatmapCell:
    """A range, which has no colour, where answers are undecided."""
    if column.range is None:
        return tally_cell(column)
    scored = "none scored" if column.mean is None else f"scored {percent(column.mean)}"
    return HeatmapCell(text=range_words(column.range, whole=True), notes=(scored, f"n={scored_of(column)}"))


def telling_panels(panels: Sequence[Panel]) -> list[Panel]:
    """The panels whose heatmap shows something: more than one box, and no single row or column of equal values.

    Questions on documents have charts of their own; their heatmaps are drawn where two lengths have several depths.
    """
    return [panel for panel in panels if _is_telling(panel)]


def _is_telling(panel: Panel) -> bool:
    is_line = len(panel.lengths) == 1 or len(panel.depths) == 1
    if is_line and task_of(panel.task) in OWN_DOCUMENTS:
        return False
    values = {(cell.mean, cell.n > 0, tuple(cell.unscored)) for cell in panel.cells.values()}
    return len(panel.cells) > 1 and not (is_line and len(values) == 1)


def heatmap_title(panel: Panel) -> str:
    """`smollm2 scores 84.0 % on niah · code`."""
    overall = panel.overall
    if panel.uneven:
        verb = "was asked"
    elif overall.range is not None and overall.n:
        verb = f"scores {range_words(overall.range)} % on"
    else:
        verb = "has no score on" if overall.mean is None else f"scores {percent1(overall.mean)} % on"
    return " · ".join(filter(None, (f"{panel.model} {verb} {panel.task}", panel.needle)))


def difference_heatmap(task: TaskDifference, name: Sequence[str], title: str, subtitle: str) -> Heatmap:
    """B - A of one task; ends of the scale are fixed, so that pictures can be laid side by side."""
    model, about, needle = task.family
    return Heatmap(
        name=chart_name("difference", *name, about, needle, model),
        title=one_line(title),
        subtitle=one_line(subtitle),
        lengths=length_labels(list(task.columns)),
        depths=tuple(map(depth_label, task.rows)),
        rows=tuple(tuple(None if cell is None else _difference_cell(cell) for cell in row) for row in task.table),
        summaries=(("mean", tuple(map(_difference_cell, task.columns.values()))),),
        scale=ColorScale(DIFFERENCES, -100, 100, "B - A (points)"),
    )


def _difference_cell(group: GroupDifference) -> HeatmapCell:
    trials = group.n + group.unscored
    if group.difference is None:
        return HeatmapCell(mark=_NO_PAIR)
    mean, low, high = group.difference.mean, group.difference.low, group.difference.high
    ends = "" if low is None or high is None else f"{points(low)}..{points(high)}"
    notes = (ends, f"n={group.n}" if not group.unscored else f"n={group.n}/{trials}") if trials > 1 else ()
    return HeatmapCell((mean + 1) / 2, points(mean), notes, is_partial=bool(group.unscored))


def score_lines(
    lines: Sequence[ScoreLine], name: str, title: str, subtitle: str = "", task: tuple[str, str] | None = None
) -> list[LineChart]:
    """Score over length, a line for each run or model; no chart where no length has a score. `task`: task and needle
    of the panels, for links to their trials.
    """
    lengths = sorted({length for each in lines for length in each.lengths if each.scores.trials})
    labels = dict(zip(lengths, length_labels(lengths), strict=True))
    drawn = [
        ChartLine(
            one_line(each.name),
            tuple(
                tally_point(
                    length, labels[length], scores, PanelCell(each.name, *task, length, "mean") if task else None
                )
                for length, scores in each.lengths.items()
            ),
        )
        for each in lines
        if each.scores.trials
    ]
    if not any(point.score is not None for line in drawn for point in line.points):
        return []
    return [LineChart(name, one_line(title), _LENGTH, tuple(drawn), one_line(subtitle))]


def tally_point(x: float, label: str, scores: Tally, cell: PanelCell | None = None) -> ChartPoint:
    """The point of a tally."""
    ends = scores.interval
    low, high = (100 * ends.low, 100 * ends.high) if ends else (None, None)
    mean = None if scores.mean is None else 100 * scores.mean
    return ChartPoint(x, label, mean, low, high, scores.n, cell)


def share_point(x: float, label: str, share: Share | ArmAtPlace, n: int, cell: PanelCell | None = None) -> ChartPoint:
    """The point of a share with its interval."""
    score = share.score if isinstance(share, ArmAtPlace) else share
    ends = [None if each is None else 100 * each for each in (score.value, score.low, score.high)]
    return ChartPoint(x, label, ends[0], ends[1], ends[2], n, cell)


class _PanelLine:
    """A panel as a line over its lengths."""

    def __init__(self, panel: Panel) -> None:
        self.name, self.scores = panel.model, panel.overall
        self.lengths = dict(zip(panel.lengths, panel.columns, strict=True))


def model_charts(panels: Sequence[Panel]) -> list[LineChart]:
    """A chart for each needle that several models were asked at several lengths; none of a run of several tasks."""
    several = {
        at: panels
        for at, panels in grouped(panels, lambda panel: (panel.task, panel.needle)).items()
        if len(panels) > 1
        and not any(each.uneven for each in panels)
        and len({length for each in panels for length in each.lengths}) > 1
    }
    if len(several) > _MOST_PICTURES or len({panel.task for panel in panels}) > 1:
        return []
    charts = []
    for (task, needle), each in several.items():
        about = " · ".join(filter(None, (task, needle)))
        title = f"{len(each)} models on {about}, by length of the context"
        charts += score_lines(
            list(map(_PanelLine, each)), chart_name("models", task, needle), title, task=(task, needle)
        )
    return charts


def panel_charts(panels: Sequence[Panel]) -> list[LineChart]:
    """Score over length and over depth, a line for each panel; no chart where a single point is on every line."""
    several = len({panel.model for panel in panels}) > 1
    by_length, by_depth = [], []
    labels = dict.fromkeys((length for panel in panels for length in panel.lengths), "")
    labels = dict(zip(labels, length_labels(list(labels)), strict=True))
    for panel in panels:
        name = one_line(" · ".join(filter(None, (panel.model if several else "", panel.task, panel.needle))))
        key = (panel.model, panel.task, panel.needle)
        columns = zip(panel.lengths, panel.columns, strict=True)
        points = [tally_point(at, labels[at], each, PanelCell(*key, at, "mean")) for at, each in columns]
        by_length.append(ChartLine(name, tuple(points)))
        rows = zip(panel.depths, panel.rows, strict=True)
        length = panel.lengths[0]
        cells = {depth: PanelCell(*key, length, depth) if len(panel.lengths) == 1 else None for depth in panel.depths}
        points = [tally_point(at, depth_label(at), each, cells[at]) for at, each in rows if at is not None]
        by_depth.append(ChartLine(name, tuple(points)))
    charts = (
        LineChart("length", "Score by length of the context", _LENGTH, tuple(by_length)),
        LineChart(
            "depth",
            "Score by where in the text the answer stands",
            "text before the answer (percent)",
            tuple(by_depth),
            ends=(0.0, 100.0),
        ),
    )
    return [chart for chart in charts if len({point.x for line in chart.lines for point in line.points}) > 1]


def ruler_charts(tables: Sequence[RulerTable]) -> list[LineChart]:
    """RULER's mean over length, a line for each model; none where fewer than two lengths have a mean."""
    lengths = sorted({each.length for table in tables for each in table.lengths if each.mean is not None})
    if len(lengths) < 2:
        return []
    labels = dict(zip(lengths, length_labels(lengths), strict=True))
    lines = tuple(
        ChartLine(
            one_line(f"{table.model} · {table.language}"),
            tuple(
                share_point(each.length, labels[each.length], Share(each.mean, each.low, each.high), each.n)
                for each in table.lengths
                if each.mean is not None
            ),
        )
        for table in tables
    )
    return [LineChart("ruler", "RULER: mean of the tasks by length of the context", _LENGTH, lines)]


def document_charts(found: DocumentScores) -> list[LineChart]:
    """What the size of the documents costs, and where in them answers get lost; no chart of a single place."""
    about, size = f"{found.model} on your documents", "size of the documents (tokens)"
    charts = []
    if _several_places(found.by_size):
        lines, told = _arm_lines(found, found.by_size, "doc_size"), f"{about}, {size_depth_words(found)}"
        charts.append(LineChart(chart_name("documents-size", found.model), size_sentence(found), size, lines, told))
    lengths = sorted({point.length for point in found.by_depth if point.arm != FOCUSED})
    for length, label in zip(lengths, length_labels(lengths), strict=True):
        points = [point for point in found.by_depth if point.length == length and point.depth is not None]
        name = chart_name("documents-position", label if len(lengths) > 1 else "", found.model)
        if _several_places(points):
            charts.append(
                LineChart(
                    name,
                    place_sentence(found, length if len(lengths) == 1 else None),
                    "text before the answer's document (percent)",
                    _arm_lines(found, points, "doc_position"),
                    f"{about}, {label} tokens",
                    ends=(0.0, 100.0),
                )
            )
    return charts


def size_depth_words(found: DocumentScores) -> str:
    """Where the answer document stood when sizes were asked: `answer document at depth 50 %`."""
    if found.size_spread:
        first, last = depth_label(found.size_depths[0]), depth_label(found.size_depths[-1])
        return f"answer document at depths spread over {first}–{last} %"
    depths = ", ".join(f"{depth:g}" for depth in found.size_depths) or "none"
    return f"answer document at depth{'s' if len(found.size_depths) > 1 else ''} {depths} %"


def _several_places(points: Sequence[ArmAtPlace]) -> bool:
    return len({(point.arm == FOCUSED, point.length, point.depth) for point in points if point.score.n}) > 1


def _arm_lines(found: DocumentScores, points: Sequence[ArmAtPlace], task: str) -> tuple[ChartLine, ...]:
    """A line for each way to give the documents; the answer's document alone is a single point."""
    needles = {"whole": "questions", "bm25": "questions_bm25", "dense": "questions_dense"}
    lines = []
    for arm in sorted(dict.fromkeys(point.arm for point in points), key=lambda arm: arm == FOCUSED):
        drawn = []
        for point in points:
            if point.arm != arm or point.score.value is None:
                continue
            size = round(point.tokens or 0) if arm == FOCUSED else point.length
            x, label = (
                (size, length_labels([size])[0]) if point.depth is None else (point.depth, depth_label(point.depth))
            )
            depth = "mean" if point.depth is None else point.depth
            cell = PanelCell(found.model, task, needles[arm], point.length, depth) if arm in needles else None
            drawn.append(share_point(x, label, point, point.score.n, cell))
        if drawn:
            lines.append(ChartLine(ARMS.get(arm, arm), tuple(drawn), is_joined=arm != FOCUSED))
    return tuple(lines)


def bar_rows(reports: Sequence[tuple[str, RunReport]]) -> tuple[BarRow, ...]:
    """The rows of runs, each with what is to be added to its models' names: averages first, then all tasks.

    Where L-Eval was asked at several lengths, or with retrievers, its averages say which.
    """
    averages: dict[str, list[ChartBar]] = {}
    tasks: dict[str, list[ChartBar]] = {}
    kinds = {(each.length, each.retriever) for _, report in reports for each in report.leval}
    for added, report in reports:
        for macro in report.macros:
            n = sum(row.overall.n for row in report.tasks if row.model == macro.model)
            averages.setdefault("mean over families", []).append(_share_bar(macro.model, added, macro.score, n))
        for found in report.leval:
            arm = " · ".join(filter(None, (length_labels([found.length])[0], found.retriever)))
            for each in found.averages:
                part = f", {len(each.tasks)} of {each.of} tasks" if len(each.tasks) < each.of else ""
                name = f"{each.name}{part}" + (f" ({arm})" if len(kinds) > 1 else "")
                averages.setdefault(name, []).append(_share_bar(found.model, added, each.score, each.n))
        for row in report.tasks:
            tasks.setdefault(row.task, []).append(_task_bar(row, added))
    return (
        *(BarRow(name, tuple(bars), is_average=True) for name, bars in averages.items()),
        *(BarRow(one_line(name), tuple(bars)) for name, bars in tasks.items()),
    )


def bar_models(reports: Sequence[tuple[str, RunReport]]) -> tuple[str, ...]:
    """The models of runs as `bar_rows` names them, in the order of the runs."""
    return tuple(dict.fromkeys(_bar_name(model, added) for added, report in reports for model in report.models))


def task_charts(rows: Sequence[TaskScore], found: Sequence[Macro]) -> list[BarChart]:
    """The chart of a run with two tasks or more."""
    models = tuple(dict.fromkeys(one_line(row.model) for row in rows))
    tasks = dict.fromkeys(row.task for row in rows)
    if len(tasks) < 2:
        return []
    bars = tuple(BarRow(one_line(task), tuple(_task_bar(row) for row in rows if row.task == task)) for task in tasks)
    if len(models) > 1:
        return [BarChart("tasks", f"{len(models)} models beside each other, task by task", bars, models)]
    macro = next((each for each in found if each.model == rows[0].model), None)
    first, *more = task_clauses(rows, macro) or ["has no score"]
    return [BarChart(chart_name("tasks", rows[0].model), f"{models[0]} {first}", bars, models, "; ".join(more))]


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
    text = "no score" if share.value is None else f"{percent(share.value)} %"
    return ChartBar(_bar_name(model, added), value, low, high, n, text)


def _bar_name(model: str, added: str) -> str:
    return one_line(" · ".join(filter(None, (model, added))))


def history_chart(series: BoardSeries, name: str, title: str, subtitle: str) -> LineChart:
    """The scores of run after run, and the changes that are shown."""
    names = [one_line(each) for each in series.names]
    points = list(enumerate(series.points))
    scores = [tally_point(at, names[at], each.entry.overall) for at, each in points]
    counted = [
        ChartPoint(at, names[at], 100 * each.entry.counted, None, None, each.entry.overall.trials)
        for at, each in points
        if has_misses(each.entry)
    ]
    lines = [ChartLine("score", tuple(scores))]
    lines += [ChartLine("misses counted", tuple(counted), is_joined=False)] if counted else []
    notes = [one_line(subtitle), *(["shaded: changes, all 95 % sure"] if series.changes else [])]
    return LineChart(
        name,
        one_line(title),
        "run",
        tuple(lines),
        "; ".join(notes),
        ends=(-0.3, len(points) - 0.7),
        spans=tuple(ChartSpan(each.first, each.last, each.is_fall) for each in series.changes),
    )
