"""`--plan --power`: how many trials it takes to find what one looks for, and how many the plan has."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Literal

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.settings.settings import Settings
from needlework.results.statistics.power import BASE, detectable_drop, trials_needed, trials_to_show

OPTION = "--power"
_GOAL = re.compile(
    r"(?P<what>drop|score)\s*=\s*(?P<size>\d*\.?\d+)\s*(?P<percent>%?)(?:\s*,\s*base\s*=\s*(?P<base>\d*\.?\d+))?"
)
# Where between the limit and 100 % the model is taken to be.
_MARGINS = (1.0, 0.75, 0.5)


@dataclass(frozen=True, slots=True)
class Goal:
    """A drop of `size` (0..1) from a score of `base`, or a score of at least `size`."""

    what: Literal["drop", "score"]
    size: float
    base: float = BASE


def parse_power(text: str) -> Goal:
    """Read `drop=0.05`, `drop=5%, base=0.98` or `score=0.9`. Raises `InputError`."""
    match = _GOAL.fullmatch(text.strip())
    if match is None or (match["base"] and match["what"] == "score"):
        raise InputError(OPTION, text, "write drop=0.05, drop=0.05,base=0.98 or score=0.9")
    size = float(match["size"]) / (100 if match["percent"] else 1)
    base = float(match["base"]) if match["base"] else BASE
    most = base if match["what"] == "drop" else 1
    if not 0 < base <= 1 or not 0 < size <= most or (size == 1 and match["what"] == "score"):
        remedy = f"a drop is above 0 and at most the base, {base:g}" if match["what"] == "drop" else "a score is 0..1"
        raise InputError(OPTION, text, f"{remedy}; 5 points are 0.05 or 5%")
    return Goal("drop" if match["what"] == "drop" else "score", size, base)


def check_power(settings: Settings) -> None:
    """Refuse `--power` without `--plan`, or with what is no goal. Raises `InputError`."""
    if settings.power is not None:
        parse_power(settings.power)
        if not settings.plan:
            raise InputError(OPTION, settings.power, "is told before a run: give --plan too")


def power_lines(goal: Goal, cells: Sequence[Cell]) -> Iterator[str]:
    """Lines for a plan of these cells: over all of them, for each length, and for each cell."""
    yield ""
    groups = _groups(cells)
    if goal.what == "drop":
        yield from _drop_lines(goal, groups)
    else:
        yield from _score_lines(goal, groups)
    yield "depths that share a needle and haystack count for less than as many trials: take these numbers as the least"


def _groups(cells: Sequence[Cell]) -> Mapping[str, tuple[int, int]]:
    """Trials of the smallest group of each grain, and its trials in one repeat."""
    found = {}
    for name, key in (
        ("in all", lambda _cell: 0),
        ("per length", lambda cell: cell.length),
        ("per cell", lambda cell: (cell.task, cell.needle, cell.model, cell.length, cell.depth)),
    ):
        sizes: dict[object, int] = {}
        once: dict[object, set[Cell]] = {}
        for cell in cells:
            sizes[key(cell)] = sizes.get(key(cell), 0) + 1
            once.setdefault(key(cell), set()).add(Cell(cell.task, cell.length, cell.depth, cell.needle, 0, cell.model))
        smallest = min(sizes, key=lambda group: len(once[group]))
        found[name] = sizes[smallest], len(once[smallest])
    return found


def _drop_lines(goal: Goal, groups: Mapping[str, tuple[int, int]]) -> Iterator[str]:
    needed = trials_needed(goal.size, base=goal.base)
    yield f"power: a drop of {_points(goal.size)} from {goal.base:.4g}, found in 80 of 100 comparisons with a baseline"
    yield f"  (exact McNemar test, two-sided 5 %), takes {needed:,} pairs of trials"
    for name, (trials, once) in groups.items():
        found = detectable_drop(trials, base=goal.base)
        shown = f"find a drop of {_points(found)}" if found is not None else "find no drop"
        yield f"  {name + ':':12}{trials:,} trials planned {shown}; --repeats {ceil(needed / once):,} finds this one"


def _score_lines(goal: Goal, groups: Mapping[str, tuple[int, int]]) -> Iterator[str]:
    yield f"power: score >= {goal.size:.4g} passes in 80 of 100 runs of a model with the true score"
    for margin in _MARGINS:
        true = goal.size + (1 - goal.size) * margin
        needed = trials_to_show(goal.size, true)
        if needed is None:
            yield f"  {true:.4g}: not with ten million trials"
            continue
        repeats = ", ".join(f"{ceil(needed / once):,} {name}" for name, (_, once) in groups.items())
        yield f"  {true:<6.4g} with {needed:,} trials; --repeats: {repeats}"


def _points(share: float) -> str:
    return f"{100 * share:.3g} points"
