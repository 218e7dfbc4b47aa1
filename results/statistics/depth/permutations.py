"""Whether depth matters at all: one permutation test over all shapes together.

If depth did not matter, the scores of a block would as well stand in any other order (E. J. G. Pitman, "Significance
tests which may be applied to samples from any populations III", Biometrika 29 (1938) 322-335). Few named shapes and
many scanned ones are looked at, each family by its best; the better of both p values is ranked among those of the same
permutations, so that all shapes together err in 5 % of flat data (P. H. Westfall, S. S. Young, "Resampling-Based
Multiple Testing" (1993)).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from needlework.results.statistics.depth.shapes import Template, templates, weights_of
from needlework.results.statistics.depth.table import DepthTable
from needlework.results.statistics.intervals.clustered import Floats

_PERMUTATIONS = 2_000
_SEED = 20_231_108
_KEPT_VALUES = 1_000  # values of a table whose permutations are kept for the next one of that layout (8 MB)
_CHUNK = 1_000_000
_DIGITS = 9  # statistics that differ by less are equal


@dataclass(frozen=True, slots=True)
class Tested:
    """What the test found: `p`; the templates to choose a name from, best first, each with its statistic; and the sums
    of the centred scores by column, (1 + permutations, columns), the data's own first.
    """

    p: float
    best: tuple[tuple[Template, float], ...]
    scanned: tuple[tuple[Template, float], ...]
    sums: Floats

    def share_beyond(self, statistic: Floats) -> float:
        """The share of the permutations, the data among them, whose statistic is at least the data's."""
        rounded = np.round(statistic, _DIGITS)
        return float(np.mean(rounded >= rounded[0]))


def tested(table: DepthTable) -> Tested | None:
    """Return what the permutations say; `None` for one depth, and where no score varies within a block."""
    if len(table.columns) < 2:
        return None
    centred, spread = _centred(table)
    if not spread.any():
        return None
    named, scanned = templates(table.columns)
    sums = _column_sums(table, centred)
    found = [_standardised(table, sums, spread, family) for family in (named, scanned)]
    ranks = [_ranks(values.max(axis=1)) for values in found]
    least = np.minimum(*ranks)
    p = float(np.mean(least <= least[0] + 1e-12))
    chosen = [
        tuple(sorted(zip(family, values[0], strict=True), key=lambda each: -each[1]))
        for family, values in zip((named, scanned), found, strict=True)
    ]
    best = chosen[0] if ranks[0][0] < ranks[1][0] else chosen[1]
    return Tested(p, best, chosen[1], sums)


def _centred(table: DepthTable) -> tuple[Floats, Floats]:
    """The values less their block's mean, and each block's variance."""
    sizes = np.bincount(table.block_of)
    means = np.bincount(table.block_of, table.values) / sizes
    centred = table.values - means[table.block_of]
    centred[np.abs(centred) < 1e-12] = 0.0
    squares = np.bincount(table.block_of, centred**2)
    return centred, np.asarray(squares / np.maximum(sizes - 1, 1))


def _standardised(table: DepthTable, sums: Floats, spread: Floats, family: Sequence[Template]) -> Floats:
    """The statistic of each template, (1 + permutations, templates), over its spread under permutation.

    The variance of a block's part is its own variance times the centred weights' sum of squares.
    """
    weights = weights_of(family)
    placed = weights[table.column_of]
    sizes = np.bincount(table.block_of)[:, None]
    total, squares = np.zeros((2, len(sizes), weights.shape[1]))
    np.add.at(total, table.block_of, placed)
    np.add.at(squares, table.block_of, placed**2)
    variance = spread @ (squares - total**2 / sizes)
    scale = np.where(variance > 1e-12, 1 / np.sqrt(np.maximum(variance, 1e-12)), 0.0)
    return np.round(sums @ weights * scale, _DIGITS)


def _ranks(best: Floats) -> Floats:
    """Of each value, the share of all that are at least as large."""
    return np.asarray(1 - np.searchsorted(np.sort(best), best, side="left") / len(best))


def _column_sums(table: DepthTable, centred: Floats) -> Floats:
    """Sums of the centred values by column: of the data, then of every permutation within blocks."""
    count = len(table.columns)
    places = np.zeros((len(centred), count))
    places[np.arange(len(centred)), table.column_of] = 1.0
    sizes = tuple(np.bincount(table.block_of).tolist())
    if len(centred) <= _KEPT_VALUES:
        parts = [centred[_kept_orders(sizes)] @ places]
    else:
        rng, step = np.random.default_rng(_SEED), max(1, _CHUNK // len(centred))
        chunks = [min(step, _PERMUTATIONS - start) for start in range(0, _PERMUTATIONS, step)]
        parts = [centred[_orders(rng, sizes, rows)] @ places for rows in chunks]
    return np.concatenate([(centred @ places)[None], *parts])


@lru_cache(maxsize=4)
def _kept_orders(sizes: tuple[int, ...]) -> NDArray[np.int32]:
    return _orders(np.random.default_rng(_SEED), sizes, _PERMUTATIONS)


def _orders(rng: np.random.Generator, sizes: Sequence[int], rows: int) -> NDArray[np.int32]:
    """Orders of all values, (rows, values), that mix those of one block only."""
    starts = np.concatenate([[0], np.cumsum(sizes)])
    orders = np.tile(np.arange(starts[-1], dtype=np.int32), (rows, 1))
    for size in sorted(set(sizes) - {1}):
        blocks = [block for block, each in enumerate(sizes) if each == size]
        at = np.concatenate([np.arange(starts[block], starts[block] + size) for block in blocks])
        own = orders[:, at].reshape(-1, size)
        orders[:, at] = rng.permuted(own, axis=1).reshape(rows, -1)
    return orders
