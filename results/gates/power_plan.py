"""`--plan --power`: how many samples it takes to find what one looks for, and how many the plan has."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Literal

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.settings.settings import Settings
from needlework.results.records.samples import panel_and_sample
from needlework.results.statistics.intervals.evidence import samples_to_pass
from needlework.results.statistics.intervals.power import BASE, detectable_drop, samples_needed, samples_to_show

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


@dataclass(frozen=True, slots=True)
class _Group:
    """The smallest group of one grain: its samples, those of one repeat, whether one is asked at several depths."""

    samples: int
    once: int
    several: bool


def power_lines(goal: Goal, cells: Sequence[Cell], own: Collection[str] = ()) -> Iterator[str]:
    """Lines for a plan of these cells: over all of them, for each length, and for each cell.

    `own`: tasks whose every cell has a needle of its own.
    """
    yield ""
    groups = _groups(cells, own)
    if goal.what == "drop":
        yield from _drop_lines(goal, groups)
    else:
        yield from _score_lines(goal, groups)
    if any(group.several for group in groups.values()):
        yield "  samples count, not trials: more --repeats are more needles, more depths of a needle are not;"
        yield "  --depths spread asks each at one depth, for as many requests as samples"


def _groups(cells: Sequence[Cell], own: Collection[str]) -> Mapping[str, _Group]:
    found = {}
    for name, key in (
        ("in all", lambda _cell: 0),
        ("per length", lambda cell: cell.length),
        ("per cell", lambda cell: (cell.task, cell.needle, cell.model, cell.length, cell.depth)),
    ):
        groups: dict[object, list[Cell]] = {}
        for cell in cells:
            groups.setdefault(key(cell), []).append(cell)
        found[name] = min((_group(each, own) for each in groups.values()), key=lambda group: group.samples)
    return found


def _group(cells: Sequence[Cell], own: Collection[str]) -> _Group:
    least = min(cell.repeat for cell in cells)
    samples = {_sample(cell, own) for cell in cells}
    first = {_sample(cell, own) for cell in cells if cell.repeat == least}
    places = {(_sample(cell, own), cell.length) for cell in cells}
    return _Group(len(samples), len(first), len(places) < len(cells))


def _sample(cell: Cell, own: Collection[str]) -> tuple[object, ...]:
    if cell.task in own:
        return (cell,)
    return cell.model, cell.task, *panel_and_sample(cell.task, cell.needle, cell.repeat)


def _drop_lines(goal: Goal, groups: Mapping[str, _Group]) -> Iterator[str]:
    needed = samples_needed(goal.size, base=goal.base)
    yield f"power: a drop of {_points(goal.size)} from {goal.base:.4g}, found in 80 of 100 comparisons with a baseline"
    yield f"  (its 95 % interval lies below 0), takes {needed:,} samples at one depth each"
    for name, group in groups.items():
        found = detectable_drop(group.samples, base=goal.base)
        shown = f"find a drop of {_points(found)}" if found is not None else "find no drop"
        samples = f"{group.samples:,} sample{'s' * (group.samples > 1)} planned"
        yield f"  {name + ':':12}{samples} {shown}; --repeats {ceil(needed / group.once):,} finds this one"


def _score_lines(goal: Goal, groups: Mapping[str, _Group]) -> Iterator[str]:
    yield f"power: score >= {goal.size:.4g} passes in 80 of 100 runs of a model with the true score"
    for margin in _MARGINS:
        true = goal.size + (1 - goal.size) * margin
        needed = samples_to_show(goal.size, true)
        if needed is None:
            yield f"  {true:.4g}: not with ten million samples"
            continue
        repeats = ", ".join(f"{ceil(needed / group.once):,} {name}" for name, group in groups.items())
        fewer = samples_to_pass(goal.size) if true == 1 else None
        several = f" ({fewer:,} at several)" if fewer else ""
        yield f"  {true:<6.4g} with {needed:,} samples at one depth each{several}; --repeats: {repeats}"


def _points(share: float) -> str:
    return f"{100 * share:.3g} points"
