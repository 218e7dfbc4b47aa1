"""Parts of the document against each other: what a name for a shape asks for, and how flat a curve is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from needlework.results.statistics.depth.permutations import Tested
from needlework.results.statistics.depth.shapes import EARLY, FIRST, LAST, LATE, MIDDLE, Shape
from needlework.results.statistics.depth.table import DepthTable
from needlework.results.statistics.intervals.clustered import Floats, t_quantile

_ONE_SIDED = 0.05
_Z90 = 1.6448536269514722  # the 95 % quantile of the standard normal distribution
_FIFTHS = 5
Mask = NDArray[np.bool_]
Band = Callable[[float], bool]


@dataclass(frozen=True, slots=True)
class Contrasts:
    """Asks whether one band of depths scores higher than another (one-sided 5 %)."""

    table: DepthTable
    found: Tested

    def allow(self, shape: Shape) -> bool:
        """Whether the contrasts that the name of a shape asks for hold; most names ask for none."""
        if shape == "lost in the middle":
            return self._above(lambda depth: depth <= FIRST, _middle) and self._above(
                lambda depth: depth >= LAST, _middle
            )
        if shape == "recency":
            return self._above(_late, _middle) and not self._above(_early, _middle)
        if shape == "primacy":
            return self._above(_early, _middle) and not self._above(_late, _middle)
        return True

    def _above(self, high: Band, low: Band) -> bool:
        above = np.array([high(column.depth) for column in self.table.columns])
        below = np.array([low(column.depth) for column in self.table.columns])
        if self.table.paired:
            return _t_above(_by_block(self.table, above, below))
        counts = np.bincount(self.table.column_of, minlength=len(above))
        if not counts[above].sum() or not counts[below].sum():
            return False
        weights = above / counts[above].sum() - below / counts[below].sum()
        return self.found.share_beyond(self.found.sums @ weights) <= _ONE_SIDED and self.found.sums[0] @ weights > 0


def largest_difference(table: DepthTable) -> float | None:
    """Return the largest difference, 0..1, of a fifth of the document from the rest that is not ruled out at 90 %.

    Paired: Student's t over samples, with two more samples that differ by one trial of that fifth, once each way.
    Random depths: the interval of A. Agresti, B. Caffo (The American Statistician 54 (2000) 280-288), a hit and a miss
    added to each side. `None` where fewer than two fifths were asked.
    """
    fifths = np.array([min(_FIFTHS - 1, int(column.depth // (100 / _FIFTHS))) for column in table.columns])
    ends = [
        _paired_end(table, fifths == fifth) if table.paired else _apart_end(table, fifths == fifth)
        for fifth in sorted(set(fifths.tolist()))
        if (fifths != fifth).any()
    ]
    return max(ends, default=None)


def _middle(depth: float) -> bool:
    return MIDDLE[0] <= depth <= MIDDLE[1]


def _early(depth: float) -> bool:
    return depth <= EARLY


def _late(depth: float) -> bool:
    return depth >= LATE


def _by_block(table: DepthTable, above: Mask, below: Mask) -> Floats:
    """Of each block with values on both sides, the mean above less the mean below."""
    means = []
    for side in (above, below):
        there = side[table.column_of]
        blocks = int(table.block_of.max()) + 1
        sizes = np.bincount(table.block_of[there], minlength=blocks)
        sums = np.bincount(table.block_of[there], table.values[there], minlength=blocks)
        means.append(np.where(sizes > 0, sums / np.maximum(sizes, 1), np.nan))
    differences = means[0] - means[1]
    return np.asarray(differences[~np.isnan(differences)])


def _t_above(differences: Floats) -> bool:
    """Student's t, paired, one-sided."""
    if len(differences) < 2:
        return False
    error = float(differences.std(ddof=1)) / sqrt(len(differences))
    return float(differences.mean()) > max(1e-12, t_quantile(len(differences), _ONE_SIDED) * error)


def _paired_end(table: DepthTable, fifth: Mask) -> float:
    trial = 1 / int(fifth.sum())
    differences = np.append(_by_block(table, fifth, ~fifth), [trial, -trial])
    half = t_quantile(len(differences), _ONE_SIDED) * float(differences.std(ddof=1)) / sqrt(len(differences))
    return abs(float(differences.mean())) + half


def _apart_end(table: DepthTable, fifth: Mask) -> float:
    there = fifth[table.column_of]
    means, variances = [], []
    for side in (there, ~there):
        size, total = int(side.sum()) + 2, float(table.values[side].sum()) + 1
        means.append(total / size)
        variances.append(total / size * (1 - total / size) / size)
    return abs(means[0] - means[1]) + _Z90 * sqrt(sum(variances))
