"""95 % intervals of a mean score.

Wilson's score interval for 0/1 scores (E. B. Wilson, "Probable inference, the law of succession, and statistical
inference", JASA 22 (1927) 209-212), a seeded cluster bootstrap for partial credit. A cluster is a sample: one needle
and haystack, which may have been asked about at many depths, so that its scores are not independent.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Literal

import numpy as np

from needlework.results.statistics.resampling import (
    FEWEST_CLUSTERS,
    Floats,
    expanded_interval,
    resampled_means,
    t_quantile,
)

Z95 = 1.959963984540054  # the 97.5 % quantile of the standard normal distribution

Method = Literal["wilson", "bootstrap"]


@dataclass(frozen=True, slots=True)
class Interval:
    """A 95 % interval of a mean score: both ends in 0..1, and how it was made."""

    low: float
    high: float
    method: Method


def wilson(mean: float, n: float, z: float = Z95) -> tuple[float, float]:
    """Return Wilson's interval for a share `mean` (0..1) of `n` > 0 trials; an effective `n` may be a fraction."""
    if n <= 0 or not 0 <= mean <= 1:
        raise ValueError(f"a Wilson interval needs n > 0 and a mean in 0..1, not n={n}, mean={mean}")
    centre = mean + z * z / (2 * n)
    half = z * sqrt(mean * (1 - mean) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    # The ends are exactly 0 and 1 in theory; floating point would miss them by 1e-17.
    low = 0.0 if mean == 0 else max(0.0, (centre - half) / scale)
    high = 1.0 if mean == 1 else min(1.0, (centre + half) / scale)
    return low, high


def score_interval(scores: Sequence[float], samples: Sequence[Hashable]) -> Interval | None:
    """Return the 95 % interval of the mean of `scores` (0..1), or `None` without scores.

    `samples` names the cluster of each score. Where only one cluster exists, nothing can be said about how alike its
    scores are, and each score counts as a cluster of its own.

    Partial credit from at least `FEWEST_CLUSTERS` clusters is bootstrapped. Everything else is Wilson's interval at the
    effective sample size, never more than n. For partial credit that is on the safe side: no variable on 0..1 varies
    more than the 0/1 one with its mean.
    """
    if len(scores) != len(samples):
        raise ValueError(f"{len(scores)} scores, {len(samples)} sample names")
    if not scores:
        return None
    values = np.asarray(scores, dtype=np.float64)
    sums, sizes = _clusters(values, samples)
    binary = bool(np.all((values == 0) | (values == 1)))
    if not binary and len(sums) >= FEWEST_CLUSTERS and np.ptp(values) > 0:
        low, high = expanded_interval(resampled_means(sums[:, None], sizes[:, None])[:, 0], len(sums))
        return Interval(max(0.0, low), min(1.0, high), "bootstrap")
    mean = min(1.0, max(0.0, float(values.mean())))
    low, high = wilson(mean, _effective_size(mean, sums, sizes))
    return Interval(low, high, "wilson")


def _clusters(values: Floats, samples: Sequence[Hashable]) -> tuple[Floats, Floats]:
    """Sum and size of each cluster, in an order that does not depend on the order of the scores."""
    index: dict[Hashable, int] = {}
    labels = np.array([index.setdefault(sample, len(index)) for sample in samples])
    if len(index) < 2:
        labels = np.arange(len(values))
    sums = np.bincount(labels, weights=values).astype(np.float64)
    sizes = np.bincount(labels).astype(np.float64)
    order = np.lexsort((sums, sizes))
    return sums[order], sizes[order]


def _effective_size(mean: float, sums: Floats, sizes: Floats) -> float:
    """Return the number of independent trials that would say as much about the mean as these clusters do.

    That is n over the design effect (L. Kish, "Survey Sampling" (1965)), less for a design effect that few clusters
    estimate, by the ratio of the normal to Student's quantile, squared (E. L. Korn, B. I. Graubard, "Confidence
    intervals for proportions with small expected number of positive counts estimated from survey data", Survey
    Methodology 24 (1998) 193-201). Never more than n; never less than if each cluster were one trial. Where all scores
    are alike no design effect shows, and n stays.
    """
    n, clusters = float(sizes.sum()), len(sums)
    spread = mean * (1 - mean)
    if spread == 0 or clusters in (1, n):
        return n
    residuals = sums - mean * sizes
    variance = clusters / (clusters - 1) * float(residuals @ residuals) / (n * n)
    if variance <= spread / n:
        return n
    least = n * n / float(sizes @ sizes)
    return min(n, max(least, spread / variance * (Z95 / t_quantile(clusters)) ** 2))
