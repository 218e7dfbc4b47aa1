"""What the trials of a group say about its mean: an interval at any level, and the trials that would narrow it.

One look at a gate uses a 95 % interval: a model that is exactly at the limit passes with a chance of 2.5 %. A further
look, after further trials, gives it another chance. So each look may err half as often as the one before: 2.5 %, then
1.25 %, 0.625 %, ..., together at most 5 %, however many there are (type I error spending: K. K. G. Lan, D. L. DeMets,
"Discrete sequential boundaries for clinical trials", Biometrika 70 (1983) 659-663; the sum is Bonferroni's bound).

Wilson's interval, which every table shows, is right on average. At few trials, on the side that lies away from 0 and 1,
it is too short: one miss of one trial would show a score below 0.8. Gates therefore use the exact interval (C. J.
Clopper, E. S. Pearson, Biometrika 26 (1934) 404-413), for clustered trials and partial credit at their effective number
(E. L. Korn, B. I. Graubard, "Confidence intervals for proportions with small expected number of positive counts
estimated from survey data", Survey Methodology 24 (1998) 193-201). It is a little wider.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist

from needlework.results.statistics.intervals import Z95, Interval
from needlework.results.statistics.paired import Difference

_FIRST_LOOK = 0.025  # chance of a wrong pass, and of a wrong fail
_MOST = 1_000_000  # trials; a gate that needs more is not told a number

Ends = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Evidence:
    """A mean of `n` trials. `ends(wrong, growth)`: its interval, had it `growth` times as many trials with the same
    mean; `wrong` is the chance that it lies above what it estimates, and the chance that it lies below.
    """

    mean: float
    n: int
    ends: Callable[[float, float], Ends]


def wrong_at(look: int) -> float:
    """The chance of a wrong pass, and of a wrong fail, that the `look`-th look at a group may have."""
    return _FIRST_LOOK * 0.5 ** (look - 1)


def level_of(look: int) -> float:
    """The level, in percent, of the interval that the `look`-th look uses: 95, 97.5, 98.75, ..."""
    return 100 * (1 - 2 * wrong_at(look))


def of_scores(mean: float, interval: Interval, n: int) -> Evidence:
    """Evidence about a mean score, from its 95 % interval."""
    if interval.method != "wilson":
        return _by_root(mean, interval.low, interval.high, n)
    # The effective number of trials is the one whose Wilson interval this is: (mean - end)2 = z2 end (1 - end) / n.
    end = interval.low if mean >= 0.5 else interval.high
    size = Z95**2 * end * (1 - end) / (mean - end) ** 2
    return Evidence(mean, n, lambda wrong, growth: exact(mean, size * growth, wrong))


def exact(mean: float, n: float, wrong: float) -> Ends:
    """Return the Clopper-Pearson interval of a share `mean` of `n` trials, which may be an effective number."""
    from scipy.special import betaincinv

    hits = mean * n
    low = float(betaincinv(hits, n - hits + 1, wrong)) if hits > 0 else 0.0
    high = float(betaincinv(hits + 1, n - hits, 1 - wrong)) if hits < n else 1.0
    return low, high


def of_difference(found: Difference, *, hits: bool) -> Evidence | None:
    """Evidence about a mean of paired differences; `None` where one sample alone says nothing.

    `hits`: whether they are differences of 0/1 scores.
    """
    if found.low is None or found.high is None:
        return None
    if hits:
        return _by_bonett_price(found.mean, found.low, found.high, found.n)
    if found.method != "agreement":
        return _by_root(found.mean, found.low, found.high, found.n)

    def ends(wrong: float, growth: float) -> Ends:
        z2 = _quantile(wrong) ** 2
        hidden = z2 / (found.clusters * growth + z2)
        return found.mean - hidden * (1 + found.mean), found.mean + hidden * (1 - found.mean)

    return Evidence(found.mean, found.n, ends)


def _by_root(mean: float, low: float, high: float, n: int) -> Evidence:
    """Both sides shrink with the square root of the trials and grow with the normal quantile."""

    def ends(wrong: float, growth: float) -> Ends:
        scale = _quantile(wrong) / (Z95 * sqrt(growth))
        return mean - (mean - low) * scale, mean + (high - mean) * scale

    return Evidence(mean, n, ends)


def _by_bonett_price(mean: float, low: float, high: float, n: int) -> Evidence:
    """Differences of 0/1 scores have one pair of each discordant kind added (see `mean_difference`), however many pairs
    there are: with few discordant ones the interval shrinks faster than by the root.
    """
    seen = max(0.0, ((high - low) / 2 / Z95 * (n + 2)) ** 2 - 2)  # squared differences, beside the two that are added

    def spread(growth: float) -> float:
        return sqrt(seen * growth + 2) / (n * growth + 2)

    def ends(wrong: float, growth: float) -> Ends:
        middle, scale = mean * n / (n + 2), _quantile(wrong) / Z95 * spread(growth) / spread(1.0)
        centre = mean * n * growth / (n * growth + 2)
        return centre - (middle - low) * scale, centre + (high - middle) * scale

    return Evidence(mean, n, ends)


def _quantile(wrong: float) -> float:
    return Z95 if wrong == _FIRST_LOOK else -NormalDist().inv_cdf(wrong)


def further_trials(evidence: Evidence, decides: Callable[[float, float], bool], look: int) -> int | None:
    """Return the fewest further trials, at the mean seen, after which `decides(low, high)` holds at that look.

    `None` where a million would not do: the mean is at the limit.
    """
    wrong = wrong_at(look)

    def enough(more: int) -> bool:
        return decides(*evidence.ends(wrong, (evidence.n + more) / evidence.n))

    high = 1
    while not enough(high):
        high *= 2
        if high > _MOST:
            return None
    low = high // 2  # 0, or too few
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
