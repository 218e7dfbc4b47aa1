"""Confidence intervals of clustered samples, and how many samples narrow them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, fsum, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from needlework.core.errors import InputError

# A sample is one needle in one text. It may be asked at several depths and lengths, and those answers are more or less
# alike: by how much (the intraclass correlation, 0..1) is not known. So the ends are those of C. J. Clopper and E. S.
# Pearson ("The use of confidence or fiducial limits", Biometrika 26 (1934) 404-413), written as quantiles of beta
# posteriors, with the beta-binomial likelihood (J. G. Skellam, J. R. Stat. Soc. B 10 (1948) 257-261) in place of the
# binomial one, and the correlation integrated out over its arcsine prior. With one trial for each sample they are
# Clopper and Pearson's own. Nothing is drawn at random.
Floats = NDArray[np.float64]
Ends = tuple[float, float]

ERROR = 0.025  # per side: of a 95 % interval
NEEDED = 2
"""Samples: one says nothing of others, so that its mean has no interval."""
FEWEST_FOR_SPREAD = 10  # samples; below, the likelihood alone holds for partial credit, and Student's t would swamp it

_CORRELATIONS = (0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.96, 0.99)
_FINE = 1_000  # trials; above, the mean is read off a finer grid
_COARSE_POINTS, _FINE_POINTS = 160, 400
DIGITS = 9  # sums of scores that differ by less are the same


@dataclass(frozen=True, slots=True)
class Counts:
    """The trials of each sample: the sum of its scores (each 0..1) and their number; sorted, so that no order matters.

    `whole`: whether all scores are 0 or 1.
    """

    sums: tuple[float, ...]
    sizes: tuple[int, ...]
    whole: bool

    @property
    def samples(self) -> int:
        """How many samples there are."""
        return len(self.sums)

    @property
    def trials(self) -> int:
        """How many trials they have together."""
        return sum(self.sizes)

    @property
    def mean(self) -> float:
        """The mean over trials, 0..1."""
        return min(1.0, fsum(self.sums) / self.trials)


def counts_of(scores: Sequence[float], samples: Sequence[Hashable]) -> Counts:
    """Return the scores (0..1) by sample. Raises `ValueError` where a score has no sample."""
    if len(scores) != len(samples):
        raise ValueError(f"{len(scores)} scores, {len(samples)} sample names")
    whole = set(scores) <= {0, 1}
    if len(set(samples)) == len(samples):  # by far the quickest way, for what many runs have
        alike = scores if whole else [round(score, DIGITS) for score in scores]
        return Counts(tuple(sorted(alike)), (1,) * len(scores), whole)
    found: dict[Hashable, list[float]] = {}
    for score, sample in zip(scores, samples, strict=True):
        found.setdefault(sample, []).append(score)
    rows = sorted((len(own), round(fsum(own), DIGITS)) for own in found.values())
    return Counts(tuple(total for _, total in rows), tuple(size for size, _ in rows), whole)


def exact_ends(counts: Counts, error: float = ERROR, growth: float = 1.0) -> Ends:
    """Return both ends, 0..1, of the interval that errs by at most `error` (a share) on each side.

    `growth`: the ends had there been so many times as many samples of the same mixture. Partial credit from
    `FEWEST_FOR_SPREAD` samples on: the outer one, at each end, of this and of Student's t over the samples' means.
    Raises `ValueError` without trials.
    """
    if not counts.trials:
        raise ValueError("no trials have no interval")
    low, high = likelihood_ends(counts, error, growth)
    if not counts.whole and 1 < counts.samples >= FEWEST_FOR_SPREAD / growth:
        means = [total / size for total, size in zip(counts.sums, counts.sizes, strict=True)]
        half = spread_half(means, error, growth)
        low, high = min(low, max(0.0, counts.mean - half)), max(high, min(1.0, counts.mean + half))
    return low, high


def spread_half(means: Sequence[float], error: float = ERROR, growth: float = 1.0) -> float:
    """Return half the width of Student's t interval over the means of samples."""
    size = len(means) * growth
    return t_quantile(size, error) * float(np.std(means, ddof=1)) / sqrt(size)


