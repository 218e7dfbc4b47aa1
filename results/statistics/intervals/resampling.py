"""The cluster bootstrap: whole samples are drawn again, so that whatever their trials share stays together.

B. Efron, R. J. Tibshirani, "An Introduction to the Bootstrap" (1993), chapter 8; always from one fixed seed, and in an
order of clusters that depends on their names or their values only: neither the order of the records nor a change of
sign matters.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import lru_cache
from math import sqrt
from typing import Any

import numpy as np

from needlework.results.statistics.intervals.clustered import Floats, t_quantile

DRAWS = 2_000
SEED = 20_231_108
# A bootstrap over fewer clusters than this is far too narrow.
FEWEST_CLUSTERS = 10

_CHUNK = 4_000_000  # counts held at once while bootstrapping: 32 MB
_KEPT = 250  # clusters; the counts of as many or fewer are drawn once (4 MB) and serve every table of that many


def cluster_sums(values: Sequence[Sequence[float]] | Floats, clusters: Sequence[Hashable]) -> tuple[Floats, Floats]:
    """Return sums and sizes, both (clusters, columns), in sorted order of `clusters`; NaN counts as no value."""
    table = np.asarray(values, dtype=np.float64).reshape(len(clusters), -1)
    index = {name: row for row, name in enumerate(sorted(set(clusters), key=_sort_key))}
    rows = np.array([index[name] for name in clusters], dtype=np.intp)
    there = ~np.isnan(table)
    sums, sizes = np.zeros((2, len(index), table.shape[1]))
    np.add.at(sums, rows, np.where(there, table, 0.0))
    np.add.at(sizes, rows, there.astype(np.float64))
    return sums, sizes


def resampled_means(sums: Floats, sizes: Floats) -> Floats:
    """Return the means of `DRAWS` resamples of whole clusters, (draws, columns); NaN where a draw has no value.

    Every column is drawn together, so that columns of one draw may be compared.
    """
    clusters = len(sums)
    if clusters <= _KEPT:
        return _means(_kept_counts(clusters), sums, sizes)
    rng = np.random.default_rng(SEED)
    step = max(1, _CHUNK // clusters)
    parts = [_means(_counts(rng, clusters, min(step, DRAWS - start)), sums, sizes) for start in range(0, DRAWS, step)]
    return np.concatenate(parts)


def expanded_interval(means: Floats, clusters: int) -> tuple[float, float]:
    """Return the 95 % percentile interval of resampled `means`, its quantiles widened for the number of clusters.

    Resampling few clusters shows too little spread, by the factor sqrt(clusters / (clusters - 1)), and with tails as
    thin as the normal distribution's where Student's t has thicker ones: the "expanded percentile interval" of
    T. C. Hesterberg, "What Teachers Should Know About the Bootstrap", The American Statistician 69 (2015) 371-386.
    """
    from scipy.special import ndtr

    tail = float(ndtr(-t_quantile(clusters) * sqrt(clusters / (clusters - 1))))
    low, high = np.nanquantile(means, [tail, 1 - tail])
    return float(low), float(high)


@lru_cache(maxsize=4)
def _kept_counts(clusters: int) -> Floats:
    return _counts(np.random.default_rng(SEED), clusters, DRAWS)


def _counts(rng: np.random.Generator, clusters: int, rows: int) -> Floats:
    """How often each resample has each cluster, (rows, clusters)."""
    drawn = rng.integers(0, clusters, size=(rows, clusters)) + clusters * np.arange(rows)[:, None]
    return np.bincount(drawn.ravel(), minlength=rows * clusters).reshape(rows, clusters).astype(np.float64)


def _means(counts: Floats, sums: Floats, sizes: Floats) -> Floats:
    totals = counts @ sizes
    means = np.full(totals.shape, np.nan)
    np.divide(counts @ sums, totals, out=means, where=totals > 0)
    return means


def _sort_key(name: Hashable) -> Any:
    """Names are tuples of numbers and words of one form, which Python can sort."""
    return name
