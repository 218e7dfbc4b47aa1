"""The effect of depth on scores, by permutation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import sqrt

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from needlework.results.statistics.depth_tables import (
    EARLY,
    FIRST,
    LAST,
    LATE,
    MIDDLE,
    DepthRange,
    DepthShape,
    DepthTable,
    Shape,
    depth_range_words,
    depth_table,
    templates,
)
from needlework.results.statistics.intervals import Floats, t_quantile
from needlework.results.statistics.paired import holm
from needlework.results.statistics.panels import ScoredTrial

FLAT = 0.10  # score; `flat`: no fifth of the document may differ by more from the rest
_CEILING, _FLOOR = 0.98, 0.02
_FEWEST = 5  # samples, below which no shape is named
_SIGNIFICANT = 0.05
_NEARLY = 0.9  # of the best statistic: shapes to name where the best one's contrasts fail


class Extremes(Struct, frozen=True):
    """The best place against the worst (percent), with the mean of all scores there."""

    best: DepthRange
    worst: DepthRange
    best_score: float
    worst_score: float
    p: float  # that any two places are so far apart by chance
    p_adjusted: float  # for the number of panels (Holm)


class DepthEffect(Struct, frozen=True):
    """The effect of depth in one panel."""

    shape: Shape
    place: DepthRange | None = None  # percent: the hole, or the best range of an uneven curve
    samples: int = 0  # in the test
    left_out: int = 0  # (length, sample) asked at depths, but not in the test
    p: float | None = None  # p value of the shape; `None` without a test
    p_adjusted: float | None = None  # for the number of panels (Holm)
    bound: float | None = None  # without a shape: largest difference of a fifth not ruled out, 0..1
    extremes: Extremes | None = None
    binned: bool = False  # each sample was asked at one depth

    @property
    def label(self) -> str:
        """`lost in the middle`, `hole at 10..30 %`, `uneven, best at 40..60 %`."""
        if self.place is None:
            return self.shape
        where = depth_range_words(self.place)
        return f"hole at {where}" if self.shape == "hole" else f"{self.shape}, best at {where}"


def depth_effects(panels: Sequence[Iterable[ScoredTrial]]) -> list[DepthEffect]:
    """Return the effect of each panel (a model's trials of a task and needle); 5 % err overall (Holm)."""
    tables = [depth_table(trials) for trials in panels]
    tests = [_test(table) if table.samples > 1 else None for table in tables]
    adjusted = holm([test.p if test is not None and table.samples >= _FEWEST else None
                     for table, test in zip(tables, tests, strict=True)])  # fmt: skip
    effects = [_effect(*each) for each in zip(tables, tests, adjusted, strict=True)]
    ends = holm([effect.extremes.p if effect.extremes else None for effect in effects])
    return [
        replace(effect, extremes=replace(effect.extremes, p_adjusted=p))
        if effect.extremes and p is not None
        else effect
        for effect, p in zip(effects, ends, strict=True)
    ]


def depth_effect(trials: Iterable[ScoredTrial]) -> DepthEffect:
    """Return the effect of one panel by itself."""
    return depth_effects([trials])[0]


def _effect(table: DepthTable, test: _DepthTest | None, adjusted: float | None) -> DepthEffect:
    blank = DepthEffect(
        "undetermined",
        samples=table.samples,
        left_out=table.left_out,
        p=test.p if test else None,
        p_adjusted=adjusted,
        extremes=_extremes(table, test) if test else None,
        binned=not table.paired,
    )
    if table.samples < _FEWEST or len(table.columns) < 2 or table.mean is None:
        return blank
    if test is not None and adjusted is not None and adjusted <= _SIGNIFICANT:
        template = next((each for each in test.shapes if _contrasts_hold(each.shape, table, test)), None)
        if template is None:
            return replace(blank, shape="uneven")
        span = template.place if template.shape in ("hole", "uneven") else None
        return replace(blank, shape=template.shape, place=span)
    bound = _largest_difference(table)
    if table.mean >= _CEILING or table.mean <= _FLOOR:
        return replace(blank, shape="ceiling" if table.mean >= _CEILING else "floor", bound=bound)
    flat = bound is not None and bound < FLAT
    return replace(blank, shape="flat" if flat else "undetermined", bound=bound)


def _extremes(table: DepthTable, test: _DepthTest) -> Extremes:
    """The two places furthest apart by their plain means, as the table of depths has them.

    Permutations move scores within blocks alone: the mix of easy and hard lengths at a place is the same in all.
    """
    counts = np.bincount(table.column_of, minlength=len(table.columns))
    filled = counts > 0
    within, plain = test.sums[:, filled] / counts[filled], table.plain[filled]
    columns = [column for column, any_value in zip(table.columns, filled, strict=True) if any_value]
    best, worst = columns[plain.argmax()], columns[plain.argmin()]
    p = test.share_beyond(np.ptp(within + (plain - within[0]), axis=1))
    return Extremes((best.low, best.high), (worst.low, worst.high), float(plain.max()), float(plain.min()), p, p)


_ONE_SIDED = 0.05
_Z90 = 1.6448536269514722  # the 95 % quantile of the standard normal distribution
_FIFTHS = 5
Mask = NDArray[np.bool_]


def _contrasts_hold(shape: Shape, table: DepthTable, test: _DepthTest) -> bool:
    """Whether the contrasts that a shape's name asks for hold (one-sided 5 %); most ask for none."""
    depths = np.array([column.depth for column in table.columns])
    middle, early, late = (depths >= MIDDLE[0]) & (depths <= MIDDLE[1]), depths <= EARLY, depths >= LATE
    counts = np.bincount(table.column_of, minlength=len(depths))

    def above_middle(band: Mask) -> bool:
        if not counts[band].sum() or not counts[middle].sum():
            return False
        contrast = test.sums @ (band / counts[band].sum() - middle / counts[middle].sum())
        return test.share_beyond(contrast) <= _ONE_SIDED and bool(contrast[0] > 0)

    if shape == "lost in the middle":
        return above_middle(depths <= FIRST) and above_middle(depths >= LAST)
    if shape in ("recency", "primacy"):
        high, low = (late, early) if shape == "recency" else (early, late)
        return above_middle(high) and not above_middle(low)
    return True


def _largest_difference(table: DepthTable) -> float | None:
    """Return the largest difference, 0..1, of a fifth of the document not ruled out at 90 %.

    Paired: Student's t over samples, with two more samples that differ by one trial of that fifth, once each way.
    Random depths: the interval of A. Agresti, B. Caffo (The American Statistician 54 (2000) 280-288), a hit and a miss
    added to each side. `None` where fewer than two fifths were asked.
    """
    fifths = np.array([min(_FIFTHS - 1, int(column.depth // (100 / _FIFTHS))) for column in table.columns])
    end = _paired_end if table.paired else _apart_end
    ends = [end(table, fifths == fifth) for fifth in sorted(set(fifths.tolist())) if (fifths != fifth).any()]
    return max(ends, default=None)


def _by_block(table: DepthTable, above: Mask, below: Mask) -> Floats:
    """The mean above less the mean below, of each block with values on both sides."""
    means = []
    blocks = int(table.block_of.max()) + 1
    for side in (above, below):
        inside = side[table.column_of]
        sizes = np.bincount(table.block_of[inside], minlength=blocks)
        sums = np.bincount(table.block_of[inside], table.values[inside], minlength=blocks)
        means.append(np.where(sizes > 0, sums / np.maximum(sizes, 1), np.nan))
    differences = means[0] - means[1]
    return np.asarray(differences[~np.isnan(differences)])


def _paired_end(table: DepthTable, fifth: Mask) -> float:
    trial = 1 / int(fifth.sum())
    differences = np.append(_by_block(table, fifth, ~fifth), [trial, -trial])
    half = t_quantile(len(differences), _ONE_SIDED) * float(differences.std(ddof=1)) / sqrt(len(differences))
    return abs(float(differences.mean())) + half


def _apart_end(table: DepthTable, fifth: Mask) -> float:
    inside = fifth[table.column_of]
    means, variances = [], []
    for side in (inside, ~inside):
        size, total = int(side.sum()) + 2, float(table.values[side].sum()) + 1
        means.append(total / size)
        variances.append(total / size * (1 - total / size) / size)
    return abs(means[0] - means[1]) + _Z90 * sqrt(sum(variances))


# If depth did not matter, the scores of a block would as well stand in any other order (E. J. G. Pitman, "Significance
# tests which may be applied to samples from any populations III", Biometrika 29 (1938) 322-335). Few named shapes and
# many scanned ones are tested, each family by its best; the better of both p values is ranked among those of the
# same permutations, so that all shapes together err in 5 % of flat data (P. H. Westfall, S. S. Young, "Resampling-Based
# Multiple Testing" (1993)).
_PERMUTATIONS = 2_000
_SEED = 20_231_108
_CHUNK = 1_000_000  # values that are permuted at once
_DIGITS = 9  # statistics that differ by less are equal


class _DepthTest(Struct, frozen=True):
    """The result of the permutations."""

    p: float
    shapes: Sequence[DepthShape]  # the best one, then scanned ones that are nearly as good
    sums: Floats  # of the centred scores by column, (1 + permutations, columns), the data's own first

    def share_beyond(self, statistic: Floats) -> float:
        """The share of the permutations, the data among them, whose statistic is at least the data's."""
        rounded = np.round(statistic, _DIGITS)
        return float(np.mean(rounded >= rounded[0]))


def _test(table: DepthTable) -> _DepthTest | None:
    """Return the result of the test; `None` for one depth, and where no score varies within a block."""
    if len(table.columns) < 2:
        return None
    sizes = np.bincount(table.block_of)
    centred = table.values - (np.bincount(table.block_of, table.values) / sizes)[table.block_of]
    centred[np.abs(centred) < 1e-12] = 0.0
    spread = np.bincount(table.block_of, centred**2) / np.maximum(sizes - 1, 1)  # each block's variance
    if not spread.any():
        return None
    sums = _column_sums(table, centred)
    families = templates(table.columns)
    statistics = [_standardised(table, sums, spread, family) for family in families]
    # The rank of each permutation's best value: the share of all that are at least as large.
    best = [values.max(axis=1) for values in statistics]
    ranks = [1 - np.searchsorted(np.sort(values), values, side="left") / len(values) for values in best]
    least = np.minimum(*ranks)
    p = float(np.mean(least <= least[0] + 1e-12))
    family = int(ranks[0][0] >= ranks[1][0])
    first = families[family][int(statistics[family][0].argmax())]
    scanned = sorted(zip(statistics[1][0].tolist(), families[1], strict=True), key=lambda pair: -pair[0])
    nearly = (shape for statistic, shape in scanned if statistic >= _NEARLY * scanned[0][0])
    return _DepthTest(p, [first, *nearly], sums)


def _standardised(table: DepthTable, sums: Floats, spread: Floats, family: Sequence[DepthShape]) -> Floats:
    """The statistic of each template, (1 + permutations, templates), over its spread under permutation.

    The variance of a block's part is its own variance times the centred weights' sum of squares.
    """
    weights = np.array([each.weights for each in family], dtype=np.float64).T  # (columns, templates)
    placed = weights[table.column_of]
    sizes = np.bincount(table.block_of)[:, None]
    total, squares = np.zeros((2, len(sizes), weights.shape[1]))
    np.add.at(total, table.block_of, placed)
    np.add.at(squares, table.block_of, placed**2)
    variance = spread @ (squares - total**2 / sizes)
    scale = np.where(variance > 1e-12, 1 / np.sqrt(np.maximum(variance, 1e-12)), 0.0)
    return np.round(sums @ weights * scale, _DIGITS)


def _column_sums(table: DepthTable, centred: Floats) -> Floats:
    """Sums of the centred values by column: of the data, then of every permutation within blocks."""
    columns = np.zeros((len(centred), len(table.columns)))
    columns[np.arange(len(centred)), table.column_of] = 1.0
    sizes = np.bincount(table.block_of).tolist()
    rng, step = np.random.default_rng(_SEED), max(1, _CHUNK // len(centred))
    chunks = [min(step, _PERMUTATIONS - start) for start in range(0, _PERMUTATIONS, step)]
    parts = [centred[_orders(rng, sizes, rows)] @ columns for rows in chunks]
    return np.concatenate([(centred @ columns)[None], *parts])


def _orders(rng: np.random.Generator, sizes: Sequence[int], rows: int) -> NDArray[np.int32]:
    """Orders of all values, (rows, values), that mix those of one block only."""
    starts = np.concatenate([[0], np.cumsum(sizes)])
    orders = np.tile(np.arange(starts[-1], dtype=np.int32), (rows, 1))
    for size in sorted(set(sizes) - {1}):
        blocks = [block for block, each in enumerate(sizes) if each == size]
        at = np.concatenate([np.arange(starts[block], starts[block] + size) for block in blocks])
        orders[:, at] = rng.permuted(orders[:, at].reshape(-1, size), axis=1).reshape(rows, -1)
    return orders
