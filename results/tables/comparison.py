"""A comparison in words: the table, differences by length and depth, the cells that changed, what was left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from needlework.haystack_fixtures.grid.cells import depth_label
from needlework.results.records.record import SCORED, UNSCORED, OutcomeName
from needlework.results.statistics.comparison import CellDifference, Comparison, FamilyDifference, GroupDifference
from needlework.results.statistics.intervals import FEW, Interval
from needlework.results.statistics.joining import Family
from needlework.results.statistics.paired import Difference
from needlework.results.style.text import display_width, length_labels, one_line, percent1

_SCORES = ("pairs", "no pair", "A % (95 %)", "B % (95 %)", "B - A", "95 % interval")
_HEAD = ("task", "needle", *_SCORES, "p (Holm)", "verdict")
_LEFT = {"model", "task", "needle", "verdict"}  # columns of words; those of numbers end at the right
VERDICTS = {
    "better": "B is better",
    "worse": "B is worse",
    "no difference shown": "no difference shown",
    "undetermined": "undetermined",
}
SHOWN = 20  # cells of a list; the rest is counted


def comparison_lines(comparison: Comparison) -> list[str]:
    """Return the table, the trials left out, what each length and depth shows, and the cells that changed."""
    lines = [*_table(comparison.families), ""]
    lines += [
        "B - A in points, paired by trial; interval from gains and losses, clustered by sample;",
        "p: sign flips of whole samples, from six of them on; Holm over the rows.",
        f"pairs: {comparison.pairs}{''.join(f', {part}' for part in left_out(comparison))}",
    ]
    for name, side in (("A", 0), ("B", 1)):
        lines.append(f"{name}: {outcomes_of_run(comparison, side)}")
    lines += cautions(comparison)
    for family in comparison.families:
        if family.whole.n:
            lines += ["", *_by_place(family)]
    for word, sign in (("improved", 1), ("regressed", -1)):
        lines += ["", *_changed(comparison, word, 1 if sign > 0 else -1)]
    return lines


def cautions(comparison: Comparison) -> list[str]:
    """What makes the numbers mean less than they seem to; empty where nothing does."""
    lines = [f"caution: {words}" for family in comparison.families if (words := few_words(family))]
    if comparison.scorers_differ:
        lines.append(f"caution: {comparison.scorers_differ} pairs were judged by different scorers")
    if comparison.prompts_differ:
        lines.append(f"caution: {comparison.prompts_differ} trials had different prompts in A and B")
    if comparison.prompts_unknown:
        lines.append(f"{_count(comparison.prompts_unknown, 'trial')} without a prompt hash on one side, not checked")
    return lines


def few_words(family: FamilyDifference) -> str:
    """What few samples leave open; empty from five on."""
    found = family.difference
    if found is None or found.clusters >= FEW:
        return ""
    name = family_name(family.family)
    if found.clusters == 1:
        return f"{name}: one sample: the runs differ by {points1(found.mean)} on it; says nothing of other needles"
    return f"{name}: from {found.clusters} samples; a verdict takes {FEW}"


def outcomes_of_run(comparison: Comparison, side: int) -> str:
    """`80 trials, 76 scored, 3 censored, 1 error` of one run: 0 is A, 1 is B."""
    counts: dict[OutcomeName, int] = {}
    for family in comparison.families:
        for name, number in family.outcomes[side].items():
            counts[name] = counts.get(name, 0) + number
    scored = sum(counts[name] for name in SCORED)
    parts = [_count(sum(counts.values()), "trial"), f"{scored} scored"]
    return ", ".join([*parts, *(f"{counts[name]} {name}" for name in UNSCORED if counts[name])])


def left_out(comparison: Comparison) -> list[str]:
    """Trials that are in no pair, by why."""
    counts = (
        (comparison.unscored_first, "unscored in A only"),
        (comparison.unscored_second, "unscored in B only"),
        (comparison.unscored_both, "unscored in both"),
        (comparison.only_first, "only in A"),
        (comparison.only_second, "only in B"),
    )
    return [f"{count} {words}" for count, words in counts if count]


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
        interval = (
            f"95 % interval {interval_words(found)}" if interval_words(found) else "too few samples for an interval"
        )
        parts = [f"B - A = {points1(found.mean)} points ({interval}), n = {_count(found.n, 'pair')}"]
        parts.append(VERDICTS[family.verdict])
    if family.whole.unscored:
        parts.append(f"{_count(family.whole.unscored, 'trial')} without a pair")
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
    return _laid_out(head, [_row(family)[0 if models else 1 :] for family in families])


def _row(family: FamilyDifference) -> tuple[str, ...]:
    p = "-" if family.p_adjusted is None else p_words(family.p_adjusted)
    return *map(one_line, family.family), *_scores(family.whole), p, family.verdict


def _by_place(family: FamilyDifference) -> Iterator[str]:
    """Two tables: by length and, where there are several, by depth."""
    yield f"{family_name(family.family)}, by length and depth (each interval as if it were the only one)"
    lengths = {
        label: family.columns[length]
        for label, length in zip(length_labels([*family.columns]), family.columns, strict=True)
    }
    depths = {depth_label(depth): family.rows[depth] for depth in family.rows}
    for word, groups in (("length", lengths), ("depth", depths)):
        if len(groups) > 1:
            yield from (f"  {line}" for line in _laid_out((word, *_SCORES), _place_rows(groups)))


def _place_rows(groups: Mapping[str, GroupDifference]) -> list[tuple[str, ...]]:
    return [(label, *_scores(group)) for label, group in groups.items()]


def _scores(found: GroupDifference) -> tuple[str, ...]:
    """The cells under `_SCORES`."""
    ends = None if found.found is None else interval_words(found.found)
    return (
        str(found.n),
        str(found.unscored),
        score_words(found.first, found.intervals[0]),
        score_words(found.second, found.intervals[1]),
        "-" if found.difference is None else points1(found.difference),
        ends or "-",
    )


def score_words(mean: float | None, interval: Interval | None) -> str:
    """`80.0 (70.0..87.3)`, percent."""
    if mean is None:
        return "-"
    ends = f" ({percent1(interval.low)}..{percent1(interval.high)})" if interval else ""
    return f"{percent1(mean)}{ends}"


def _laid_out(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(display_width(row[column]) for row in (head, *rows)) for column in range(len(head))]
    return ["  ".join(_padded(*each) for each in zip(row, widths, head, strict=True)).rstrip() for row in (head, *rows)]


def _padded(text: str, width: int, column: str) -> str:
    space = " " * (width - display_width(text))
    return text + space if column in _LEFT else space + text


def interval_words(found: Difference) -> str:
    """Both ends of the interval in points, `-1.2..+11.8`; empty where there is none."""
    if found.low is None or found.high is None:
        return ""
    return f"{points1(found.low)}..{points1(found.high)}"


def p_words(value: float) -> str:
    """A p value with three decimals."""
    return "<0.001" if value < 0.001 else f"{value:.3f}"


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
    ends = interval_words(cell.found) if cell.found else ""
    around = f", 95 % {ends}" if ends else ""
    apart = f", {cell.unscored} without a pair" if cell.unscored else ""
    return f"{family_name(cell.family)} {place}: {first} -> {second} ({change}{around}, n {cell.n}{apart})"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
