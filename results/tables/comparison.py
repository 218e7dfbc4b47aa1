"""Tables of comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from needlework.core.record import NOTHING_SAID, SCORED, UNSCORED, OutcomeName
from needlework.results.statistics.comparison.comparison import Comparison, FamilyDifference, Losses
from needlework.results.statistics.comparison.joining import Family
from needlework.results.statistics.comparison.many_runs import Against, RunScores, needed_samples
from needlework.results.statistics.intervals import Interval
from needlework.results.statistics.paired import FEWEST_FOR_P, Difference
from needlework.results.style import display_width, length_labels, one_line, percent1
from needlework.results.tables.terminal import NONE, aligned

_HEAD = ("task", "needle", "pairs", "A % (95 %)", "B % (95 %)", "B - A", "95 % interval")
_LOSSES = "losses as misses"
_LEFT = {"model", "task", "needle", "verdict"}  # columns of words; those of numbers end at the right
VERDICTS = {
    "better": "B is better",
    "worse": "B is worse",
    "no difference shown": "no difference shown",
    "undetermined": "undetermined",
}
PARTS_SHOWN = 4  # of what differs; the rest is counted
_SHOWN = 20  # rows; the page has them all

Windows = tuple[int | None, int | None]
"""The windows of A and of B in tokens, where they are known."""


def comparison_lines(comparison: Comparison, windows: Windows = (None, None)) -> list[str]:
    """Return what a terminal has of a comparison: losses first, a row for each family, and counts of the rest."""
    lines = [loss_words(each, windows) for each in comparison.losses]
    lines += [*([""] if lines else []), *_table(comparison.families), ""]
    lines.append(f"pairs: {comparison.pairs}{''.join(f', {part}' for part in left_out(comparison))}")
    lines += [f"{name}: {outcomes_of_run(comparison, side)}" for side, name in enumerate("AB")]
    regressed, improved = (len(comparison.changed(sign)) for sign in (-1, 1))
    lines.append(f"means of cells as seen: {_count(regressed, 'cell')} regressed, {improved} improved")
    return [*lines, *cautions(comparison)]


def loss_words(losses: Losses, windows: Windows = (None, None), names: tuple[str, str] = ("A", "B")) -> str:
    """`B cannot answer 12 of 36 trials that A scored: all 12 at 2k (12 skipped); window 1024, A had 8192`."""
    name, other = names[losses.side], names[1 - losses.side]
    own, theirs = windows[losses.side], windows[1 - losses.side]
    window = "" if own is None or own == theirs else f"; window {own}"
    window += f", {other} had {theirs}" if window and theirs is not None else ""
    return f"{name} cannot answer {losses.lost} of {losses.of} trials that {other} scored: {lost_words(losses)}{window}"


def lost_words(losses: Losses) -> str:
    """`all 12 at 2k (12 skipped)`."""
    labels = length_labels([*losses.by_length])
    places = [
        f"all {of} at {label}" if lost == of else f"{lost} of {of} at {label}"
        for label, (lost, of) in zip(labels, losses.by_length.values(), strict=True)
    ]
    outcomes = ", ".join(f"{count} {outcome}" for outcome, count in losses.outcomes.items())
    return f"{', '.join(places)} ({outcomes})"


def differing_lines(parts: Sequence[str], runs: str, rest: str) -> list[str]:
    """Return what differs between two `runs` besides their scores; `rest`: where the parts are that are not shown."""
    told = [one_line(part) for part in parts]
    more = [f"and {len(told) - PARTS_SHOWN} more, {rest}"] if len(told) > PARTS_SHOWN else []
    return [f"differs between {runs} (A / B):", *(f"  {part}" for part in [*told[:PARTS_SHOWN], *more])]


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
    """What few samples leave open; empty from six on."""
    found = family.difference
    if found is None or found.clusters >= FEWEST_FOR_P:
        return ""
    name = family_name(family.family)
    if found.clusters == 1:
        return f"{name}: one sample: the runs differ by {points1(found.mean)} on it; says nothing of other needles"
    return f"{name}: from {found.clusters} samples; a verdict takes {FEWEST_FOR_P}"


def outcomes_of_run(comparison: Comparison, side: int) -> str:
    """`80 trials, 76 scored (2 empty), 3 censored, 1 error` of one run: 0 is A, 1 is B."""
    counts: dict[OutcomeName, int] = {}
    for family in comparison.families:
        for name, number in family.outcomes[side].items():
            counts[name] = counts.get(name, 0) + number
    scored = sum(counts[name] for name in SCORED)
    nothing = ", ".join(f"{counts[name]} {name}" for name in NOTHING_SAID if counts[name])
    parts = [_count(sum(counts.values()), "trial"), f"{scored} scored{f' ({nothing})' if nothing else ''}"]
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
    return " · ".join([*parts, *([f"{_LOSSES}: {counted_words(family)}"] if family.losses else [])])


def counted_words(family: FamilyDifference) -> str:
    """B - A with losses as misses: `-33.3 (-63.7..-2.9)`, points; `-` where neither run scored anything."""
    found = family.counted
    if found is None:
        return "-"
    ends = interval_words(found)
    return f"{points1(found.mean)} ({ends})" if ends else points1(found.mean)


def points(difference: float) -> str:
    """A difference of scores as whole points: `+5`, `-12`; `+0` is a rise of less than half a point, `0` is none."""
    return f"{100 * difference:+.0f}" if difference else "0"


def points1(difference: float) -> str:
    """A difference of scores as points with one decimal and its sign."""
    text = f"{100 * difference:+.1f}"
    return "0.0" if text in ("+0.0", "-0.0") else text


def _table(families: Sequence[FamilyDifference]) -> list[str]:
    models, losses = any(family.family[0] for family in families), any(family.losses for family in families)
    head = (*(("model",) if models else ()), *_HEAD, *((_LOSSES,) if losses else ()), "p (Holm)", "verdict")
    rows = [_row(family, losses)[0 if models else 1 :] for family in families[:_SHOWN]]
    left = len(families) - _SHOWN
    return [*_laid_out(head, rows), *([f"and {left} more"] if left > 0 else [])]


def _row(family: FamilyDifference, losses: bool) -> tuple[str, ...]:
    whole = family.whole
    scores = (score_words(mean, ends) for mean, ends in zip((whole.first, whole.second), whole.intervals, strict=True))
    difference = "-" if whole.difference is None else points1(whole.difference)
    ends = interval_words(whole.found) if whole.found else ""
    counted = (counted_words(family),) if losses else ()
    p = "-" if family.p_adjusted is None else p_words(family.p_adjusted)
    return *map(one_line, family.family), str(whole.n), *scores, difference, ends or "-", *counted, p, family.verdict


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


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


_SAME = "the first"


def several_lines(found: Sequence[Against], windows: Mapping[str, int | None]) -> list[str]:
    """Return what a terminal has of them: losses, the table, cautions. `windows`: of each run in tokens, if known."""
    if not found:
        return []
    losses = losses_lines(found, windows)
    rows = [head(found), *(several_row(each, first=each is found[0], losses=has_losses(found)) for each in found)]
    return [*losses, *([""] if losses else []), *aligned(rows, names=1), *several_cautions(found)]


def losses_lines(found: Sequence[Against], windows: Mapping[str, int | None]) -> list[str]:
    """`small cannot answer 12 of 36 trials that f16 scored: all 12 at 2k (12 skipped); window 1024, f16 had 8192`."""
    return [
        loss_words(loss, (windows.get(each.base), windows.get(each.name)), (one_line(each.base), one_line(each.name)))
        for each in found
        for loss in each.losses
    ]


def has_losses(found: Sequence[Against]) -> bool:
    """Whether any of them could not answer what another could."""
    return any(each.losses for each in found)


def head(found: Sequence[Against]) -> tuple[str, ...]:
    """The table's columns."""
    counted = ("losses as misses",) if has_losses(found) else ()
    bases = {each.base for each in found[1:]}
    difference = f"- {one_line(found[0].name)}" if bases <= {found[0].name} else "- the one before"
    return (
        "configuration",
        "trials",
        "score % (95 %)",
        difference,
        "95 %",
        *counted,
        "p (Holm)",
        "worse from",
        "verdict",
    )


