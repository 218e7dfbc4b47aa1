"""Paired differences: the mean with an interval, an exact test, and the correction for several tests."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import fsum, sqrt
from typing import Literal

import numpy as np

from needlework.results.statistics.intervals import Z95
from needlework.results.statistics.resampling import (
    FEWEST_CLUSTERS,
    SEED,
    cluster_sums,
    expanded_interval,
    resampled_means,
    t_quantile,
)

Method = Literal["bootstrap", "t", "agreement"]
_PERMUTATIONS = 9_999
_SAME = 1e-12  # differences of scores closer than this are rounding


@dataclass(frozen=True, slots=True)
class Difference:
    """A mean of paired differences, -1..1, with its 95 % interval; `None` ends where one cluster says nothing."""

    mean: float
    low: float | None
    high: float | None
    n: int
    clusters: int
    method: Method | None

    @property
    def sign(self) -> Literal[-1, 0, 1]:
        """1 where the whole interval lies above 0, -1 where it lies below, else 0."""
        if self.low is not None and self.low > 0:
            return 1
        return -1 if self.high is not None and self.high < 0 else 0


def mean_difference(differences: Sequence[float], clusters: Sequence[Hashable]) -> Difference | None:
    """Return the mean of `differences` (each -1..1) with its 95 % interval; `None` without differences.

    At least `FEWEST_CLUSTERS` clusters: bootstrap, as of `expanded_interval`. Fewer: Student's t with the variance
    between clusters.

    Few discordant pairs hide what varies. Differences of 0/1 scores therefore get one more pair of each discordant
    kind, for the interval and not for the mean (D. G. Bonett, R. M. Price, "Adjusted Wald Confidence Interval for a
    Difference of Binomial Proportions Based on Paired Data", J. Educ. Behav. Stat. 37 (2012) 479-488). Of other
    clusters that all agree, up to z2 / (G + z2), the upper end of Wilson's interval for 0 of G, may still be as
    different as scores can.
    """
    if len(differences) == 0:
        return None
    values = np.asarray(differences, dtype=np.float64)
    sums, sizes = cluster_sums(values[:, None], clusters)
    count, n, mean = len(sums), len(differences), fsum(differences) / len(differences)
    if count < 2:
        return Difference(mean, None, None, n, count, None)
    if np.all((values == 0) | (np.abs(values) == 1)):
        sums, sizes = np.append(sums, [[1.0], [-1.0]], axis=0), np.append(sizes, [[1.0], [1.0]], axis=0)
    centre = float(sums.sum() / sizes.sum())
    residuals = (sums - centre * sizes).ravel()
    if float(np.abs(residuals).max()) < _SAME * n:
        hidden = Z95**2 / (count + Z95**2)
        return Difference(mean, mean - hidden * (1 + mean), mean + hidden * (1 - mean), n, count, "agreement")
    if count < FEWEST_CLUSTERS:
        variance = len(sums) / (len(sums) - 1) * float(residuals @ residuals) / float(sizes.sum()) ** 2
        half = t_quantile(count) * sqrt(variance)
        return Difference(mean, max(-1.0, centre - half), min(1.0, centre + half), n, count, "t")
    low, high = expanded_interval(resampled_means(sums, sizes)[:, 0], count)
    return Difference(mean, low, high, n, count, "bootstrap")


def paired_p(first: Sequence[float], second: Sequence[float], clusters: Sequence[Hashable]) -> float:
    """Return the two-sided p value that `first` and `second` score alike.

    0/1 scores: exact McNemar, a binomial test of the discordant pairs (Q. McNemar, Psychometrika 12 (1947) 153-157).
    It takes pairs for independent; what pairs of one cluster share, only the interval of `mean_difference` knows.
    Partial credit: the permutation test that swaps the two sides of whole clusters.
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if np.all((a == 0) | (a == 1)) and np.all((b == 0) | (b == 1)):
        gained, lost = int(np.sum(b > a)), int(np.sum(b < a))
        return _mcnemar(gained, lost)
    sums, _ = cluster_sums(np.stack([a, b], axis=1), clusters)
    sums = sums[np.abs(sums[:, 0] - sums[:, 1]) > _SAME * len(a)]
    if len(sums) < 2:  # one cluster has two arrangements, none of them rare
        return 1.0
    from scipy import stats  # half a second; most runs have no partial credit

    result = stats.permutation_test(
        (sums[:, 0], sums[:, 1]),
        lambda x, y, axis: np.mean(y - x, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=_PERMUTATIONS,
        rng=np.random.default_rng(SEED),
    )
    return float(result.pvalue)


def _mcnemar(gained: int, lost: int) -> float:
    """Both tails of a fair coin: as it is symmetric, twice the smaller one."""
    from scipy.special import bdtr

    return min(1.0, 2 * float(bdtr(min(gained, lost), gained + lost, 0.5)))


def holm(values: Sequence[float | None]) -> list[float | None]:
    """Adjust p values for being several (S. Holm, Scand. J. Statist. 6 (1979) 65-70); `None` is no test."""
    tested = sorted((value, at) for at, value in enumerate(values) if value is not None)
    adjusted: list[float | None] = [None] * len(values)
    largest = 0.0
    for rank, (value, at) in enumerate(tested):
        largest = max(largest, min(1.0, value * (len(tested) - rank)))
        adjusted[at] = largest
    return adjusted
