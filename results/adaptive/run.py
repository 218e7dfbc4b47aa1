"""Adaptive runs: the cells to send next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from needlework.core.errors import InputError
from needlework.core.grid import Cell
from needlework.core.record import Record
from needlework.core.settings import Settings
from needlework.haystack_fixtures.tasks.catalogue import Series
from needlework.results.adaptive.survey import surveys_of
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
        """The series of the collected tests."""
        return [series for series in self._grid if _family(series.cells[0]) in self._selected]

    def select(self, cells: Iterable[Cell]) -> None:
        """Add the series of collected cells."""
        self._selected |= {_family(cell) for cell in cells}

    def further(self, now: Sequence[Record]) -> list[Cell]:
        """The trials to send next, none when everything has come to its end, or the budget has.

        `now`: the records of this session, replayed ones included. Those of earlier sessions that it has not come to
        yet are left out, so that a run that was killed decides as it would have done without.
        """
        surveys = [(survey, len(survey.ahead(1))) for survey in surveys_of(self._settings, self.series, now)]
        unfinished = [(survey, needed) for survey, needed in surveys if needed]
        if self._alone and unfinished:
            model = unfinished[0][0].series.model
            unfinished = [(survey, needed) for survey, needed in unfinished if survey.series.model == model]
        spare = 0 if self._alone else max(0, self._settings.concurrency - sum(needed for _, needed in unfinished))
        budget = self._settings.adaptive_tokens
        left = float("inf") if budget is None else budget - sum(survey.tokens for survey, _ in surveys)
        chosen: list[Cell] = []
        for survey, needed in unfinished:
            trials = survey.ahead(needed + spare // len(unfinished))
            for batch in (trials[:needed], trials[needed:]):
                cost = sum(length for length, _, _ in batch)
                if cost > left:
                    break
                left -= cost
                chosen += [survey.cell(trial) for trial in batch]
        return chosen


def turn_line(cells: Sequence[Cell]) -> str:
    """`adaptive: 22 trials at 16k, 11 at 32k`; nothing for no trials."""
    lengths = sorted({cell.length for cell in cells})
    counts = [sum(cell.length == length for cell in cells) for length in lengths]
    nouns = ["trial " if counts[:1] == [1] else "trials ", *[""] * len(counts)]
    parts = [f"{n} {noun}at {label}" for n, noun, label in zip(counts, nouns, length_labels(lengths), strict=False)]
    return f"adaptive: {', '.join(parts)}"


def check_selected(cells: Sequence[Cell], grid: Iterable[Series]) -> None:
    """Refuse a selection of some cells of a series: the walk over its lengths needs all. Raises `InputError`."""
    chosen = set(cells)
    if len(chosen) < len(cells):
        raise InputError(OPTION, "tests", "several tests ask the same cells; name one of them")
    for series in grid:
        if 0 < len(chosen & set(series.cells)) < len(series.cells):
            first = series.cells[0]
            remedy = "-k and node ids select some of its cells: say --lengths and --depths instead"
            raise InputError(OPTION, f"{first.task} {first.needle}", remedy)


def _family(cell: Cell) -> tuple[str, str, str]:
    return cell.task, cell.needle, cell.model
