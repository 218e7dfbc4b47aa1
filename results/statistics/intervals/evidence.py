"""What the trials of a group say about its mean: an interval at any level, and the samples that would narrow it.

One look at a gate uses a 95 % interval: a model that is exactly at the limit passes with a chance of 2.5 %. A further
look, after further trials, gives it another chance. So each look may err half as often as the one before: 2.5 %, then
1.25 %, 0.625 %, ..., together at most 5 %, however many there are (type I error spending: K. K. G. Lan, D. L. DeMets,
"Discrete sequential boundaries for clinical trials", Biometrika 70 (1983) 659-663; the sum is Bonferroni's bound).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

from needlework.results.statistics.intervals.clustered import ERROR, Counts, Ends, counts_of, exact_ends
from needlework.results.statistics.intervals.paired import difference_ends, pairs_of

_MOST = 100_000  # samples; a gate that needs more is not told a number


@dataclass(frozen=True, slots=True)
class Evidence:
    """A mean of trials from so many `samples`.

    `ends(error, growth)`: its interval, had there been `growth` times as many samples of the same mixture; `error` is
    the chance that it lies above what it estimates, and the chance that it lies below.
    """

    mean: float
    samples: int
    ends: Callable[[float, float], Ends]


def error_at(look: int) -> float:
    """The chance of a wrong pass, and of a wrong fail, that the `look`-th look at a group may have."""
    return ERROR * 0.5 ** (look - 1)


def level_of(look: int) -> float:
    """The level, in percent, of the interval that the `look`-th look uses: 95, 97.5, 98.75, ..."""
    return 100 * (1 - 2 * error_at(look))


def of_scores(scores: Sequence[float], samples: Sequence[Hashable]) -> Evidence:
    """Evidence about a mean score; `samples` names the sample of each score. Raises `ValueError` without scores."""
    counts = counts_of(scores, samples)
    return Evidence(counts.mean, counts.samples, partial(exact_ends, counts))


def of_differences(differences: Sequence[float], samples: Sequence[Hashable]) -> Evidence:
    """Evidence about a mean of paired differences (-1..1). Raises `ValueError` without any."""
    pairs = pairs_of(differences, samples)
    return Evidence(pairs.mean, pairs.samples, partial(difference_ends, pairs))


def further_samples(evidence: Evidence, decides: Callable[[float, float], bool], look: int) -> int | None:
    """Return the fewest further samples like those seen, after which `decides(low, high)` holds at that look.

    `None` where a hundred thousand would not do: the mean is at the limit.
    """
    error = error_at(look)
    return _fewest(lambda more: decides(*evidence.ends(error, (evidence.samples + more) / evidence.samples)))


@lru_cache(maxsize=256)
def samples_to_pass(limit: float, depths: int = 5, look: int = 1) -> int | None:
    """Return how many samples, asked at so many depths and all right, show a score of at least `limit` (0..1)."""
    error = error_at(look)
    return _fewest(lambda count: exact_ends(Counts((depths,), (depths,), whole=True), error, count)[0] >= limit)


def _fewest(enough: Callable[[int], bool]) -> int | None:
    """Return the least number from 1 on that is enough, if more are never worse; `None` beyond `_MOST`."""
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
