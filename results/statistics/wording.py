"""Words for scores, lengths, depths and differences: clauses of sentences, and cells of tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from needlework.core.record import OutcomeName
from needlework.results.adaptive.design import SHARE
from needlework.results.adaptive.statement import LengthStatement
from needlework.results.statistics.depth import DepthEffect
from needlework.results.statistics.depth_tables import depth_range_words
from needlework.results.statistics.effective_length import RELATIVE, RULER_THRESHOLD, EffectiveLength
from needlework.results.statistics.paired import Difference
from needlework.results.statistics.panels import Range, Share, Tally
from needlework.results.style import NONE, length_label, one_line, percent, percent1

LISTED = 4  # scores or models, of which each is named
_CHANCE = 0.05  # what is said of depth may be chance in at most so many runs
_TELLING = 0.2  # score: how far apart two depths are before a difference that may be chance is spoken of


def share_words(share: Share, limits: Range | None = None, *, ends: bool = True) -> str:
    """`87.5 % (95 % sure: 81.0 to 92.1)`; `between 70.0 and 80.0 %` where undecided answers decide; else empty."""
    if limits is not None:
        return f"between {percent1(limits[0])} and {percent1(limits[1])} %"
    if share.value is None:
        return ""
    score = f"{percent1(min(1.0, max(0.0, share.value)))} %"
    if not ends or share.low is None or share.high is None:
        return score
    return f"{score} (95 % sure: {percent1(max(0.0, share.low))} to {percent1(min(1.0, share.high))})"


def tally_words(tally: Tally, *, ends: bool = True) -> str:
    """The same of a tally; without `ends`, the score alone."""
    return share_words(tally.share, tally.range if tally.n else None, ends=ends)


def score_clause(tally: Tally) -> str:
    """`scores 87.5 % (95 % sure: 81.0 to 92.1)`; empty where there is no score."""
    share = tally_words(tally)
    alone = tally.mean is not None and tally.interval is None and not (tally.range and tally.n)
    return f"scores {share}{' (one sample: says nothing of others)' if alone else ''}" if share else ""


def spread_clauses(scores: Sequence[tuple[str, Tally]], scope: str) -> list[str]:
    """`25.0 % on chain, 90.0 % on niah`, from the lowest on; of many scores the lowest and the highest.

    `scores`: with the words that follow each; `scope`: the words that follow all of them.
    """
    known = sorted(
        (tally.mean, one_line(name)) for name, tally in scores if tally.mean is not None and tally.range is None
    )
    if len(known) < 2:
        return []
    (low, worst), (high, best) = known[0], known[-1]
    if low == high:
        return [f"{percent1(low)} % each {scope}"]
    if len(known) <= LISTED:
        return [", ".join(f"{percent1(score)} % {name}" for score, name in known)]
    return [f"from {percent1(low)} % {worst} to {percent1(high)} % {best}, {scope}"]


def models_clauses(scores: Mapping[str, Tally]) -> list[str]:
    """`2 models, scores in percent: a 90.0 (95 % sure: 80.1 to 95.2), b 40.0 (...)`, and `a is best`."""
    names = []
    for model, score in [*scores.items()][:LISTED]:
        share = tally_words(score).removesuffix(" %").replace(" % (", " (")
        names.append(f"{one_line(model)} {share or 'no score'}")
    more = [f"and {len(scores) - LISTED} more"] if len(scores) > LISTED else []
    lead = f"{len(scores)} models, scores in percent: {', '.join([*names, *more])}"
    if any(score.mean is None for score in scores.values()):
        return [lead]
    return [lead, _best(scores)]


def _best(scores: Mapping[str, Tally]) -> str:
    """The best model, where its interval lies above all others; models of one run were asked the same questions."""
    ends = {model: (score.interval.low, score.interval.high)
            for model, score in scores.items() if score.interval and score.range is None}  # fmt: skip
    if len(ends) < len(scores):
        return "not all of them have an interval: none is shown to be best"
    best = max(ends, key=lambda model: ends[model][0])
    if all(ends[best][0] > high for model, (_, high) in ends.items() if model != best):
        return f"{one_line(best)} is best"
    return "their intervals overlap: none is shown to be best"


def bar_words(rule: str, threshold: float, share: float = RELATIVE) -> str:
    """`RULER's 85.6 %`: whose bar it is, where it is theirs; of the relative rule `85 % of its base score`."""
    if rule == "relative":
        return f"{100 * share:.0f} % of its base score"
    return f"RULER's {percent1(threshold)} %" if threshold == RULER_THRESHOLD else f"{percent1(threshold)} %"


def length_clause(length: EffectiveLength) -> str:
    """`holds RULER's 85.6 % up to 2k tokens (95 % sure: 1k to 4k)`; empty where nothing has a score.

    What is "sure" is what the intervals say: at least `conservative`, at most `optimistic`. Where undecided answers
    decide the rest, that is all, if it is anything.
    """
    if length.longest_tested is None or (length.rule == "relative" and not length.base):
        return ""
    bar, low = bar_words(length.rule, length.threshold), length.conservative
    if length.status == "at least":
        scored = " with a score" if length.longest_asked not in (None, length.longest_tested) else ""
        return f"holds {bar} at every length{scored}, up to {length_label(length.longest_tested)} tokens (95 % sure)"
    if length.status == "none":
        return f"does not hold {bar} at any length, {length_label(length.decisive)} tokens included (95 % sure)"
    most = None if length.optimistic == length.longest_tested else length.optimistic
    if length.hangs:
        return "" if low is None and most is None else _within(bar, low, most)
    limit = f"up to {length_label(length.point)} tokens" if length.point is not None else "at no length by its scores"
    if length.optimistic is None:
        sure = "95 % sure: at no length"
    elif low is None:
        sure = "nothing about it is 95 % sure yet" if most is None else f"95 % sure: at most {length_label(most)}"
    elif most is None:
        sure = f"95 % sure: {length_label(low)} or more"
    else:
        sure = "95 % sure" if low == most else f"95 % sure: {length_label(low)} to {length_label(most)}"
    return f"holds {bar} {limit} ({sure})"


def few_clause(length: EffectiveLength) -> str:
    """What so few samples showed of the length, and how many would do: `too few to say ...`; else empty."""
    if length.rule == "relative" and not length.base:
        return ""
    limit = f"up to {length_label(length.point)} tokens" if length.point is not None else "at no length"
    most = ""
    if length.optimistic is None:
        most = "; 95 % sure is that it holds it nowhere"
    elif length.optimistic != length.longest_tested:
        most = f"; 95 % sure is only that it ends by {length_label(length.optimistic)}"
    count = "one question" if length.samples == 1 else f"{length.samples} questions"
    bar = bar_words(length.rule, length.threshold)
    return f"in this run it held {bar} {limit}, but {count} a length cannot prove that ({length.needed} can){most}"


def adaptive_clause(statement: LengthStatement) -> str:
    """`holds RULER's 85.6 % up to 32k to 64k tokens (95 % sure)`; empty where the bar is not known."""
    if statement.bar is None:
        return ""
    bar = bar_words(statement.rule, statement.bar, SHARE)
    low, high = statement.low, statement.high
    if high is None:
        return f"does not hold {bar} even at {length_label(statement.lengths[0].length)} tokens (95 % sure)"
    if not statement.or_more:
        return _within(bar, low, high)
    if low is None:
        scored = any(each.n for each in statement.lengths)
        return f"is not decided: no length is shown to hold {bar}, none to fail it" if scored else ""
    if low == high:
        return f"holds {bar} at every length, up to {length_label(high)} tokens (95 % sure)"
    between = f"a length between {length_label(low)} and {length_label(high)} or more tokens"
    return f"holds {bar} up to {between} (95 % sure)"


def _within(bar: str, low: int | None, high: int | None) -> str:
    """At least `low` tokens, at most `high`; `None` for an end that is not known."""
    if high is None:
        ends = f"{length_label(low)} tokens at least"
    elif low is None:
        ends = f"at most {length_label(high)} tokens"
    elif low == high:
        ends = f"{length_label(low)} tokens"
    else:
        ends = f"a length between {length_label(low)} and {length_label(high)} tokens"
    return f"holds {bar} up to {ends} (95 % sure)"


_SHAPES = {
    "lost in the middle": "weakest in the middle of the text",
    "primacy": "best where the answer stands early",
    "recency": "best where the answer stands late",
    "falling": "weaker the later the answer stands",
    "rising": "weaker the earlier the answer stands",
    "flat": "no part of the text more than 10 points weaker",
}


def depth_clause(effect: DepthEffect | None, *, undecided: bool = False) -> str:
    """`weakest at depth 10..30 %`; a difference that may be chance is called so, or, a small one, left out.

    `undecided`: where answers are, what is shown is so of the others, and what may be chance is left out.
    """
    if effect is None:
        return ""
    p = effect.p if effect.p_adjusted is None else effect.p_adjusted
    significant, ends = p is not None and p <= _CHANCE, effect.extremes
    clause, shown = "", True
    if effect.shape == "flat" or (effect.shape in _SHAPES and significant):
        clause = _SHAPES[effect.shape]
    elif effect.shape == "hole" and effect.place is not None and significant:
        clause = f"weakest at depth {depth_range_words(effect.place)}"
    elif ends is not None and ends.best_score - ends.worst_score >= _TELLING:
        shown = ends.p_adjusted <= _CHANCE
        worst = f"{percent1(min(1.0, max(0.0, round(ends.worst_score, 9))))} %"
        clause = f"{'weakest' if shown else 'lowest'} at depth {depth_range_words(ends.worst)} ({worst})"
        clause += "" if shown else ", which may be chance"
    if undecided and clause:
        return f"{clause} by the answers that have a score" if shown else ""
    return clause


# What the scores leave out

_LOST: dict[OutcomeName, tuple[str, str]] = {
    "censored": ("was cut off", "were cut off"),
    "unclear": ("is neither right nor wrong by the rule", "are neither right nor wrong by the rule"),
    "empty": ("was empty", "were empty"),
    "refused": ("declines to answer", "decline to answer"),
}
_MISSING: dict[OutcomeName, str] = {
    "skipped": "did not fit the model's window",
    "invalid": "were not read as they were sent",
    "error": "failed",
}


def lost_clauses(tallies: Sequence[Tally]) -> list[str]:
    """`4 of 25 answers were cut off`, `6 of 36 questions did not fit the model's window`."""
    trials = sum(each.trials for each in tallies)
    counts = Counter[OutcomeName]()
    for tally in tallies:
        counts.update(tally.counts)
    answers = trials - sum(counts[name] for name in _MISSING)
    lost = [(words[counts[name] != 1], counts[name]) for name, words in _LOST.items() if counts[name]]
    return [
        *(f"{count:,} of {answers:,} answers {words}" for words, count in lost),
        *(f"{counts[name]:,} of {trials:,} questions {words}" for name, words in _MISSING.items() if counts[name]),
    ]


# Cells of tables


def number_cell(value: float | None) -> str:
    """A share in percent with one decimal; it may lie beyond 0..1."""
    if value is None:
        return NONE
    return percent1(value) if 0 <= value <= 1 else f"{100 * value:.1f}"


def interval_cell(share: Share) -> str:
    """`81.0–92.1`, percent."""
    return NONE if share.low is None or share.high is None else f"{number_cell(share.low)}–{number_cell(share.high)}"


def share_cell(share: Share) -> str:
    """`87.5 (81.0–92.1)`, percent; without an interval `87.5`."""
    return number_cell(share.value) + ("" if share.low is None or share.value is None else f" ({interval_cell(share)})")


def rate_words(share: Share, n: int, alone: str) -> str:
    """`87.5 % (95 % interval 81.0–92.1), n = 96`; `alone`: what to say in place of a missing interval."""
    if share.value is None:
        return "no score"
    ends = alone if share.low is None else f"95 % interval {interval_cell(share)}"
    return f"{number_cell(share.value)} % ({ends}), n = {n}"


def unscored_words(counts: Mapping[OutcomeName, int]) -> str:
    """`3 censored, 1 error`; empty without any."""
    return ", ".join(f"{count} {outcome}" for outcome, count in counts.items())


def score_and_interval(scores: Tally, none: str = NONE) -> tuple[str, str]:
    """The score and its interval in two cells of a table, percent: `87.5`, `81.0–92.1`.

    Where answers are undecided: `70.0–80.0`, `scored 77.8 (68.3–85.1)`.
    """
    interval = none if scores.interval is None else interval_cell(scores.share)
    score = none if scores.mean is None else percent1(scores.mean)
    if scores.range is None:
        return score, interval
    ends = f" ({interval})" if scores.interval is not None else ""
    return range_words(scores.range), f"scored {score}{ends}" if scores.n else none


def range_words(ends: Range, *, whole: bool = False) -> str:
    """`70.0–80.0`, percent; in `whole` percents `70–80`."""
    low, high = (percent(each) if whole else percent1(each) for each in ends)
    return f"{low}–{high}"


def percent2(value: float | None) -> str:
    """A share of 0..1 as percent with two decimals, as published tables have it."""
    return NONE if value is None else f"{100 * value:.2f}"


def ends(share: Share) -> str:
    """The interval of a share of 0..1, in percent."""
    return NONE if share.low is None or share.high is None else f"{100 * share.low:.1f}–{100 * share.high:.1f}"


def points(difference: float) -> str:
    """A difference of scores as whole points: `+5`, `-12`; `+0` is a rise of less than half a point, `0` is none."""
    return f"{100 * difference:+.0f}" if difference else "0"


def points1(difference: float) -> str:
    """A difference of scores as points with one decimal and its sign."""
    text = f"{100 * difference:+.1f}"
    return "0.0" if text in ("+0.0", "-0.0") else text


def interval_words(difference: Difference) -> str:
    """Both ends of the interval in points, `-1.2..+11.8`; empty where there is none."""
    if difference.low is None or difference.high is None:
        return ""
    return f"{points1(difference.low)}..{points1(difference.high)}"


def p_words(value: float) -> str:
    """A p value with three decimals."""
    return "<0.001" if value < 0.001 else f"{value:.3f}"
