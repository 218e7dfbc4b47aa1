"""Whether answers that are wanted word for word fit their budget."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from needlework.haystack_fixtures.errors import NoRoomError
from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.tasks.catalogue import Series
from needlework.haystack_fixtures.trials.trials import TrialBuilder


def check_answer_room(
    cells: Iterable[Cell], series_of: Callable[[Cell], Series], builder_of: Callable[[Cell], TrialBuilder]
) -> None:
    """Raise `NoRoomError` where a budget is too small for an answer, with one that is large enough for each of them.

    The answer of a repeat is the same at every depth. Rows of a data set are not looked at: one that does not fit is
    skipped when its turn comes.
    """
    free, needed = set[tuple[str, str, str]](), dict[tuple[object, ...], tuple[int, str, Cell]]()
    for cell in cells:
        kind = cell.task, cell.needle, cell.model
        at = (*kind, cell.length, cell.repeat)
        if kind in free or at in needed:
            continue
        series = series_of(cell)
        tokens = 0 if series.task.rows else builder_of(cell).answer_tokens(series.suite, cell)
        if tokens:
            needed[at] = tokens, cell.id, cell
        else:
            free.add(kind)
    over = [each for each in needed.values() if each[0] > series_of(each[2]).suite.answer_budget]
    if over:
        tokens, _id, cell = max(over)
        raise NoRoomError(series_of(cell).suite.answer_budget, f"{cell.task} {cell.needle}", tokens)