@lru_cache(maxsize=256)
def t_quantile(samples: float, error: float = ERROR) -> float:
    """Return the upper `error` quantile of Student's t for a spread that so many samples estimate."""
    from scipy.special import stdtrit

    return float(stdtrit(samples - 1, 1 - error))


def likelihood_ends(counts: Counts, error: float = ERROR, growth: float = 1.0) -> Ends:
    """Return the ends that the likelihood alone gives; `exact_ends` widens them where credit is partial."""
    mean, total = counts.mean, fsum(counts.sums)
    if counts.whole and counts.trials == counts.samples:
        return _clopper_pearson(total * growth, counts.trials * growth, error)
    points = _COARSE_POINTS if counts.trials * growth <= _FINE else _FINE_POINTS
    logs = _sum_of_rows(Counter(zip(counts.sizes, counts.sums, strict=True)).items(), points) * growth
    marginal = _weights() @ np.exp(logs - logs.max())
    # Beta(0, 1) and Beta(1, 0) on the mean, for each unit of the angle whose squared sine it is.
    tilt = _tilt(points)
    low = 0.0 if total == 0 else min(_quantile(marginal * tilt, error), mean)
    high = 1.0 if total == counts.trials else max(_quantile(marginal / tilt, 1 - error), mean)
    return low, high


def _clopper_pearson(hits: float, trials: float, error: float) -> Ends:
    from scipy.special import betaincinv

    low = float(betaincinv(hits, trials - hits + 1, error)) if hits > 0 else 0.0
    high = float(betaincinv(hits + 1, trials - hits, 1 - error)) if hits < trials else 1.0
    return low, high


def _sum_of_rows(found: Iterable[tuple[tuple[int, float], int]], points: int) -> Floats:
    """The log-likelihood of all samples, (correlations, points)."""
    return np.asarray(sum(times * _row(size, total, points) for (size, total), times in found))


@lru_cache(maxsize=1_024)
def _row(size: int, total: float, points: int) -> Floats:
    """The log-likelihood of one sample, (correlations, points), without what depends on neither."""
    from scipy.special import gammaln

    p = _means(points)
    correlations = np.array(_CORRELATIONS[1:])[:, None]
    strength = (1 - correlations) / correlations
    a, b = p * strength, (1 - p) * strength
    clustered = (
        gammaln(total + a) + gammaln(size - total + b) - gammaln(size + strength)
        - gammaln(a) - gammaln(b) + gammaln(strength)
    )  # fmt: skip
    independent = total * np.log(p) + (size - total) * np.log1p(-p)
    row: Floats = np.concatenate([independent[None], clustered])
    row.setflags(write=False)
    return row


@lru_cache(maxsize=2)
def _means(points: int) -> Floats:
    """The means of the grid: squared sines of equally spaced angles."""
    return np.asarray(np.sin((np.arange(points) + 0.5) / points * np.pi / 2) ** 2)


@lru_cache(maxsize=2)
def _tilt(points: int) -> Floats:
    p = _means(points)
    return np.asarray(np.sqrt((1 - p) / p))


@lru_cache(maxsize=1)
def _weights() -> Any:
    """The share of the arcsine prior, Beta(1/2, 1/2), that lies nearest to each correlation of the grid."""
    known = np.array(_CORRELATIONS)
    edges = np.concatenate([[0.0], (known[1:] + known[:-1]) / 2, [1.0]])
    return np.diff(2 / np.pi * np.arcsin(np.sqrt(edges)))


def _quantile(density: Floats, share: float) -> float:
    """The mean below which `share` of the density over equally spaced angles lies; linear within a cell."""
    edges = np.concatenate([[0.0], np.cumsum(density)])
    angle = np.interp(share * edges[-1], edges, np.arange(len(edges))) / len(density) * np.pi / 2
    return float(np.sin(angle) ** 2)


