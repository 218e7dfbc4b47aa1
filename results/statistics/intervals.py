"""Confidence intervals of clustered samples, and how many samples narrow them."""

from collections.abc import Hashable, Sequence
from functools import lru_cache
from math import ceil, fsum, log, pi, sqrt
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

# A sample is one needle in one text; its answers at several depths and lengths are more or less alike. So it counts as
# one number, the mean of its trials, and the ends are Gaffke's bound for the mean of numbers in [0, 1] (N. Gaffke,
# "Three test statistics for a nonparametric one-sided hypothesis on the mean of a nonnegative variable", Math. Methods
# of Statistics 14 (2005) 451-467; the same as that of E. Learned-Miller and P. S. Thomas, arXiv 1905.06208): with the
# means z_1 <= ... <= z_n, z_{n+1} = 1 and weights D from the uniform distribution on the simplex, the upper end is a
# quantile of sum_i D_i z_i; the lower end is one minus the upper end of 1 - z. For means that are all 0 or 1 it is the
# interval of C. J. Clopper and E. S. Pearson (Biometrika 26 (1934) 404-413), which is computed as such. It assumes
# nothing about how needles differ.
Floats = NDArray[np.float64]
Ends = tuple[float, float]

ERROR = 0.025  # per side: of a 95 % interval
NEEDED = 2
"""Samples: one says nothing of others, so that its mean has no interval."""
_DIGITS = 9  # sums of scores that differ by less are the same
_MEAN_DIGITS = 6

_EXACT_VALUES = 256  # samples; the means of more are rounded to `_GRID` steps, whose rounding errors cancel out
_GRID = 200


class Counts(Struct, frozen=True):
    """Scores, or the differences of two runs on the same trials, of each sample; sorted, so that no order matters."""

    sums: tuple[float, ...]
    sizes: tuple[int, ...]  # trials

    @property
    def samples(self) -> int:
        """The number of samples."""
        return len(self.sums)

    @property
    def mean(self) -> float:
        """The mean over trials."""
        return fsum(self.sums) / sum(self.sizes)


def counts_of(values: Sequence[float], samples: Sequence[Hashable]) -> Counts:
    """Return scores (0..1) or differences (-1..1) by sample. Raises `ValueError` where a value has no sample."""
    by_sample: dict[Hashable, list[float]] = {}
    for value, sample in zip(values, samples, strict=True):
        by_sample.setdefault(sample, []).append(value)
    rows = sorted((len(group), round(fsum(group), _DIGITS)) for group in by_sample.values())
    return Counts(tuple(total for _, total in rows), tuple(size for size, _ in rows))


def exact_ends(counts: Counts, error: float = ERROR, growth: float = 1.0) -> Ends:
    """Return both ends, 0..1, of the interval that errs by at most `error` (a share) on each side.

    `growth`: the ends had there been so many times as many samples of the same mixture. The mean over trials lies
    within, also where samples have unequal numbers of trials. Raises `ValueError` without trials.
    """
    if not counts.samples:
        raise ValueError("no trials have no interval")
    means = sorted(round(total / size, _MEAN_DIGITS) for total, size in zip(counts.sums, counts.sizes, strict=True))
    low, high = ends_of_means(tuple(means), error, growth)
    return min(low, counts.mean), max(high, counts.mean)


@lru_cache(maxsize=4_096)
def ends_of_means(means: tuple[float, ...], error: float = ERROR, growth: float = 1.0) -> Ends:
    """Return the ends of the interval of the mean of numbers in 0..1, ascending, one of each sample.

    Each is 0, 1, or at least 1e-6 away from both.
    """
    hits, samples = means.count(1.0), len(means)
    if hits + means.count(0.0) == samples:
        return _clopper_pearson(hits * growth, samples * growth, error)
    values = np.array(means)
    return 1.0 - _upper_end(1.0 - values[::-1], error, growth), _upper_end(values, error, growth)


def _upper_end(means: Floats, error: float, growth: float) -> float:
    """Return the quantile 1 - `error` of the mean of `means` and 1 with random weights."""
    from scipy.optimize import brentq

    rounded = means if len(means) <= _EXACT_VALUES else np.round(means * _GRID) / _GRID
    values, counts = np.unique(rounded, return_counts=True)
    values, shapes = np.append(values, 1.0), np.append(counts * growth, 1.0)  # weights of equal values add up
    expected = float(shapes @ values / shapes.sum())
    return float(brentq(lambda end: _log_tail(values - end, shapes) - log(error), expected, 1 - 1e-12, xtol=1e-7))


_NODES = np.arange(0.0, 8.0, 0.1)
_HEIGHTS = np.sinh(_NODES)  # in units of the integrand's width
_STEPS = np.cosh(_NODES) * 0.1 * np.where(_NODES == 0, 0.5, 1.0)  # of the trapezoidal rule


