"""Two runs as the template of the comparison writes them, and as its script reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from needlework.haystack_fixtures.grid.cells import depth_label
from needlework.results.html.budget import Entry
from needlework.results.html.grid import CellView, GridView, grid_view
from needlework.results.html.panels import NO_SCORE
from needlework.results.html.panels_data import Stats, axes_data, stat_of
from needlework.results.html.texts import on_one_line, percent_number
from needlework.results.records.record import UNSCORED, Record
from needlework.results.statistics.comparison.comparison import (
    CellDifference,
    Comparison,
    FamilyDifference,
    GroupDifference,
    compared,
    panel_of,
)
from needlework.results.statistics.comparison.joining import identity_order, joined
from needlework.results.statistics.panels import OUTCOMES, depth_order
from needlework.results.style.text import length_labels, percent1
from needlework.results.tables.comparison import VERDICTS, family_name, interval_words, p_words, points, points1

_MOST_LISTED = 200  # cells in a list of what improved or regressed; the rest is counted
_WORDS: dict[str, Literal[-1, 1]] = {"improved": 1, "regressed": -1}


@dataclass(frozen=True, slots=True)
class ChangeView:
    """A cell that changed: its family's number, column and row, and a sentence about it."""

    family: int
    column: int
    row: int
    text: str


@dataclass(frozen=True, slots=True)
class FamilyView:
    """One family's section. `bar`: low, mean and high of B - A, 0..100 for -100..+100 points. `runs`: a row of a table
    for A and for B. `counted`: B - A with losses as misses and its interval, where there are losses. `gaps`, `partly`:
    whether a cell has no pair; has trials without a pair beside others.
    """

    name: str
    points: str
    interval: str
    bar: tuple[float, float, float] | None
    n: int
    unscored: int
    scores: tuple[tuple[str, str], ...]
    runs: tuple[tuple[str | int, ...], ...]
    p: str
    p_adjusted: str
    counted: tuple[str, str] | None
    verdict: str
    look: str
    grid: GridView
    gaps: bool
    partly: bool
    by_length: tuple[tuple[str | int, ...], ...]
    by_depth: tuple[tuple[str | int, ...], ...]


def family_view(family: FamilyDifference) -> FamilyView:
    """Return what the template needs of one family."""
    lengths, depths = list(family.columns), list(family.rows)
    cells = _table(family)
    found = family.difference
    bar = None
    if found is not None and found.low is not None and found.high is not None:
        low, mean, high = (50 + 50 * value for value in (found.low, found.mean, found.high))
        bar = (low, mean, high)
    labels = zip(length_labels(lengths), family.columns.values(), strict=True)
    rows = zip(map(depth_label, depths), family.rows.values(), strict=True)
    return FamilyView(
        name=on_one_line(family_name(family.family)),
        points=NO_SCORE if found is None else points1(found.mean),
        interval=(found and interval_words(found)) or NO_SCORE,
        bar=bar,
        n=family.whole.n,
        unscored=family.whole.unscored,
        scores=tuple(_score(family.whole, side) for side in (0, 1)),
        runs=tuple(
            ("AB"[side], *_score(family.whole, side), *(family.outcomes[side][name] for name in UNSCORED))
            for side in (0, 1)
        ),
        p=NO_SCORE if family.p is None else p_words(family.p),
        p_adjusted=NO_SCORE if family.p_adjusted is None else p_words(family.p_adjusted),
        counted=_counted(family),
        verdict=VERDICTS[family.verdict],
        look={"better": "good", "worse": "bad"}.get(family.verdict, "void"),
        grid=grid_view(lengths, depths, list(family.columns.values()), cells, _cell),
        gaps=any(cell is None or cell.found is None for row in cells for cell in row),
        partly=any(cell is not None and cell.n and cell.unscored for row in cells for cell in row),
        by_length=tuple(_row(label, group) for label, group in labels),
        by_depth=tuple(_row(label, group) for label, group in rows),
    )


def _counted(family: FamilyDifference) -> tuple[str, str] | None:
    found = family.counted
    return (points1(found.mean), interval_words(found) or NO_SCORE) if family.losses and found is not None else None


def change_views(comparison: Comparison) -> dict[str, tuple[list[ChangeView], int]]:
    """Return the cells that improved and regressed, the largest change first, and how many more there are."""
    places = [
        ({length: i for i, length in enumerate(family.columns)}, {depth: i for i, depth in enumerate(family.rows)})
        for family in comparison.families
    ]
    numbers = {family.family: i for i, family in enumerate(comparison.families)}
    several = len(comparison.families) > 1

    def view(cell: CellDifference) -> ChangeView:
        number = numbers[cell.family]
        columns, rows = places[number]
        return ChangeView(number, columns[cell.length], rows[cell.depth], _sentence(cell, several))

    changes = {}
    for word, sign in _WORDS.items():
        cells = comparison.changed(sign)
        changes[word] = ([view(cell) for cell in cells[:_MOST_LISTED]], max(0, len(cells) - _MOST_LISTED))
    return changes


