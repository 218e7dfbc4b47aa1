"""How far raters agree who gave marks on a scale, 1 the lowest.

Krippendorff's alpha for ordered marks (K. Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011)): for any
number of raters, who need not have rated the same. For two: Cohen's kappa with squared weights (J. Cohen, "Weighted
Kappa", Psychological Bulletin 70 (1968) 213-220). Both are 1 where raters always agree, 0 where they do as by chance.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial

import numpy as np

from needlework.results.statistics.agreement.rates import of_table
from needlework.results.statistics.intervals.clustered import Floats
from needlework.results.statistics.tasks import Share


def ordinal_alpha(units: Sequence[Sequence[int]], clusters: Sequence[Hashable], levels: int) -> Share:
    """Alpha of marks 1..`levels`. `units`: the marks that each thing got; those with one mark or none do not count.

    `clusters` names what each unit shares with others. No value where all marks are the same.
    """
    several = [(marks, cluster) for marks, cluster in zip(units, clusters, strict=True) if len(marks) > 1]
    cells = np.zeros((len(several), levels * levels))
    for row, (marks, _) in enumerate(several):
        counts = np.bincount(marks, minlength=levels + 1)[1:].astype(np.float64)
        cells[row] = ((np.outer(counts, counts) - np.diag(counts)) / (len(marks) - 1)).ravel()
    values = sum(len(marks) for marks, _ in several)
    return of_table(cells, levels, [cluster for _, cluster in several], partial(_alphas, values))


def weighted_kappa(pairs: Sequence[tuple[int, int]], clusters: Sequence[Hashable], levels: int) -> Share:
    """Kappa of pairs of marks 1..`levels`, a disagreement weighing the square of its distance.

    No value where both raters gave one and the same mark only.
    """
    cells = np.zeros((len(pairs), levels * levels))
    for row, (one, other) in enumerate(pairs):
        cells[row, (one - 1) * levels + other - 1] = 1
    return of_table(cells, levels, clusters, _kappas)


def _alphas(values: int, tables: Floats) -> Floats:
    """Alpha of each table of coincidences, from `values` marks in all; only shares of a table matter."""
    shares = _shares(tables)
    marks = shares.sum(axis=2)
    # The distance of two marks is the number of marks between their middles.
    middles = marks.cumsum(axis=1) - marks / 2
    distance = (middles[:, :, None] - middles[:, None, :]) ** 2
    chance = (marks[:, :, None] * marks[:, None, :] * distance).sum(axis=(1, 2)) * values / (values - 1)
    return _one_minus((shares * distance).sum(axis=(1, 2)), chance)


def _kappas(tables: Floats) -> Floats:
    shares, place = _shares(tables), np.arange(tables.shape[1])
    weights = (place[:, None] - place[None, :]) ** 2
    chance = shares.sum(axis=2)[:, :, None] * shares.sum(axis=1)[:, None, :]
    return _one_minus((shares * weights).sum(axis=(1, 2)), (chance * weights).sum(axis=(1, 2)))


def _shares(tables: Floats) -> Floats:
    shares: Floats = tables / tables.sum(axis=(1, 2), keepdims=True)
    return shares


def _one_minus(observed: Floats, expected: Floats) -> Floats:
    found = np.full(len(observed), np.nan)
    np.divide(observed, expected, out=found, where=expected > 1e-12)
    return 1 - found
