"""The page of a comparison of two runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from needlework.core.files import write_whole
from needlework.core.grid import depth_label
from needlework.core.record import UNSCORED, Record
from needlework.results.html.charts import on_one_line, percent_number
from needlework.results.html.details import TrialDetails, fit
from needlework.results.html.page import page
from needlework.results.html.panels import NO_SCORE, CellView, GridView, Stats, axes_data, grid_view, stat_of
from needlework.results.html.report import LIMIT_BYTES, NOTICE_BYTES
from needlework.results.statistics.comparison.comparison import (
    CellDifference,
    Comparison,
    FamilyDifference,
    GroupDifference,
    compared,
    panel_of,
)
from needlework.results.statistics.comparison.joining import identity_order, joined
from needlework.results.statistics.comparison.many_runs import Against
from needlework.results.statistics.paired import Difference
from needlework.results.statistics.panels import OUTCOMES, depth_order
from needlework.results.style import length_labels, percent1
from needlework.results.tables.comparison import (
    VERDICTS,
    Windows,
    cautions,
    family_name,
    interval_words,
    left_out,
    loss_words,
    outcomes_of_run,
    p_words,
    points,
    points1,
)


def write_comparison_html(
    path: Path,
    comparison: Comparison,
    first: Sequence[Record],
    second: Sequence[Record],
    *,
    title: str,
    names: tuple[str, str],
    parts: Sequence[str] = (),
    windows: Windows = (None, None),
) -> None:
    """Write `path` atomically. See `comparison_html`."""
    text = comparison_html(comparison, first, second, title=title, names=names, parts=parts, windows=windows)
    write_whole(path, text.encode())


def comparison_html(
    comparison: Comparison,
    first: Sequence[Record],
    second: Sequence[Record],
    *,
    title: str,
    names: tuple[str, str],
    parts: Sequence[str] = (),
    windows: Windows = (None, None),
    limit_bytes: int = LIMIT_BYTES,
) -> str:
    """Return the page of a comparison of the records of A (`first`) and of B (`second`), called by `names`.

    `parts`: what differs between the runs, `part: A / B`; `windows`: of A and B, in tokens. Scores and differences are
    all in it; where `limit_bytes` has no room for all answers, those of trials that both runs judged alike are left out
    first.
    """
    scores = comparison_data(comparison, names)
    fields = {
        "sentence": verdict_sentence(comparison.families, names),
        "names": [on_one_line(name) for name in names],
        "runs": [outcomes_of_run(comparison, side) for side in (0, 1)],
        "pairs": comparison.pairs,
        "left_out": left_out(comparison),
        "losses": [loss_words(each, windows) for each in comparison.losses],
        "cautions": cautions(comparison),
        "parts": [on_one_line(part) for part in parts],
        "families": [family_view(family) for family in comparison.families],
        "changes": change_views(comparison),
        "unscored": UNSCORED,
    }

    def with_details(details: str, notice: Sequence[str]) -> str:
        return page("comparison", title, scores, details=details, colors="safe", notice=notice, fields=fields)

    room = limit_bytes - len(with_details("", ()).encode()) - NOTICE_BYTES
    kept = fit(pair_entries(comparison, first, second), room)
    return with_details(kept.packed, kept.notice(limit_bytes))


_NAMED = 3  # runs that a sentence names of one verdict


def verdict_sentence(families: Sequence[FamilyDifference], names: tuple[str, str]) -> str:
    """`new is worse than old: -33.3 points (95 % sure: -51.0..-15.6).`; of several tasks how many are which."""
    first, second = (on_one_line(name, 80) for name in names)
    if not families:
        return f"{first} and {second} have no question in common."
    if len(families) == 1:
        return f"{_told(families[0], first, second)}{_points(families[0])}."
    counts = Counter(family.verdict for family in families)
    of = f" of {len(families)} tasks"
    parts = [f"{word} on {counts[word]}{of}" for word in ("worse", "better") if counts[word]]
    rest = counts["no difference shown"] + counts["undetermined"]
    if not parts:
        return f"No difference between {first} and {second} is shown on any{of}."
    open_ = f"; no difference is shown on {rest}" if rest else ""
    return f"{second} is {' and '.join(parts)} than {first}{open_}."


def several_sentence(found: Sequence[Against]) -> str:
    """`Against base, b is worse (-28.0 points); no difference is shown for c.`; of several runs which is which."""
    others = found[1:]
    if not others:
        return ""
    bases = {each.base for each in others}
    base = on_one_line(found[0].name, 80) if bases == {found[0].name} else "the run before it"
    kinds = (
        ("worse", [each for each in others if each.verdict == "worse"]),
        ("better", [each for each in others if each.verdict == "better"]),
    )
    parts = [f"{_named(runs)} {_is(runs)} {word} ({_all_points(runs)} points)" for word, runs in kinds if runs]
    same = [each for each in others if each.verdict == "no difference shown"]
    few = [each for each in others if each.verdict == "undetermined"]
    alone = [each for each in others if each.verdict is None]
    parts += [f"no difference is shown for {_named(same)}"] if same else []
    parts += [f"too few samples tell of {_named(few)}"] if few else []
    parts += [f"{_named(alone)} {_is(alone)} not compared"] if alone else []
    return f"Against {base}, {'; '.join(parts)}."


def _named(runs: Sequence[Against]) -> str:
    names = [on_one_line(each.name, 80) for each in runs[:_NAMED]]
    names += [f"{len(runs) - _NAMED} more"] if len(runs) > _NAMED else []
    return " and ".join([*([", ".join(names[:-1])] if names[1:] else []), names[-1]])


def _is(runs: Sequence[Against]) -> str:
    return "are" if len(runs) > 1 else "is"


def _all_points(runs: Sequence[Against]) -> str:
    """The differences that the verdicts rest on; of many runs the first and the last of them by size."""
    means = [_rests_on(each.whole) for each in runs if each.whole is not None]
    points = [one.mean for one in means if one is not None]
    if len(points) <= _NAMED:
        return ", ".join(points1(mean) for mean in points)
    return f"{points1(min(points))} to {points1(max(points))}"


def _told(family: FamilyDifference, first: str, second: str) -> str:
    if family.verdict in ("worse", "better"):
        return f"{second} is {family.verdict} than {first}"
    if family.verdict == "undetermined":
        return f"Too few samples tell {first} and {second} apart"
    return f"No difference between {first} and {second} is shown"


def _points(family: FamilyDifference) -> str:
    """What the verdict rests on: losses count as misses where there are any."""
    found = _rests_on(family)
    if found is None:
        return ""
    ends = interval_words(found)
    sure = f" (95 % sure: {ends})" if ends else ""
    lost = ", what was not answered counted as wrong" if family.losses and found is family.counted else ""
    return f": {points1(found.mean)} points{sure}{lost}"


def _rests_on(family: FamilyDifference) -> Difference | None:
    return family.counted if family.losses and family.counted is not None else family.difference


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


def pair_entries(comparison: Comparison, first: Sequence[Record], second: Sequence[Record]) -> list[TrialDetails]:
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
        told = [None if record is None else (record.outcome, record.score) for record in records]
        telling = 0 if told[0] != told[1] else 2 if told[0] is not None and told[0][0] == "found" else 1
        entries.append(TrialDetails(records, number, columns[number][length], rows[number][depth], telling))
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
            *(None if value is None else _comparison_view_points(value) for value in (group.difference, *ends)),
            group.unscored,
        ]

    return {
        "name": on_one_line(family_name(family.family)),
        **axes_data(list(family.columns), list(family.rows)),
        "columns": [numbers(group) for group in family.columns.values()],
        "cells": [[numbers(cell) for cell in row] for row in _table(family)],
    }


def _comparison_view_points(difference: float) -> float:
    return round(100 * difference, 1) + 0.0


def _stat(group: GroupDifference, side: int, stats: Stats) -> int:
    stat = stat_of(group.n, (group.first, group.second)[side], group.intervals[side])
    return stats.setdefault(stat, len(stats))
