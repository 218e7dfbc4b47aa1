"""A comparison in words: the table, the cells that changed, what was left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from haystack_fixtures.cells import depth_label
from results.statistics.comparison import CellDifference, Comparison, FamilyDifference
from results.statistics.joining import Family
from results.statistics.paired import Difference
from results.text import display_width, length_labels, one_line, percent1

_HEAD = ("task", "needle", "n", "A %", "B %", "B - A", "95 % interval", "p (Holm)", "verdict")
_LEFT = {"model", "task", "needle", "verdict"}  # columns of words; those of numbers end at the right
_VERDICTS = {"better": "B is better", "worse": "B is worse", "no difference shown": "no difference shown"}
SHOWN = 20  # cells of a list; the rest is counted


def comparison_lines(comparison: Comparison) -> list[str]:
    """Return the table, the trials left out, and the cells that improved and regressed."""
    lines = [*_table(comparison.families), ""]
    lines += [
        "B - A in points, paired by trial; bootstrap over samples (Student's t for fewer than 10 of them);",
        "p: exact McNemar for 0/1 scores, permutation test for partial credit; Holm over the rows.",
        f"pairs: {comparison.pairs}{''.join(f', {part}' for part in _left_out(comparison))}",
    ]
    if comparison.scorers_differ:
        lines.append(f"caution: {comparison.scorers_differ} pairs were judged by different scorers")
    if comparison.prompts_differ:
        lines.append(f"caution: {comparison.prompts_differ} trials had different prompts in A and B")
    if comparison.prompts_unknown:
        lines.append(f"{_count(comparison.prompts_unknown, 'trial')} without a prompt hash on one side, not checked")
    for word, sign in (("improved", 1), ("regressed", -1)):
        lines += ["", *_changed(comparison, word, 1 if sign > 0 else -1)]
    return lines


def family_name(family: Family) -> str:
    """`task · needle`, after the model where runs of several models are compared."""
    return one_line(" · ".join(part for part in family if part))


def family_sentence(family: FamilyDifference) -> str:
    """`B - A = +5.3 points (95 % interval -1.2..+11.8), n = 75 pairs · no difference shown · 3 trials without a pair`.

    The last part only where there are any.
    """
    found = family.difference
    if found is None:
        parts = ["no pair of scores"]
    else:
        interval = f"95 % interval {_ends(found)}" if _ends(found) else "too few samples for an interval"
        parts = [f"B - A = {points1(found.mean)} points ({interval}), n = {_count(found.n, 'pair')}"]
        parts.append(_VERDICTS[family.verdict])
    if family.unscored:
        parts.append(f"{_count(family.unscored, 'trial')} without a pair")
    return " · ".join(parts)


def points(difference: float) -> str:
    """A difference of scores as whole points: `+5`, `-12`; `+0` is a rise of less than half a point, `0` is none."""
    return f"{100 * difference:+.0f}" if difference else "0"


def points1(difference: float) -> str:
    """A difference of scores as points with one decimal and its sign."""
    text = f"{100 * difference:+.1f}"
    return "0.0" if text in ("+0.0", "-0.0") else text


def _table(families: Sequence[FamilyDifference]) -> list[str]:
    models = any(family.family[0] for family in families)
    head = ("model", *_HEAD) if models else _HEAD
    rows = [(head), *(_row(family)[0 if models else 1 :] for family in families)]
    widths = [max(display_width(row[column]) for row in rows) for column in range(len(head))]
    return ["  ".join(_padded(*each) for each in zip(row, widths, head, strict=True)).rstrip() for row in rows]


def _row(family: FamilyDifference) -> tuple[str, ...]:
    difference = family.difference
    return (
        *map(one_line, family.family),
        str(family.n),
        "-" if family.first is None else percent1(family.first),
        "-" if family.second is None else percent1(family.second),
        "-" if difference is None else points1(difference.mean),
        (difference and _ends(difference)) or "-",
        "-" if family.p_adjusted is None else _p(family.p_adjusted),
        family.verdict,
    )


def _padded(text: str, width: int, column: str) -> str:
    space = " " * (width - display_width(text))
    return text + space if column in _LEFT else space + text


def _ends(found: Difference) -> str:
    """Both ends of the interval in points; empty where there is none."""
    if found.low is None or found.high is None:
        return ""
    return f"{points1(found.low)}..{points1(found.high)}"


def _p(value: float) -> str:
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def _left_out(comparison: Comparison) -> list[str]:
    counts = (
        (comparison.unscored_first, "unscored in A only"),
        (comparison.unscored_second, "unscored in B only"),
        (comparison.unscored_both, "unscored in both"),
        (comparison.only_first, "only in A"),
        (comparison.only_second, "only in B"),
    )
    return [f"{count} {words}" for count, words in counts if count]


def _changed(comparison: Comparison, word: str, sign: Literal[-1, 1]) -> list[str]:
    cells = comparison.changed(sign)
    if not cells:
        return [f"{word}: no cell"]
    lines = [f"{word}: {_count(len(cells), 'cell')} (means as seen; one cell by itself shows little)"]
    lines += [f"  {_cell(cell)}" for cell in cells[:SHOWN]]
    return [*lines, f"  and {len(cells) - SHOWN} more"] if len(cells) > SHOWN else lines


def _cell(cell: CellDifference) -> str:
    (length,) = length_labels([cell.length])
    place = f"length {length} depth {depth_label(cell.depth)}"
    change = points1(cell.difference or 0.0)
    first, second = percent1(cell.first or 0.0), percent1(cell.second or 0.0)
    return f"{family_name(cell.family)} {place}: {first} -> {second} ({change}, n {cell.n})"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
