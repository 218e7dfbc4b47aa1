"""The exact interval of a mean whose trials share samples: Clopper and Pearson's, for clustered trials.

A sample is one needle in one text. It may be asked at several depths and lengths, and those answers are more or less
alike: by how much (the intraclass correlation, 0..1) is not known. So the ends are those of C. J. Clopper and E. S.
Pearson ("The use of confidence or fiducial limits", Biometrika 26 (1934) 404-413), written as quantiles of beta
posteriors, with the beta-binomial likelihood (J. G. Skellam, J. R. Stat. Soc. B 10 (1948) 257-261) in place of the
binomial one, and the correlation integrated out over its arcsine prior. With one trial for each sample they are Clopper
and Pearson's own. Nothing is drawn at random.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import fsum, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
