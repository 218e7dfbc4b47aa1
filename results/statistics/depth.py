"""The effect of depth on scores, by permutation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from needlework.results.statistics.depth_tables import (
    EARLY,
    FIRST,
    LAST,
    LATE,
    MIDDLE,
    DepthShape,
    DepthTable,
    Place,
    Shape,
    depth_table,
    place_words,
    templates,
    weights_of,
)
from needlework.results.statistics.intervals import Floats, t_quantile
from needlework.results.statistics.paired import holm
from needlework.results.statistics.panels import ScoredTrial

FLAT = 0.10  # score; `flat` is said where no fifth of the document may differ by more from the rest
_CEILING, _FLOOR = 0.98, 0.02
_FEWEST = 5  # samples, below which no shape is named
_SIGNIFICANT = 0.05
_NEARLY = 0.9  # of the best statistic: a shape that is as good, where the best one's contrasts do not hold


@dataclass(frozen=True, slots=True)
class Extremes:
    """The best place against the worst (percent), with the mean of all scores there.

    `p`: the chance of two places as far apart if all were alike, whichever they are. `p_adjusted`: for the number of
    panels (Holm).
    """

    best: Place
    worst: Place
    best_score: float
    worst_score: float
    p: float
    p_adjusted: float


@dataclass(frozen=True, slots=True)
class DepthEffect:
    """What one panel says about depth.

    `shape`; `place`: where (percent) a hole is, or the best of an uneven curve. `samples`: those that the test used;
    `left_out`: (length, sample) that were asked at depths and have no part in it. `p`: the chance of a shape as clear
    if depth did not matter; `p_adjusted`: for the number of panels (Holm); `None` where nothing could be tested.
    `bound`: where no shape shows, the largest difference between a fifth of the document and the rest that is not ruled
    out, 0..1. `binned`: each sample was asked at one depth.
    """

    shape: Shape
    place: Place | None = None
    samples: int = 0
    left_out: int = 0
    p: float | None = None
    p_adjusted: float | None = None
    bound: float | None = None
    extremes: Extremes | None = None
    binned: bool = False

    @property
    def label(self) -> str:
        """`lost in the middle`, `hole at 10..30 %`, `uneven, best at 40..60 %`, `undetermined (one sample)`."""
        if self.shape == "undetermined" and self.samples == 1:
            return "undetermined (one sample)"
        if self.place is None:
            return self.shape
        where = place_words(self.place)
        return f"hole at {where}" if self.shape == "hole" else f"{self.shape}, best at {where}"


def depth_effects(panels: Sequence[Iterable[ScoredTrial]]) -> list[DepthEffect]:
    """Return the effect of each panel (the trials of one model, task and needle); 5 % err over all of them (Holm)."""
    tables = [depth_table(trials) for trials in panels]
    found = [tested(table) if table.samples > 1 else None for table in tables]
    adjusted = holm(
        [
            each.p if each is not None and table.samples >= _FEWEST else None
            for table, each in zip(tables, found, strict=True)
        ]
    )
    effects = [_effect(*each) for each in zip(tables, found, adjusted, strict=True)]
    ends = holm([effect.extremes.p if effect.extremes else None for effect in effects])
    return [
        replace(effect, extremes=replace(effect.extremes, p_adjusted=p))
        if effect.extremes is not None and p is not None
        else effect
        for effect, p in zip(effects, ends, strict=True)
    ]


def depth_effect(trials: Iterable[ScoredTrial]) -> DepthEffect:
    """Return the effect of one panel by itself."""
    return depth_effects([trials])[0]


def _effect(table: DepthTable, found: Tested | None, adjusted: float | None) -> DepthEffect:
    blank = DepthEffect(
        "undetermined",
        samples=table.samples,
        left_out=table.left_out,
        p=found.p if found is not None else None,
        p_adjusted=adjusted,
        extremes=_extremes(table, found) if found is not None else None,
        binned=not table.paired,
    )
    if table.samples < _FEWEST or len(table.columns) < 2 or table.mean is None:
        return blank
    if found is not None and adjusted is not None and adjusted <= _SIGNIFICANT:
        template = _chosen(table, found)
        if template is None:
            return replace(blank, shape="uneven")
        place = template.place if template.shape in ("hole", "uneven") else None
        return replace(blank, shape=template.shape, place=place)
    bound = largest_difference(table)
    if table.mean >= _CEILING or table.mean <= _FLOOR:
        return replace(blank, shape="ceiling" if table.mean >= _CEILING else "floor", bound=bound)
    flat = bound is not None and bound < FLAT
    return replace(blank, shape="flat" if flat else "undetermined", bound=bound)


def _chosen(table: DepthTable, found: Tested) -> DepthShape | None:
    """The best template, or one nearly as good of another name whose contrasts hold; `None` where there is none."""
    contrasts = Contrasts(table, found)
    best = found.best[0][0]
    if contrasts.allow(best.shape):
        return best
    least = _NEARLY * found.scanned[0][1]
    others = (template for template, statistic in found.scanned if statistic >= least)
    return next((each for each in others if each.shape != best.shape and contrasts.allow(each.shape)), None)


def _extremes(table: DepthTable, found: Tested) -> Extremes:
    """The two places furthest apart by their plain means, as the table of depths has them.

    Permutations move scores within blocks alone: what a place has of easy and of hard lengths is the same in all.
    """
    counts = np.bincount(table.column_of, minlength=len(table.columns))
    there = counts > 0
    within, plain = found.sums[:, there] / counts[there], table.plain[there]
    columns = [column for column, any_value in zip(table.columns, there, strict=True) if any_value]
    best, worst = int(plain.argmax()), int(plain.argmin())
    p = found.share_beyond(np.ptp(within + (plain - within[0]), axis=1))
    return Extremes(
        (columns[best].low, columns[best].high),
        (columns[worst].low, columns[worst].high),
        float(plain[best]),
        float(plain[worst]),
        p,
        p,
    )


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


# If depth did not matter, the scores of a block would as well stand in any other order (E. J. G. Pitman, "Significance
# tests which may be applied to samples from any populations III", Biometrika 29 (1938) 322-335). Few named shapes and
# many scanned ones are looked at, each family by its best; the better of both p values is ranked among those of the
# same permutations, so that all shapes together err in 5 % of flat data (P. H. Westfall, S. S. Young, "Resampling-Based
# Multiple Testing" (1993)).
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
    best: tuple[tuple[DepthShape, float], ...]
    scanned: tuple[tuple[DepthShape, float], ...]
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


def _standardised(table: DepthTable, sums: Floats, spread: Floats, family: Sequence[DepthShape]) -> Floats:
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