def comparison_data(comparison: Comparison, names: tuple[str, str]) -> dict[str, Any]:
    """Return what the script needs: families with `[n, A, B, B - A, low, high, unscored]`, and both runs' curves."""
    stats: Stats = {}
    curves = [
        {
            "name": on_one_line(f"{side}: {name} · {family_name(family.family)}"),
            **axes_data(list(family.columns), list(family.rows)),
            "byLength": [_stat(group, at, stats) for group in family.columns.values()],
            "byDepth": [_stat(group, at, stats) for group in family.rows.values()],
        }
        for family in comparison.families
        for at, (side, name) in enumerate(zip("AB", names, strict=True))
    ]
    return {
        "outcomes": list(OUTCOMES),
        "panels": curves,
        "stats": [list(stat) for stat in stats],
        "families": [_family_data(family) for family in comparison.families],
    }


def pair_entries(comparison: Comparison, first: Sequence[Record], second: Sequence[Record]) -> list[Entry]:
    """Return the trials with their records in both runs, in reading order. Pairs that differ tell the most."""
    a, b, _ = joined(*compared(first, second))
    numbers = {family.family: i for i, family in enumerate(comparison.families)}
    columns = [{length: i for i, length in enumerate(family.columns)} for family in comparison.families]
    rows = [{depth: i for i, depth in enumerate(family.rows)} for family in comparison.families]
    entries = []
    for at in sorted(a.keys() | b.keys(), key=lambda at: (panel_of(at[0]), depth_order(at[2]), identity_order(at))):
        family, length, depth, _, _ = at
        records = (a.get(at), b.get(at))
        number = numbers[panel_of(family)]
        told = [record and (record["outcome"], record["score"]) for record in records]
        telling = 0 if told[0] != told[1] else 2 if told[0] is not None and told[0][0] == "found" else 1
        entries.append(Entry(records, number, columns[number][length], rows[number][depth], telling))
    return entries


def _table(family: FamilyDifference) -> list[list[CellDifference | None]]:
    cells = {(cell.length, cell.depth): cell for cell in family.cells}
    return [[cells.get((length, depth)) for length in family.columns] for depth in family.rows]


def _cell(group: GroupDifference | None, with_n: bool) -> CellView:
    if group is None:
        return CellView("none", "")
    trials = group.n + group.unscored
    if group.difference is None:
        return CellView("gap", "–")
    n = f"n={group.n}" if not group.unscored else f"n={group.n}/{trials}"
    look = f"by{round(100 * group.difference)}" + (" part" if group.unscored else "")
    return CellView(look, points(group.difference), n if with_n and trials > 1 else "")


def _score(group: GroupDifference, side: int) -> tuple[str, str]:
    mean, interval = (group.first, group.second)[side], group.intervals[side]
    if mean is None:
        return NO_SCORE, NO_SCORE
    return percent1(mean), f"{percent1(interval.low)}–{percent1(interval.high)}" if interval else NO_SCORE


def _row(label: str, group: GroupDifference) -> tuple[str | int, ...]:
    scores = [f"{mean} ({ends})" if mean != NO_SCORE else mean for mean, ends in (_score(group, 0), _score(group, 1))]
    difference = NO_SCORE if group.difference is None else points1(group.difference)
    return (
        label,
        *scores,
        difference,
        (group.found and interval_words(group.found)) or NO_SCORE,
        group.n,
        group.unscored,
    )


def _sentence(cell: CellDifference, several: bool) -> str:
    (length,) = length_labels([cell.length])
    place = f"{f'{family_name(cell.family)}, ' if several else ''}length {length}, depth {depth_label(cell.depth)}"
    ends = interval_words(cell.found) if cell.found else ""
    around = f", 95 % interval {ends}" if ends else ""
    change = f"{percent1(cell.first or 0.0)} → {percent1(cell.second or 0.0)}"
    return on_one_line(f"{place}: {change} ({points1(cell.difference or 0.0)}{around}, n = {cell.n})")


def _family_data(family: FamilyDifference) -> dict[str, Any]:
    def numbers(group: GroupDifference | None) -> list[Any] | None:
        if group is None:
            return None
        ends = (None, None) if group.found is None else (group.found.low, group.found.high)
        values = (group.first, group.second)
        return [
            group.n,
            *(None if value is None else percent_number(value) for value in values),
            *(None if value is None else _points(value) for value in (group.difference, *ends)),
            group.unscored,
        ]

    return {
        "name": on_one_line(family_name(family.family)),
        **axes_data(list(family.columns), list(family.rows)),
        "columns": [numbers(group) for group in family.columns.values()],
        "cells": [[numbers(cell) for cell in row] for row in _table(family)],
    }


def _points(difference: float) -> float:
    return round(100 * difference, 1) + 0.0


def _stat(group: GroupDifference, side: int, stats: Stats) -> int:
    stat = stat_of(group.n, (group.first, group.second)[side], group.intervals[side])
    return stats.setdefault(stat, len(stats))
