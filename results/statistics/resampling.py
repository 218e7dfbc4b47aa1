"""The cluster bootstrap: whole samples are drawn again, so that whatever their trials share stays together.

B. Efron, R. J. Tibshirani, "An Introduction to the Bootstrap" (1993), chapter 8; always from one fixed seed, and in an
order of clusters that depends on their names only: neither the order of the records nor a change of sign matters.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from results.intervals import DRAWS, FEWEST_CLUSTERS, SEED

Floats = NDArray[np.float64]
_CHUNK = 4_000_000  # counts held at once while bootstrapping: 32 MB


def sample_clusters(samples: Iterable[tuple[int, int]]) -> list[tuple[int, ...]]:
    """Return the cluster of each sample (length, repeat), in the order given.

    One repeat has the same needle, and the beginning of the same filler, at every length: the repeat is the cluster.
    Fewer than `FEWEST_CLUSTERS` repeats cannot tell how alike their lengths are; each sample is then a cluster of its
    own, which is right as long as a needle is not by itself easier for one side of the contrast.
    """
    given = list(samples)
    few = len({repeat for _, repeat in given}) < FEWEST_CLUSTERS
    return [(length, repeat) if few else (repeat,) for length, repeat in given]


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
    rng = np.random.default_rng(SEED)
    clusters = len(sums)
    means = np.full((DRAWS, sums.shape[1]), np.nan)
    step = max(1, _CHUNK // clusters)
    for start in range(0, DRAWS, step):
        rows = min(step, DRAWS - start)
        drawn = rng.integers(0, clusters, size=(rows, clusters)) + clusters * np.arange(rows)[:, None]
        counts = np.bincount(drawn.ravel(), minlength=rows * clusters).reshape(rows, clusters).astype(np.float64)
        totals = counts @ sizes
        np.divide(counts @ sums, totals, out=means[start : start + rows], where=totals > 0)
    return means


def _sort_key(name: Hashable) -> Any:
    """Names are tuples of numbers and words of one form, which Python can sort."""
    return name
