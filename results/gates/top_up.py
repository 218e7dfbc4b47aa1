"""Which further trials are asked while gates are undecided."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from needlework.haystack_fixtures.grid.cells import Cell


@dataclass(frozen=True, slots=True)
class Want:
    """An undecided group: its cells, each at its first repeat beyond the run's, and the further trials that it needs.

    `may`: whether a cell may be asked (a baseline has to have the trial too); `repeats`: one more than the highest
    repeat that may.
    """

    cells: Collection[Cell]
    trials: int
    may: Callable[[Cell], bool] = lambda _cell: True
    repeats: int | None = None


def next_round(wants: Sequence[Want], asked: AbstractSet[Cell], order: Mapping[Cell, int], budget: int) -> list[Cell]:
    """Return the cells of the next round, at most `budget`, none of them in `asked`.

    Every group gets as many whole repeats of its cells as hold the trials that it needs. One repeat of all groups comes
    before the next: where the budget ends, each has had its share. `order`: where cells, at repeat 0, stand in the run.
    """
    found = {cell for want in wants for cell in _whole_repeats(want, asked)}
    return sorted(found, key=lambda cell: (cell.repeat, order[replace(cell, repeat=0)]))[:budget]


def _whole_repeats(want: Want, asked: AbstractSet[Cell]) -> list[Cell]:
    taken: list[Cell] = []
    cells = list(want.cells)
    while cells and len(taken) < want.trials:
        if want.repeats is not None:
            cells = [cell for cell in cells if cell.repeat < want.repeats]
        taken += [cell for cell in cells if cell not in asked and want.may(cell)]
        cells = [replace(cell, repeat=cell.repeat + 1) for cell in cells]
    return taken