def _log_tail(values: Floats, shapes: Floats) -> float:
    """Return log P(sum of values x weights > 0), the weights from gamma distributions of those `shapes`.

    The moment generating function is integrated along the vertical line through its saddlepoint, which is exact
    (H. E. Daniels, "Saddlepoint approximations in statistics", Ann. Math. Statist. 25 (1954) 631-650, formula 2.6).
    """
    from scipy.optimize import brentq

    pole = 1 / float(values.max())

    def slope(point: float) -> float:
        return float(shapes @ (values / (1 - point * values))) - 1 / point

    saddle = brentq(slope, 1e-9 * pole, (1 - 1e-9) * pole, xtol=1e-6 * pole)
    width = 1 / sqrt(float(shapes @ (values / (1 - saddle * values)) ** 2) + 1 / saddle**2)
    points = saddle + 1j * width * _HEIGHTS
    logs = -np.log(1 - np.multiply.outer(points, values)) @ shapes - np.log(points)
    peak = float(logs[0].real)
    return peak + log(float(np.exp(logs - peak).real @ _STEPS) * width / pi)


@lru_cache(maxsize=256)
def t_quantile(samples: float, error: float = ERROR) -> float:
    """Return the upper `error` quantile of Student's t for a spread that so many samples estimate."""
    from scipy.special import stdtrit

    return float(stdtrit(samples - 1, 1 - error))


def _clopper_pearson(hits: float, trials: float, error: float) -> Ends:
    from scipy.special import betaincinv

    low = float(betaincinv(hits, trials - hits + 1, error)) if hits > 0 else 0.0
    high = float(betaincinv(hits + 1, trials - hits, 1 - error)) if hits < trials else 1.0
    return low, high


METHOD = "gaffke"
FEW = 5
"""Samples: an interval of fewer is printed with their number."""


class Interval(Struct, frozen=True):
    """A 95 % interval of a mean score: both ends in 0..1; from so many samples."""

    low: float
    high: float
    samples: int


def interval_of(counts: Counts) -> Interval | None:
    """The 95 % interval of the mean of counted scores; `None` below two samples."""
    if counts.samples < NEEDED:
        return None
    return Interval(*exact_ends(counts), counts.samples)


# B. Efron, R. J. Tibshirani, "An Introduction to the Bootstrap" (1993), chapter 8; always from one fixed seed, and in
# an order of clusters that depends on their names or their values only: neither the order of the records nor a change
# of sign matters.
DRAWS = 2_000
SEED = 20_231_108
# A bootstrap over fewer clusters than this is far too narrow.
FEWEST_CLUSTERS = 10

_CHUNK = 4_000_000  # counts held at once while bootstrapping: 32 MB


def cluster_sums(values: Sequence[Sequence[float]] | Floats, clusters: Sequence[Hashable]) -> tuple[Floats, Floats]:
    """Return sums and sizes, both (clusters, columns), by sorted `clusters`; NaN counts as no value."""
    table = np.asarray(values, dtype=np.float64).reshape(len(clusters), -1)
    names: set[Any] = set(clusters)  # numbers, or tuples of one form, which Python can sort
    index = {name: row for row, name in enumerate(sorted(names))}
    rows = np.array([index[name] for name in clusters], dtype=np.intp)
    known = ~np.isnan(table)
    sums, sizes = np.zeros((2, len(index), table.shape[1]))
    np.add.at(sums, rows, np.where(known, table, 0.0))
    np.add.at(sizes, rows, known.astype(np.float64))
    return sums, sizes


