"""Paired differences, and evidence against a bar."""

from bisect import bisect_left
from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
from math import fsum, sqrt
from typing import Literal

import numpy as np
from msgspec import Struct

from needlework.results.statistics import intervals

# A pair is one trial in two runs. A sign-flip test is used for the difference of two runs: it assumes no distribution.
# The interval beside it is Student's t over the mean differences of samples, from ten samples on.
LEVEL = 0.05  # p values below it show a difference
FEWEST_FOR_P = 6  # samples; with fewer no p value can be below 5 %
FEWEST_FOR_T = 10  # samples; with fewer the spread of their differences is hardly known
_GRID = 2_048  # steps that the sum of all differences is rounded to, where they are no whole numbers
_SAME = 1e-9  # sums that differ by less are equal


class Difference(Struct, frozen=True):
    """A mean of `n` paired differences, -1..1, and 95 % interval; `None` ends below `FEWEST_FOR_T`.

    `clusters`: how many samples the pairs are of. `p`: as of `sign_flip_p`.
    """

    mean: float
    low: float | None
    high: float | None
    n: int
    clusters: int
    p: float | None = None

    @property
    def sign(self) -> Literal[-1, 0, 1]:
        """1 or -1 where p shows a difference above or below 0, else 0."""
        if self.p is None or self.p >= LEVEL:
            return 0
        return 1 if self.mean > 0 else -1


def mean_difference(differences: Sequence[float], samples: Sequence[Hashable]) -> Difference | None:
    """Return the mean of `differences` (B - A, each -1..1) with its 95 % interval; `None` if empty.

    `samples` names the sample of each pair: one needle and its text, at all lengths and depths.
    """
    if not differences:
        return None
    pairs, n, mean = intervals.counts_of(differences, samples), len(differences), fsum(differences) / len(differences)
    low, high = difference_ends(pairs) if pairs.samples >= FEWEST_FOR_T else (None, None)
    return Difference(mean, low, high, n, pairs.samples, sign_flip_p(pairs))


def difference_ends(pairs: intervals.Counts, error: float = intervals.ERROR, growth: float = 1.0) -> intervals.Ends:
    """Return both ends, -1..1, of the interval of the mean of B - A; parameters as of `exact_ends`.

    Student's t over the samples' mean differences; where these are all equal, or fewer than `FEWEST_FOR_T`, the
    interval of `exact_ends` on (difference + 1) / 2.
    """
    means = sorted(total / size for total, size in zip(pairs.sums, pairs.sizes, strict=True))
    samples = pairs.samples * growth
    if samples < FEWEST_FOR_T or means[0] == means[-1]:
        low, high = (
            2 * end - 1
            for end in intervals.ends_of_means(tuple(round((mean + 1) / 2, 6) for mean in means), error, growth)
        )
    else:
        half = intervals.t_quantile(samples, error) * float(np.std(means, ddof=1)) / sqrt(samples)
        low, high = pairs.mean - half, pairs.mean + half
    return max(-1.0, min(low, pairs.mean)), min(1.0, max(high, pairs.mean))


def sign_flip_p(pairs: intervals.Counts) -> float | None:
    """Return the two-sided p of the sign-flip test of equal runs; `None` below `FEWEST_FOR_P` samples."""
    if pairs.samples < FEWEST_FOR_P:
        return None
    total = fsum(pairs.sums)
    return min(1.0, 2 * flip_tail(np.array(pairs.sums) * (1 if total >= 0 else -1))) if abs(total) > _SAME else 1.0


