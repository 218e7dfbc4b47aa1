"""Panels as the template writes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter

from needlework.haystack_fixtures.grid.cells import depth_label
from needlework.results.adaptive.statement import Statement
from needlework.results.html.budget import Entry
from needlework.results.html.grid import CellView, GridView, grid_view
from needlework.results.html.texts import on_one_line, percent_number
from needlework.results.html.titles import asked_title, panel_title, task_title
from needlework.results.records.record import NOTHING_SAID, UNSCORED
from needlework.results.statistics.asked import Asked
from needlework.results.statistics.panels import Panel, Tally
from needlework.results.statistics.summary_rows import PanelStatistics
from needlework.results.style.palette import MARKS, Mark, mark_of
from needlework.results.style.text import length_labels, percent
from needlework.results.tables.adaptive import answer, bar_words
from needlework.results.tables.headline import UNEVEN, range_notes, range_words, score_and_interval, scored_of
from needlework.results.tables.panels import StatisticRow, panel_rows

NO_SCORE = "–"


@dataclass(frozen=True, slots=True)
class RateView:
    """A rate in words, and its numbers in percent for the interval bar. `counts`: trials without a score, by outcome.
    `ranged`: what a score is made of that is a range, because answers are undecided;
    `nothing`: answers that said nothing, by outcome."""

    label: str
    score: str
    interval: str
    n: int
    counts: tuple[tuple[str, int], ...]
    bar: tuple[float, float, float] | None
    ranged: tuple[str, ...] = ()
    nothing: tuple[tuple[str, int], ...] = ()

    def row(self, lost: Sequence[str]) -> tuple[str | int, ...]:
        """As a row of a table that has a column for each outcome of `lost`."""
        counts = (count for name, count in self.counts if name in lost)
        return (self.label, self.score, self.interval, self.n, *counts)


@dataclass(frozen=True, slots=True)
class LengthView:
    """The effective length for the headline: the answer, and the interval and the bar that it rests on. `sure`: what
    stands there in place of an interval, where the answer is one. `telling`: enough samples to mean something."""

    answer: str
    interval: str
    bar: str
    sure: str = ""
    telling: bool = True


@dataclass(frozen=True, slots=True)
class PanelView:
    """One panel's section. `partly`, `blank`: whether a cell has trials without a score beside its score; never ran.
    `about`: `, about ±1.2 %` where lengths are approximate, and where they are of the context alone. `lost`: the
    outcomes without a score that occur, of which the rows of `by_length` and `by_depth` have a count each."""

    title: str
    model: str
    task: str
    needle: str
    overall: RateView
    effective: LengthView | None
    grid: GridView
    marks: tuple[Mark, ...]
    partly: bool
    blank: bool
    about: str
    lost: list[str]
    by_length: tuple[tuple[str | int, ...], ...]
    by_depth: tuple[tuple[str | int, ...], ...]
    statistics: tuple[StatisticRow, ...]


def panel_views(
    panels: Sequence[Panel], statistics: Sequence[PanelStatistics], adaptive: Sequence[Statement] = ()
) -> list[PanelView]:
    """Return what the template needs of each panel; its statistics, where there are any, are found by its names, and so
    is what an adaptive run says of its length."""
    found = {(each.model, each.task, each.needle): each for each in statistics}
    walked = {(each.model, each.task, each.needle): each for each in reversed(adaptive)}
    models = len({panel.model for panel in panels})
    return [_panel_view(panel, found, walked.get((panel.model, panel.task, panel.needle)), models) for panel in panels]


def entries(asked: Iterable[Asked], panels: Sequence[Panel]) -> list[Entry]:
    """Return the trials in reading order: panel, depth, length, repeat. What was not simply found tells more."""
    numbers = {(panel.model, panel.task, panel.needle): i for i, panel in enumerate(panels)}
    columns = [{length: i for i, length in enumerate(panel.lengths)} for panel in panels]
    rows = [{depth: i for i, depth in enumerate(panel.depths)} for panel in panels]
    found = []
    for record, trial, _, _ in asked:
        panel = numbers[trial.model, trial.task, trial.needle]
        row, column = rows[panel][trial.depth], columns[panel][trial.length]
        order = (panel, row, column, record["repeat"], str(record.get("key", "")))
        found.append((order, Entry((record,), panel, column, row, int(trial.outcome == "found"))))
    return [entry for _, entry in sorted(found, key=itemgetter(0))]


def _cells(panel: Panel) -> list[list[Tally | None]]:
    return [[panel.cells.get((length, depth)) for length in panel.lengths] for depth in panel.depths]


def _panel_view(
    panel: Panel, statistics: Mapping[tuple[str, str, str], PanelStatistics], walked: Statement | None, models: int
) -> PanelView:
    lost: list[str] = [name for name in UNSCORED if panel.overall.counts[name]]
    used = {mark.outcome for cell in panel.cells.values() if (mark := mark_of(cell.n, cell.counts))}
    found = statistics.get((panel.model, panel.task, panel.needle))
    columns = zip(length_labels(panel.lengths), panel.columns, strict=True)
    rows = zip(map(depth_label, panel.depths), panel.rows, strict=True)
    return PanelView(
        title=panel_title(panel, models),
        model=on_one_line(panel.model),
        task=task_title(panel.task),
        needle=asked_title(panel),
        overall=_uneven(panel.overall) if panel.uneven else _rate("", panel.overall),
        effective=_walked(walked) if walked is not None else None if found is None else _effective(found),
        grid=grid_view(panel.lengths, panel.depths, panel.columns, _cells(panel), _cell, mean=_mean),
        marks=tuple(mark for mark in MARKS if mark.outcome in used),
        partly=panel.partly,
        blank=panel.blank,
        about=(f", about ±{100 * panel.length_error:.1f} %" if panel.length_error else "")
        + (", without template, question and answer" if panel.context_alone else ""),
        lost=lost,
        by_length=tuple(_rate(label, column).row(lost) for label, column in columns),
        by_depth=tuple(_rate(label, row).row(lost) for label, row in rows),
        statistics=() if found is None else tuple(panel_rows(found)),
    )


def _walked(found: Statement) -> LengthView:
    return LengthView(answer(found), "", bar_words(found), f"95 % sure, {found.trials:,} trials")


def _effective(found: PanelStatistics) -> LengthView | None:
    rule = found.absolute or found.relative
    if rule is None:
        return None
    if rule.few:
        return LengthView(rule.answer, "", rule.bar, rule.few_words, telling=False)
    return LengthView(rule.answer, rule.between if rule.longest_tested is not None else NO_SCORE, rule.bar)


def _cell(cell: Tally | None, with_n: bool) -> CellView:
    if cell is None:
        return CellView("none", "")
    if cell.mean is None:
        mark = mark_of(cell.n, cell.counts)
        return CellView(mark.outcome, mark.letter) if mark else CellView("none", "")
    text = percent(cell.mean)
    part = " part" if cell.unscored else ""
    return CellView(f"c{text}{part}", text, f"n={scored_of(cell)}" if with_n and cell.trials > 1 else "")


def _mean(column: Tally | None, with_n: bool) -> CellView:
    """A cell of the row of means: a range, without a colour, where answers are undecided."""
    if column is None or column.range is None:
        return _cell(column, with_n)
    return CellView("range", range_words(column.range, whole=True), f"n={scored_of(column)}" if with_n else "")


def _uneven(each: Tally) -> RateView:
    """No score: what is said in its place."""
    return replace(_rate("", each), score=NO_SCORE, interval=NO_SCORE, bar=None, ranged=(f"{UNEVEN}, n = {each.n}",))


def _rate(label: str, each: Tally) -> RateView:
    unscored = tuple((name, each.counts[name]) for name in UNSCORED)
    score, interval = score_and_interval(each, NO_SCORE)
    bar = None
    if each.mean is not None and each.interval is not None:
        low, mean, high = map(percent_number, (each.interval.low, each.mean, each.interval.high))
        bar = (low, mean, high)
    notes = range_notes(each) if each.range is not None else ()
    nothing = tuple((name, each.counts[name]) for name in NOTHING_SAID if each.counts[name])
    return RateView(label, score, interval, each.n, unscored, bar, notes, nothing)