METHOD = "clustered exact"
FEW = 5
"""Samples: an interval of fewer is printed with their number."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A 95 % interval of a mean score: both ends in 0..1; from so many samples."""

    low: float
    high: float
    samples: int


def score_interval(scores: Sequence[float], samples: Sequence[Hashable]) -> Interval | None:
    """Return the 95 % interval of the mean of `scores` (0..1); `None` where fewer than two samples have a score.

    `samples` names the sample of each score: what shares a needle and its text (see `clustered`). Raises `ValueError`
    where their numbers differ.
    """
    return interval_of(counts_of(scores, samples))


def interval_of(counts: Counts) -> Interval | None:
    """The same of scores that are counted already."""
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
        return _resampling_means(_kept_counts(clusters), sums, sizes)
    rng = np.random.default_rng(SEED)
    step = max(1, _CHUNK // clusters)
    parts = [
        _resampling_means(_counts(rng, clusters, min(step, DRAWS - start)), sums, sizes)
        for start in range(0, DRAWS, step)
    ]
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


def _resampling_means(counts: Floats, sums: Floats, sizes: Floats) -> Floats:
    totals = counts @ sizes
    means = np.full(totals.shape, np.nan)
    np.divide(counts @ sums, totals, out=means, where=totals > 0)
    return means


def _sort_key(name: Hashable) -> Any:
    """Names are tuples of numbers and words of one form, which Python can sort."""
    return name


# A sample here is one needle in one text at one depth, for a drop asked of both runs: such samples are independent.
# Asked at several depths each, as many samples say a little more, and never as much as their trials would.
POWER = 0.80
BASE = 0.9  # score of the better run, where nothing better is known
_MOST = 10_000_000  # samples; what needs more is nobody's plan
_EXACT = 100_000  # samples; beyond, the interval is the one that Connor's formula takes
_TAIL = 1e-7  # of gains, and of losses, that are left out


def assumed_discordance(drop: float, base: float = BASE) -> float:
    """Return the share of pairs, 0..1, in which two runs of score `base` and `base - drop` disagree by chance.

    That of runs that know nothing of each other: p1 (1 - p2) + p2 (1 - p1). Runs on the same prompts mostly agree more
    often, and then need fewer trials: a plan on this assumption is on the safe side. A measured share is better.
    """
    other = base - drop
    return base * (1 - other) + other * (1 - base)


def samples_needed(drop: float, *, discordance: float | None = None, base: float = BASE, power: float = POWER) -> int:
    """Return how many samples a comparison needs to find a drop of `drop` (0..1): its interval is then below 0.

    Starts at R. J. Connor's n = (z_a sqrt(q) + z_b sqrt(q - d2))2 / d2, q the discordance ("Sample size for testing
    differences in proportions for the paired-sample design", Biometrics 43 (1987) 207-211), and goes up until the
    interval of `paired` has the power. Raises `InputError`.
    """
    q = _checked(drop, discordance, base)
    n = connor(drop, q, power)
    while n <= _EXACT and interval_power(n, drop, q) < power:
        n += max(1, n // 100)
    return n


def connor(drop: float, discordance: float, power: float = POWER) -> int:
    """Return Connor's number of pairs for the uncorrected McNemar test."""
    from scipy.special import ndtri

    level, wanted = float(ndtri(1 - ERROR)), float(ndtri(power))
    root = level * sqrt(discordance) + wanted * sqrt(max(0.0, discordance - drop * drop))
    return ceil(root * root / (drop * drop))


def interval_power(n: int, drop: float, discordance: float, beyond: float = 0.0, error: float = ERROR) -> float:
    """Return the chance, 0..1, that the interval of `n` samples at one depth each lies below -`beyond` (see `paired`).

    `error`: of the interval, per side.

    Losses and gains are multinomial, with chances (discordance + drop) / 2 and (discordance - drop) / 2.
    """
    from scipy import special, stats

    chances = (discordance + drop) / 2, max(0.0, (discordance - drop) / 2)
    lost, gained = (
        np.arange(int(stats.binom.ppf(_TAIL, n, p)), int(stats.binom.ppf(1 - _TAIL, n, p)) + 1) for p in chances
    )
    low = np.where(lost > 0, special.betaincinv(np.maximum(lost, 1), n - np.maximum(lost, 1) + 1, error), 0.0)
    under = np.minimum(gained, n - 1)
    high = np.where(gained < n, special.betaincinv(under + 1, n - under, 1 - error), 1.0)
    loss, gain = (lost / n)[:, None], (gained / n)[None, :]
    both = loss * gain
    rest = np.maximum((1 - loss) * (1 - gain), 1e-300)
    exclusive = np.where(both > 0, np.sqrt(np.minimum(1.0, both / rest)), 0.0)
    one, other = high[None, :] - gain, loss - low[:, None]
    below = gain - loss + np.sqrt(one**2 + other**2 + 2 * exclusive * one * other) < -beyond
    return float(np.sum(_multinomial(n, lost, gained, chances), where=below))


def _multinomial(n: int, lost: NDArray[np.intp], gained: NDArray[np.intp], chances: tuple[float, float]) -> Floats:
    """The chance of each pair of numbers, (lost, gained)."""
    from scipy.special import gammaln, xlogy

    one, other = lost[:, None], gained[None, :]
    rest = n - one - other
    logs = gammaln(n + 1) - gammaln(one + 1) - gammaln(other + 1) - gammaln(np.maximum(rest, 0) + 1)
    logs += xlogy(one, chances[0]) + xlogy(other, chances[1]) + xlogy(rest, max(0.0, 1 - sum(chances)))
    return np.asarray(np.where(rest >= 0, np.exp(logs), 0.0))


def detectable_drop(
    n: int,
    *,
    discordance: float | None = None,
    base: float = BASE,
    power: float = POWER,
    beyond: float = 0.0,
    error: float = ERROR,
) -> float | None:
    """Return the smallest drop (0..1) that `n` samples find with `power`; `None` where even the largest is missed.

    Found: its whole interval is `beyond` so much; `error`: of that interval, per side.
    """
    if n < 1:
        raise InputError("samples", n, "is a number of samples, at least 1")
    largest = base if discordance is None else min(base, discordance)
    _checked(largest, discordance, base)

    def enough(drop: float) -> bool:
        q = discordance if discordance is not None else assumed_discordance(drop, base)
        return interval_power(n, drop, q, beyond, error) >= power

    if not enough(largest):
        return None
    low, high = beyond, largest
    while high - low > 1e-4:
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def samples_to_show(limit: float, true: float, *, power: float = POWER) -> int | None:
    """Return how many samples, at one depth each, show that a model with the score `true` has `limit` or more.

    Shown: the low end of the 95 % interval is at the limit or over it, as a gate asks for. `None` where more than ten
    million would be needed. Raises `InputError`.
    """
    from scipy import stats

    if not 0 < limit < 1:
        raise InputError("score", limit, "is a limit above 0 and below 1; 90 % is 0.9")
    if not limit < true <= 1:
        raise InputError("true score", true, f"is above the limit {limit:g}, at most 1")
    n = 1
    while n <= _MOST:
        # One more than the most hits that are no proof: with the limit as score, more come in over 2.5 % of the runs.
        least = stats.binom.isf(ERROR, n, limit) + 1
        if stats.binom.sf(least - 1, n, true) >= power:
            return n
        n += max(1, n // 200)
    return None


def _checked(drop: float, discordance: float | None, base: float) -> float:
    if not 0 < base <= 1:
        raise InputError("base score", base, "is a score above 0, at most 1")
    if not 0 < drop <= base:
        raise InputError("drop", drop, f"is a share above 0 and at most the base score {base:g}; 5 points are 0.05")
    q = assumed_discordance(drop, base) if discordance is None else discordance
    if not drop - 1e-12 <= q <= 1:
        raise InputError("discordance", q, f"is the share of pairs that disagree, {drop:g} (the drop) to 1")
    return max(q, drop)
