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
    """Names the next trials when those before have ended. It keeps nothing but which series were selected: killed and
    started again, a run comes to the same trials by the answers in its journal.

    `alone`: whether one model answers at a time, in this process; then nothing is sent that may not be needed.
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
        found = surveyed(self._settings, self.series, now)
        needed = {at: each.survey.ahead(1) for at, each in enumerate(found)}
        opened = [at for at, places in needed.items() if places]
        if self._alone and opened:
            opened = [at for at in opened if found[at].series.model == found[opened[0]].series.model]
        spare = 0 if self._alone else self._settings.concurrency - sum(len(needed[at]) for at in opened)
        budget = self._settings.adaptive_tokens
        left = float("inf") if budget is None else budget - sum(each.tokens for each in found)
        chosen: list[Cell] = []
        for at in opened:
            each, width = found[at], len(needed[at]) + max(0, spare) // len(opened)
            places = each.survey.ahead(width)
            for batch in (places[: len(needed[at])], places[len(needed[at]) :]):
                cost = sum(length for length, _, _ in batch)
                if batch and cost <= left:
                    left -= cost
                    chosen += [each.cell(place) for place in batch]
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