def flip_tail(differences: intervals.Floats) -> float:
    """Return one-sided p: the share of all flips of signs whose sum is at least the observed one.

    If two models were alike (or the second better), each sample's difference might as well have the other sign (R. A.
    Fisher, "The Design of Experiments" (1935), section 21). The distribution of a sum of signed numbers is the inverse
    Fourier transform of a product of cosines. Differences are rounded to a grid first, and the test is exact
    for the rounded ones.
    """
    steps = _steps(differences)
    total, size = int(steps.sum()), int(np.abs(steps).sum())
    if size == 0:
        return 1.0
    sizes, counts = np.unique(np.abs(steps[steps != 0]), return_counts=True)
    points = 2 * size + 1
    waves = np.cos(2 * np.pi / points * np.outer(np.arange(size + 1), sizes))
    shares = np.fft.irfft(np.prod(waves**counts, axis=1), points)  # of the sums 0, 1, .., size, -size, .., -1
    return float(min(1.0, max(0.5 ** len(steps), shares[total : size + 1].sum() if total >= 0 else 1.0)))


def _steps(differences: intervals.Floats) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    whole = np.rint(differences)
    size = float(np.abs(differences).sum())
    if size <= _GRID and np.abs(differences - whole).max(initial=0.0) < 1e-6:
        return whole.astype(np.int64)
    return np.rint(differences * (_GRID / size)).astype(np.int64)


def smallest_p(samples: int) -> float:
    """Return the smallest two-sided p value that so many samples can give: all differ in one direction."""
    return 2.0 ** (1 - samples)


def samples_for_p(level: float) -> int:
    """Return the fewest samples whose smallest p value is below `level`."""
    return next(count for count in range(FEWEST_FOR_P, 1_100) if smallest_p(count) < level)


def holm(values: Sequence[float | None]) -> list[float | None]:
    """Adjust p values for multiple tests (S. Holm, Scand. J. Statist. 6 (1979) 65-70); `None` is no test."""
    tested = sorted((value, at) for at, value in enumerate(values) if value is not None)
    adjusted: list[float | None] = [None] * len(values)
    largest = 0.0
    for rank, (value, at) in enumerate(tested):
        largest = max(largest, min(1.0, value * (len(tested) - rank)))
        adjusted[at] = largest
    return adjusted


# One look at a gate uses a 95 % interval: a model that is exactly at the limit passes with a chance of 2.5 %. A further
# look, after further trials, gives it another chance. So each look may err half as often as the one before: 2.5 %, then
# 1.25 %, 0.625 %, ..., together at most 5 %, however many there are (type I error spending: K. K. G. Lan, D. L. DeMets,
# "Discrete sequential boundaries for clinical trials", Biometrika 70 (1983) 659-663; the sum is Bonferroni's bound).
_MOST = 100_000  # samples; a gate that needs more gets no number


EndsOf = Callable[[intervals.Counts, float, float], intervals.Ends]
"""`exact_ends` of scores, or `difference_ends` of paired differences."""


def error_at(look: int) -> float:
    """The chance of a wrong pass, and of a wrong fail, that the `look`-th look at a group may have."""
    return intervals.ERROR * 0.5 ** (look - 1)


def level_of(look: int) -> float:
    """The level, in percent, of the interval that the `look`-th look uses: 95, 97.5, 98.75, ..."""
    return 100 * (1 - 2 * error_at(look))


def further_samples(
    counts: intervals.Counts, ends_of: EndsOf, decides: Callable[[float, float], bool], look: int
) -> int | None:
    """Return the fewest further samples like these after which `decides(low, high)` holds at `look`.

    `None` where a hundred thousand would not do: the mean is at the limit.
    """
    error, samples = error_at(look), counts.samples
    return _fewest(lambda more: decides(*ends_of(counts, error, (samples + more) / samples)))


@lru_cache(maxsize=256)
def samples_to_pass(limit: float) -> int | None:
    """Return how many samples, all right, show a score of at least `limit` (0..1)."""
    return _fewest(lambda count: intervals.ends_of_means((1.0,), intervals.ERROR, count)[0] >= limit)


def _fewest(enough: Callable[[int], bool]) -> int | None:
    """Return the least number from 1 on that is enough, if more are never worse; `None` beyond `_MOST`."""
    numbers = range(1, _MOST + 1)
    at = bisect_left(numbers, True, key=enough)
    return numbers[at] if at < _MOST else None