def resampled_means(sums: Floats, sizes: Floats) -> Floats:
    """Return means of `DRAWS` resamples of whole clusters, (draws, columns); NaN without a value.

    Every column is drawn together, so that columns of one draw may be compared.
    """
    rng, clusters = np.random.default_rng(SEED), len(sums)
    step = max(1, _CHUNK // clusters)
    parts = []
    for start in range(0, DRAWS, step):
        rows = min(step, DRAWS - start)
        drawn = rng.integers(0, clusters, size=(rows, clusters)) + clusters * np.arange(rows)[:, None]
        # How often each resample has each cluster, (rows, clusters).
        counts = np.bincount(drawn.ravel(), minlength=rows * clusters).reshape(rows, clusters).astype(np.float64)
        totals = counts @ sizes
        means = np.full(totals.shape, np.nan)
        np.divide(counts @ sums, totals, out=means, where=totals > 0)
        parts.append(means)
    return np.concatenate(parts)


def expanded_interval(means: Floats, clusters: int) -> tuple[float, float]:
    """Return the 95 % percentile interval of resampled `means`, widened for few clusters.

    Resampling few clusters shows too little spread, by the factor sqrt(clusters / (clusters - 1)), and with tails as
    thin as the normal distribution's where Student's t has thicker ones: the "expanded percentile interval" of
    T. C. Hesterberg, "What Teachers Should Know About the Bootstrap", The American Statistician 69 (2015) 371-386.
    """
    from scipy.special import ndtr

    tail = float(ndtr(-t_quantile(clusters) * sqrt(clusters / (clusters - 1))))
    low, high = np.nanquantile(means, [tail, 1 - tail])
    return float(low), float(high)


# A sample here is one needle in one text at one depth, for a drop asked of both runs: such samples are independent.
# Asked at several depths each, as many samples say a little more, and never as much as their trials would.
POWER = 0.80
BASE = 0.9  # score of the better run, where nothing better is known
_MOST = 10_000_000  # samples; what needs more is nobody's plan
_EXACT = 100_000  # samples; beyond, Connor's formula is close enough
_TAIL = 1e-7  # of gains, and of losses, that are left out


def assumed_discordance(drop: float, base: float = BASE) -> float:
    """Return the share of pairs, 0..1, in which runs of `base` and `base - drop` disagree by chance.

    That of runs that know nothing of each other: p1 (1 - p2) + p2 (1 - p1). Runs on the same prompts mostly agree more
    often, and then need fewer trials: a plan on this assumption is on the safe side.
    """
    other = base - drop
    return base * (1 - other) + other * (1 - base)


def samples_needed(drop: float, base: float = BASE) -> int:
    """Return the samples that a comparison needs to find a drop of `drop` (0..1) with p below 5 %.

    Starts at R. J. Connor's n = (z_a sqrt(q) + z_b sqrt(q - d2))2 / d2, q the discordance ("Sample size for testing
    differences in proportions for the paired-sample design", Biometrics 43 (1987) 207-211), and goes up until the
    test of `paired` has the power.
    """
    discordance = assumed_discordance(drop, base)
    n = connor(drop, discordance)
    while n <= _EXACT and drop_power(n, drop, discordance) < POWER:
        n += max(1, n // 100)
    return n


def connor(drop: float, discordance: float) -> int:
    """Return Connor's number of pairs for the uncorrected McNemar test."""
    from scipy.special import ndtri

    root = ndtri(1 - ERROR) * sqrt(discordance) + ndtri(POWER) * sqrt(max(0.0, discordance - drop * drop))
    return ceil(float(root) ** 2 / (drop * drop))


def drop_power(n: int, drop: float, discordance: float, beyond: float = 0.0, level: float = 0.05) -> float:
    """Return the power, 0..1, of `n` samples at one depth each for a drop beyond `beyond` (`paired`).

    `level`: what the two-sided p value has to be below. Losses and gains are multinomial, with chances
    (discordance + drop) / 2 and (discordance - drop) / 2. Without `beyond` the flips of signs are Q. McNemar's exact
    test (Psychometrika 12 (1947) 153-157); else their sum is taken as normal.
    """
    from scipy import special, stats

    chances = (discordance + drop) / 2, max(0.0, (discordance - drop) / 2)
    counts = [np.arange(int(stats.binom.ppf(_TAIL, n, p)), int(stats.binom.ppf(1 - _TAIL, n, p)) + 1) for p in chances]
    lost, gained = np.meshgrid(*counts, indexing="ij")
    if beyond == 0:
        p = 2 * special.bdtr(gained, np.maximum(lost + gained, gained), 0.5)
        shown = (p < level) & (lost > gained)
    else:
        total = lost - gained - n * beyond
        squares = lost * (1 - beyond) ** 2 + gained * (1 + beyond) ** 2 + (n - lost - gained) * beyond**2
        p = 2 * special.ndtr(-total / np.sqrt(np.maximum(squares, 1e-12)))
        shown = (p < level) & (total > 0)
    pairs = np.stack([lost, gained, n - lost - gained], axis=-1)
    chance = stats.multinomial.pmf(pairs, n, [*chances, max(0.0, 1 - sum(chances))])
    return float(np.sum(chance, where=shown))


def detectable_drop(n: int, *, base: float = BASE, beyond: float = 0.0, level: float = 0.05) -> float | None:
    """Return the smallest drop (0..1) that `n` samples find in 80 of 100 runs; `None` if none is found.

    Found: shown to be more than `beyond`, by a p value below `level`.
    """
    from scipy.optimize import brentq

    def excess(drop: float) -> float:
        return drop_power(n, drop, assumed_discordance(drop, base), beyond, level) - POWER

    return None if excess(base) < 0 else float(brentq(excess, beyond, base, xtol=1e-4))


def samples_to_show(limit: float, true: float) -> int | None:
    """Return the samples, at one depth each, that show a model with score `true` to reach a lower `limit`.

    Shown: the low end of the 95 % interval is at the limit or over it, as a gate asks for. `None` where more than ten
    million would be needed.
    """
    from scipy import stats

    n = 1
    while n <= _MOST:
        # One more than the most hits that are no proof: with the limit as score, more come in over 2.5 % of the runs.
        least = stats.binom.isf(ERROR, n, limit) + 1
        if stats.binom.sf(least - 1, n, true) >= POWER:
            return n
        n += max(1, n // 200)
    return None
