"""`--limit`: the first trials of each task and language in place of all."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from needlework.haystack_fixtures.grid.cells import Cell


def first_trials(panels: Sequence[Sequence[Cell]], wanted: Collection[Cell], limit: float, *, rows: bool) -> set[Cell]:
    """The first of the wanted cells: `limit` of them, or that share where it is below 1, at least one.

    `panels`: the cells of each needle in their standing order. By length, then repeat, then needle and depth: what
    EvalScope takes with its `--limit`. Where needles are `rows` of a data set, in the order of the data.
    """
    placed = [
        (() if rows else (cell.length, cell.repeat), number, place, cell)
        for number, cells in enumerate(panels)
        for place, cell in enumerate(cells)
        if cell in wanted
    ]
    count = max(1, int(len(placed) * limit)) if limit < 1 else int(limit)
    return {cell for *_, cell in sorted(placed, key=lambda each: each[:3])[:count]}


def limit_note(limit: float) -> str:
    """What a run and its report say of a limit."""
    trials = "trial" if limit == 1 else "trials"
    most = f"the first {limit:.3g} of the trials" if limit < 1 else f"the first {limit:g} {trials}"
    return f"--limit {limit:g}: {most} of each task and language, the shortest first: a part of the grid"
