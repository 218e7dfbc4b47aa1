"""Adaptive runs: cells that are asked next, cells that were lost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from needlework.core.errors import InputError
from needlework.core.grid import Cell, parse_id
from needlework.core.record import Record
from needlework.core.settings import Settings
from needlework.haystack_fixtures.tasks.catalogue import Series
from needlework.results.run.record_builder import lost_record
from needlework.results.statistics.adaptive import surveyed
from needlework.results.style import length_labels

OPTION = "--adaptive"


class AdaptiveRun:
    """Chooses the next trials when those before have ended.

    Its only state is which series were selected: killed and started again, a run chooses the same trials by the answers
    in its journal. `alone`: one model answers at a time, in this process; then only trials that are needed are sent.
    """

    def __init__(self, settings: Settings, grid: Sequence[Series], *, alone: bool) -> None:
        self._settings = settings
        self._grid = grid
        self._selected: set[tuple[str, str, str]] = set()
        self._alone = alone

    @property
    def series(self) -> list[Series]:
        """The series that tests ask."""
        return [each for each in self._grid if _name(each.cells[0]) in self._selected]

    def select(self, cells: Iterable[Cell]) -> None:
        """These were collected."""
        self._selected |= {_name(cell) for cell in cells}

    def further(self, now: Sequence[Record]) -> list[Cell]:
        """The trials to send next, none when everything has come to its end, or the budget has.

        `now`: the records of this session, replayed ones included. Those of earlier sessions that it has not come to
        yet are left out, so that a run that was killed decides as it would have done without.
        """
        surveys = surveyed(self._settings, self.series, now)
        needed = [len(series.survey.ahead(1)) for series in surveys]
        unfinished = [index for index, count in enumerate(needed) if count]
        if self._alone and unfinished:
            model = surveys[unfinished[0]].series.model
            unfinished = [index for index in unfinished if surveys[index].series.model == model]
        spare = 0 if self._alone else self._settings.concurrency - sum(needed[index] for index in unfinished)
        budget = self._settings.adaptive_tokens
        left = float("inf") if budget is None else budget - sum(series.tokens for series in surveys)
        chosen: list[Cell] = []
        for index in unfinished:
            series, count = surveys[index], needed[index]
            trials = series.survey.ahead(count + max(0, spare) // len(unfinished))
            for batch in (trials[:count], trials[count:]):
                cost = sum(length for length, _, _ in batch)
                if batch and cost <= left:
                    left -= cost
                    chosen += [series.cell(trial) for trial in batch]
                elif batch:
                    break
        return chosen


def turn_line(cells: Sequence[Cell]) -> str:
    """`adaptive: 22 trials at 16k, 11 at 32k`; nothing for no trials."""
    lengths = sorted({cell.length for cell in cells})
    counts = [sum(cell.length == length for cell in cells) for length in lengths]
    labels = length_labels(lengths)
    noun = "trial " if counts[:1] == [1] else "trials "
    told = [f"{count} {'' if at else noun}at {labels[at]}" for at, count in enumerate(counts)]
    return f"adaptive: {', '.join(told)}"


def check_selected(cells: Sequence[Cell], grid: Iterable[Series]) -> None:
    """Refuse a selection of some places of a series: the walk over its lengths needs all. Raises `InputError`."""
    if len(set(cells)) < len(cells):
        raise InputError(OPTION, "tests", "several tests ask the same cells; name one of them")
    chosen = set(cells)
    for series in grid:
        there = chosen & set(series.cells)
        if there and len(there) < len(series.cells):
            first = series.cells[0]
            remedy = "-k and node ids select some of its cells: say --lengths and --depths instead"
            raise InputError(OPTION, f"{first.task} {first.needle}", remedy)


def _name(cell: Cell) -> tuple[str, str, str]:
    return cell.task, cell.needle, cell.model


def lost_cell(nodeid: str, reason: str, grid: Iterable[Series], *, recipe: str, seed: int) -> Record | None:
    """The record of a cell whose test died, so that it does not vanish; `None` where the test has no cell."""
    named = parse_id(nodeid)
    if named is None:
        return None
    wanted = (named.task, named.needle, named.model)
    series = next((each for each in grid if _first(each) == wanted), None)
    cell = _exact(named, series)
    message = reason.strip().splitlines()[-1:] or ["the process died"]
    return lost_record(
        cell,
        model=series.model if series else cell.model,
        nodeid=nodeid,
        recipe=recipe,
        message=message[0][:300],
        language=series.suite.language if series else "",
        seed=seed,
    )


def _first(series: Series) -> tuple[str, str, str]:
    first = series.cells[0]
    return first.task, first.needle, first.model


def _exact(named: Cell, series: Series | None) -> Cell:
    """The cell that an id stands for; the id has the depth in three decimals only."""
    cells = series.cells if series else ()
    at = next((cell for cell in cells if replace(cell, repeat=named.repeat).id == named.id), named)
    return replace(at, repeat=named.repeat)