def several_row(each: Against, *, first: bool, losses: bool) -> tuple[str, ...]:
    """One run's row, in the order of `head`."""
    name, scores = one_line(each.name), each.scores
    own = (name, _trials(scores), _score(scores))
    counted: tuple[str, ...] = (NONE,) if losses else ()
    if each.whole is None:
        said = _SAME if first else "not compared" if each.why else NONE
        return (*own, NONE, NONE, *counted, NONE, NONE, said)
    whole = each.whole
    difference = NONE if whole.whole.difference is None else points1(whole.whole.difference)
    ends = interval_words(whole.difference) if whole.difference else ""
    if losses and whole.counted is not None:
        counted = (points1(whole.counted.mean),)
    p = NONE if whole.p_adjusted is None else p_words(whole.p_adjusted)
    return (*own, difference, ends or NONE, *counted, p, _worse_from(each), str(each.verdict))


def several_cautions(found: Sequence[Against]) -> list[str]:
    """What makes the rows mean less than they seem to."""
    lines = [f"{one_line(each.name)} is not compared: {one_line(each.why)}" for each in found if each.why]
    for each in found:
        if each.different_prompts:
            trials = f"{each.different_prompts} trials"
            lines.append(f"caution: {one_line(each.name)} was asked other prompts in {trials} (another tokenizer?)")
    few = [each for each in found if each.whole is not None and each.verdict == "undetermined"]
    if few:
        needed = max(needed_samples(each.whole.families) for each in few if each.whole is not None)
        names = ", ".join(one_line(each.name) for each in few)
        lines.append(f"undetermined: too few samples for a verdict ({names}); give --repeats {needed} or more")
    return lines


def _score(scores: RunScores) -> str:
    """`87.5 (81.0..92.1)`; `50.4..100, scored 100 (97.0..100)` where answers are undecided."""
    scored = score_words(scores.mean, scores.interval)
    if scores.range is None:
        return scored
    ends = "..".join(map(percent1, scores.range))
    return ends if scores.mean is None else f"{ends}, scored {scored}"


def _trials(scores: RunScores) -> str:
    return str(scores.n) if scores.n == scores.trials else f"{scores.n} of {scores.trials}"


def _worse_from(each: Against) -> str:
    lengths = sorted(each.at)
    return NONE if each.worse_from is None else dict(zip(lengths, length_labels(lengths), strict=True))[each.worse_from]
