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
from numpy.typing import NDArray

Z95 = 1.959963984540054  # the 97.5 % quantile of the standard normal distribution
DRAWS = 2_000
SEED = 20_231_108
# A percentile bootstrap over fewer clusters than this is far too narrow; Wilson with the same variance is used instead.
FEWEST_CLUSTERS = 10
_CHUNK = 4_000_000  # random integers held at once while bootstrapping: 32 MB

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
    effective sample size n / design effect, never more than n. For partial credit that is on the safe side: no
    variable on 0..1 varies more than the 0/1 one with its mean.
    """
    if len(scores) != len(samples):
        raise ValueError(f"{len(scores)} scores, {len(samples)} sample names")
    if not scores:
        return None
    values = np.asarray(scores, dtype=np.float64)
    sums, sizes = _clusters(values, samples)
    binary = bool(np.all((values == 0) | (values == 1)))
    if not binary and len(sums) >= FEWEST_CLUSTERS and np.ptp(values) > 0:
        low, high = _bootstrap(sums, sizes)
        return Interval(low, high, "bootstrap")
    mean = min(1.0, max(0.0, float(values.mean())))
    low, high = wilson(mean, _effective_size(mean, sums, sizes))
    return Interval(low, high, "wilson")


def _clusters(
    values: NDArray[np.float64], samples: Sequence[Hashable]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sum and size of each cluster, in an order that does not depend on the order of the scores."""
    index: dict[Hashable, int] = {}
    labels = np.array([index.setdefault(sample, len(index)) for sample in samples])
    if len(index) < 2:
        labels = np.arange(len(values))
    sums = np.bincount(labels, weights=values).astype(np.float64)
    sizes = np.bincount(labels).astype(np.float64)
    order = np.lexsort((sums, sizes))
    return sums[order], sizes[order]


def _effective_size(mean: float, sums: NDArray[np.float64], sizes: NDArray[np.float64]) -> float:
    """Return n over the design effect (Kish): the independent trials that would vary as much as these clusters do."""
    n, clusters = float(sizes.sum()), len(sums)
    spread = mean * (1 - mean)
    if clusters < 2 or spread == 0:
        return n
    residuals = sums - mean * sizes
    variance = clusters / (clusters - 1) * float(residuals @ residuals) / (n * n)
    return n if variance <= spread / n else spread / variance


def _bootstrap(sums: NDArray[np.float64], sizes: NDArray[np.float64]) -> tuple[float, float]:
    """Percentile interval of the mean over `DRAWS` resamples of whole clusters, from a fixed seed."""
    rng = np.random.default_rng(SEED)
    clusters = len(sums)
    means = np.empty(DRAWS)
    step = max(1, _CHUNK // clusters)
    for start in range(0, DRAWS, step):
        rows = min(step, DRAWS - start)
        drawn = rng.integers(0, clusters, size=(rows, clusters))
        means[start : start + rows] = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return max(0.0, float(low)), min(1.0, float(high))
