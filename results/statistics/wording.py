"""Words for scores and differences: in sentences, and in cells of tables."""

from collections.abc import Mapping

from needlework.core.record import OutcomeName
from needlework.results.statistics.effective_length import RELATIVE, RULER_THRESHOLD
from needlework.results.statistics.paired import Difference
from needlework.results.statistics.panels import Range, Share, Tally
from needlework.results.style import NONE, percent, percent1


def share_words(share: Share, limits: Range | None = None) -> str:
    """`87.5 % (95 % sure: 81.0 to 92.1)`; `between 70.0 and 80.0 %` by undecided answers; or empty."""
    if limits is not None:
        return f"between {percent1(limits[0])} and {percent1(limits[1])} %"
    if share.value is None:
        return ""
    score = f"{percent1(min(1.0, max(0.0, share.value)))} %"
    if share.low is None or share.high is None:
        return score
    return f"{score} (95 % sure: {percent1(max(0.0, share.low))} to {percent1(min(1.0, share.high))})"


def tally_words(tally: Tally) -> str:
    """`share_words` of a tally."""
    return share_words(tally.share, tally.range if tally.n else None)


def bar_words(rule: str, threshold: float) -> str:
    """`RULER's 85.6 %`, with the owner of a published bar; of the relative rule `85 % of its base score`."""
    if rule == "relative":
        return f"{100 * RELATIVE:.0f} % of its base score"
    return f"RULER's {percent1(threshold)} %" if threshold == RULER_THRESHOLD else f"{percent1(threshold)} %"


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


def score_cells(share: Share, limits: Range | None = None) -> tuple[str, str]:
    """A score and its interval in two cells of a table, percent: `87.5`, `81.0–92.1`.

    By undecided answers (`limits`) `70.0–80.0`, `scored 77.8 (68.3–85.1)`.
    """
    if limits is None:
        return number_cell(share.value), interval_cell(share)
    return range_words(limits), NONE if share.value is None else f"scored {share_cell(share)}"


def score_and_interval(scores: Tally) -> tuple[str, str]:
    """`score_cells` of a tally."""
    return score_cells(scores.share, scores.range)


def range_words(ends: Range, *, whole: bool = False) -> str:
    """`70.0–80.0`, percent; in `whole` percents `70–80`."""
    low, high = (percent(each) if whole else percent1(each) for each in ends)
    return f"{low}–{high}"


def percent2(value: float | None) -> str:
    """A share of 0..1 as percent with two decimals, as published tables have it."""
    return NONE if value is None else f"{100 * value:.2f}"


def points(difference: float) -> str:
    """A difference of scores in whole points: `+5`, `-12`; `+0` is a rise below half a point, `0` none."""
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


def points_cells(difference: Difference | None) -> tuple[str, str]:
    """`-33.3` and `-63.7..-2.9`."""
    if difference is None:
        return NONE, NONE
    return points1(difference.mean), interval_words(difference) or NONE


def p_words(value: float) -> str:
    """A p value with three decimals."""
    return "<0.001" if value < 0.001 else f"{value:.3f}"
