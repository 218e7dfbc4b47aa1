"""Clauses that sentences about any run are made of. None says more than the intervals do."""

from __future__ import annotations

from collections.abc import Sequence

from needlework.core.record import UNDECIDED, OutcomeName
from needlework.results.statistics.depth import DepthEffect
from needlework.results.statistics.depth_tables import place_words
from needlework.results.statistics.panels import Range, Tally
from needlework.results.style import length_labels, percent1

SURE = 0.05  # what is said of depth may be chance in at most so many runs
_TELLING = 0.2  # score: how far apart two depths are before a difference that may be chance is spoken of
# What became of answers that are in no score, and of those that say nothing; of one, of several.
_LOST: tuple[tuple[OutcomeName, str, str], ...] = (
    ("censored", "was cut off", "were cut off"),
    ("unclear", "is neither right nor wrong by the rule", "are neither right nor wrong by the rule"),
    ("empty", "was empty", "were empty"),
    ("refused", "was a refusal", "were refusals"),
)
_MISSING: tuple[tuple[OutcomeName, str], ...] = (
    ("skipped", "did not fit the model's window"),
    ("invalid", "were not read as they were sent"),
    ("error", "failed"),
)
_SHAPES = {
    "lost in the middle": "weakest in the middle of the text",
    "primacy": "best where the answer stands early",
    "recency": "best where the answer stands late",
    "falling": "weaker the later the answer stands",
    "rising": "weaker the earlier the answer stands",
    "flat": "no part of the text more than 10 points weaker",
}


def tokens(length: int | None) -> str:
    """`2k`."""
    return "none" if length is None else length_labels([length])[0]


def span(lengths: Sequence[int], at: str = "at") -> str:
    """`at 4k tokens`, `at 500 to 4k tokens`."""
    ends = list(dict.fromkeys((min(lengths), max(lengths))))
    return f"{at} {' to '.join(length_labels(ends))} tokens"


def ends_words(low: float, high: float) -> str:
    """`95 % sure: 81.0 to 92.1`, percent."""
    return f"95 % sure: {percent1(max(0.0, low))} to {percent1(min(1.0, high))}"


def range_words(ends: Range) -> str:
    """`between 70.0 and 80.0 %`: a score whose undecided answers are all misses, and all hits."""
    return f"between {percent1(ends[0])} and {percent1(ends[1])} %"


def score_clause(found: Tally) -> str:
    """`scores 87.5 % (95 % sure: 81.0 to 92.1)`; a range where answers are undecided; empty where there is no score."""
    if found.range is not None and found.n:
        return f"scores {range_words(found.range)}"
    if found.mean is None:
        return ""
    if found.interval is None:
        return f"scores {percent1(found.mean)} % (one sample: says nothing of others)"
    return f"scores {percent1(found.mean)} % ({ends_words(found.interval.low, found.interval.high)})"


def depth_clause(effect: DepthEffect | None, *, undecided: bool = False) -> str:
    """`weakest at depth 10..30 %`; a difference that may be chance is called so, or, a small one, left out.

    `undecided`: where answers are, what is shown is so of the others, and what may be chance is left out.
    """
    said, shown = _depth(effect)
    if undecided and said:
        return f"{said} by the answers that have a score" if shown else ""
    return said


def _depth(effect: DepthEffect | None) -> tuple[str, bool]:
    """What is said of depth, and whether it is shown."""
    if effect is None:
        return "", False
    p = effect.p if effect.p_adjusted is None else effect.p_adjusted
    if effect.shape == "flat":
        return _SHAPES["flat"], True
    if p is not None and p <= SURE:
        if effect.shape == "hole" and effect.place is not None:
            return f"weakest at depth {place_words(effect.place)}", True
        if effect.shape in _SHAPES:
            return _SHAPES[effect.shape], True
    ends = effect.extremes
    if ends is None or ends.best_score - ends.worst_score < _TELLING:
        return "", False
    worst = f"at depth {place_words(ends.worst)} ({percent1(min(1.0, max(0.0, round(ends.worst_score, 9))))} %)"
    shown = ends.p_adjusted <= SURE
    return f"weakest {worst}" if shown else f"lowest {worst}, which may be chance", shown


def lost_clauses(found: Sequence[Tally], then: str = "") -> list[str]:
    """`4 of 25 answers were cut off`, `6 of 36 questions did not fit the model's window`: what scores leave out.

    `then`: what follows from the undecided ones, which stands behind them.
    """
    trials = sum(each.trials for each in found)
    names: list[OutcomeName] = [*(name for name, _, _ in _LOST), *(name for name, _ in _MISSING)]
    counts = {name: sum(each.counts.get(name, 0) for each in found) for name in names}
    answers = trials - sum(counts[name] for name, _ in _MISSING)
    last = next((name for name in reversed(UNDECIDED) if counts[name]), None)
    return [
        *(
            f"{counts[name]:,} of {answers:,} answers {one if counts[name] == 1 else many}"
            + (f": {then}" if then and name == last else "")
            for name, one, many in _LOST
            if counts[name]
        ),
        *(f"{counts[name]:,} of {trials:,} questions {words}" for name, words in _MISSING if counts[name]),
    ]
