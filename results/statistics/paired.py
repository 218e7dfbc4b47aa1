"""Paired differences, and evidence against a bar."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from math import fsum, sqrt
from typing import Literal

import numpy as np

from needlework.results.statistics.intervals import (
    DIGITS,
    ERROR,
    FEWEST_FOR_SPREAD,
    NEEDED,
    Counts,
    Ends,
    Floats,
    counts_of,
    exact_ends,
    likelihood_ends,
    spread_half,
)

# A pair is one trial in two runs. Few pairs differ between good runs, so that the spread of the differences says
# little; the gains and the losses say more. Their intervals are those of `clustered`, and join by MOVER, the method of
# variance estimates recovery (G. Y. Zou, A. Donner, Stat. Med. 27 (2008) 1693-1702; for pairs R. G. Newcombe, Stat.
# Med. 17 (1998) 2635-2650), with the correlation of two outcomes that exclude each other.
FEWEST_FOR_P = 6  # samples; with fewer no p value can be below 5 %
_ALL_FLIPS = 11  # samples; up to here every flip of signs is looked at
_DRAWN_FLIPS = 1_999
_SEED = 20_231_108
_SAME = 1e-9  # sums that differ by less are equal


@dataclass(frozen=True, slots=True)
class Pairs:
    """What two runs scored on the same trials, by sample: the gains (B over A), the losses, and B - A.

    `sums`, `sizes`: of each sample, the sum of its differences and their number; sorted, so that no order matters.
    """

    gains: Counts
    losses: Counts
    sums: tuple[float, ...]
    sizes: tuple[int, ...]

    @property
    def samples(self) -> int:
        """How many samples there are."""
        return len(self.sums)

    @property
    def mean(self) -> float:
        """The mean of B - A over trials, -1..1."""
        return fsum(self.sums) / sum(self.sizes)


@dataclass(frozen=True, slots=True)
class Difference:
    """A mean of `n` paired differences, -1..1, with its 95 % interval; `None` ends where one sample says nothing.

    `clusters`: how many samples the pairs are of.
    """

    mean: float
    low: float | None
    high: float | None
    n: int
    clusters: int

    @property
    def sign(self) -> Literal[-1, 0, 1]:
        """1 where the whole interval lies above 0, -1 where it lies below, else 0."""
        if self.low is not None and self.low > 0:
            return 1
        return -1 if self.high is not None and self.high < 0 else 0


def mean_difference(
    differences: Sequence[float], samples: Sequence[Hashable], error: float = ERROR
) -> Difference | None:
    """Return the mean of `differences` (B - A, each -1..1) with its 95 % interval; `None` without differences.

    `error`: of another interval, per side.
    `samples` names the sample of each pair: what shares a needle and its text, at all its lengths and depths.
    """
    if not differences:
        return None
    pairs, n, mean = pairs_of(differences, samples), len(differences), fsum(differences) / len(differences)
    if pairs.samples < NEEDED:
        return Difference(mean, None, None, n, pairs.samples)
    low, high = difference_ends(pairs, error)
    return Difference(mean, low, high, n, pairs.samples)


def pairs_of(differences: Sequence[float], samples: Sequence[Hashable]) -> Pairs:
    """Return paired differences (B - A, each -1..1) by sample. Raises `ValueError` where a pair has no sample."""
    found: dict[Hashable, list[float]] = {}
    for difference, sample in zip(differences, samples, strict=True):
        found.setdefault(sample, []).append(difference)
    rows = sorted((len(own), round(fsum(own), DIGITS)) for own in found.values())
    return Pairs(
        counts_of([max(each, 0.0) for each in differences], samples),
        counts_of([max(-each, 0.0) for each in differences], samples),
        tuple(total for _, total in rows),
        tuple(size for size, _ in rows),
    )


def difference_ends(pairs: Pairs, error: float = ERROR, growth: float = 1.0) -> Ends:
    """Return both ends, -1..1, of the interval of the mean of B - A; `error` and `growth` as of `exact_ends`.

    Partial credit from `FEWEST_FOR_SPREAD` samples on: the outer one, at each end, of this and of Student's t over the
    samples' mean differences.
    """
    gain, loss = pairs.gains.mean, pairs.losses.mean
    gain_low, gain_high = likelihood_ends(pairs.gains, error, growth)
    loss_low, loss_high = likelihood_ends(pairs.losses, error, growth)
    exclusive = sqrt(gain * loss / ((1 - gain) * (1 - loss))) if gain * loss else 0.0
    mean = pairs.mean
    low = mean - _joined(gain - gain_low, loss_high - loss, exclusive)
    high = mean + _joined(gain_high - gain, loss - loss_low, exclusive)
    if not (pairs.gains.whole and pairs.losses.whole) and 1 < pairs.samples >= FEWEST_FOR_SPREAD / growth:
        means = [total / size for total, size in zip(pairs.sums, pairs.sizes, strict=True)]
        half = spread_half(means, error, growth)
        low, high = min(low, mean - half), max(high, mean + half)
    return max(-1.0, low), min(1.0, high)


def _joined(one: float, other: float, exclusive: float) -> float:
    """The margin of a difference, from the margins of both parts, which correlate by -`exclusive` (0..1)."""
    return sqrt(one * one + other * other + 2 * min(1.0, exclusive) * one * other)


def sign_flip_p(pairs: Pairs) -> float | None:
    """Return the two-sided p value that both runs score alike; `None` below `FEWEST_FOR_P` samples.

    If they were alike each sample's sum of differences might as well have the other sign: p is the share of flips of
    signs whose total is as far from 0 (R. A. Fisher, "The Design of Experiments" (1935), section 21). Beyond
    `_ALL_FLIPS` samples it is the share of seeded flips, with the data themselves among them.
    """
    if pairs.samples < FEWEST_FOR_P:
        return None
    sizes = np.sort(np.abs(pairs.sums))  # whoever is called A, p is the same
    far = np.abs(_flips(len(sizes)) @ sizes) >= abs(fsum(pairs.sums)) - _SAME
    return float(np.mean(far)) if len(sizes) <= _ALL_FLIPS else float(1 + far.sum()) / (1 + _DRAWN_FLIPS)


@lru_cache(maxsize=4)
def _flips(count: int) -> Floats:
    """Signs, (flips, samples)."""
    if count <= _ALL_FLIPS:
        bits = np.arange(2**count)[:, None] >> np.arange(count) & 1
    else:
        bits = np.random.default_rng(_SEED).integers(0, 2, size=(_DRAWN_FLIPS, count))
    return np.asarray(1.0 - 2.0 * bits)


def holm(values: Sequence[float | None]) -> list[float | None]:
    """Adjust p values for being several (S. Holm, Scand. J. Statist. 6 (1979) 65-70); `None` is no test."""
    tested = sorted((value, at) for at, value in enumerate(values) if value is not None)
    adjusted: list[float | None] = [None] * len(values)
    largest = 0.0
    for rank, (value, at) in enumerate(tested):
        largest = max(largest, min(1.0, value * (len(tested) - rank)))
        adjusted[at] = largest
    return adjusted


# One look at a gate uses a 95 % interval: a model that is exactly at the limit passes with a chance of 2.5 %. A further
# look, after further trials, gives it another chance. So each look may err half as often as the one before: 2.5 %, then
# 1.25 %, 0.625 %, ..., together at most 5 %, however many there are (type I error spending: K. K. G. Lan, D. L. DeMets,
# "Discrete sequential boundaries for clinical trials", Biometrika 70 (1983) 659-663; the sum is Bonferroni's bound).
_MOST = 100_000  # samples; a gate that needs more is not told a number


@dataclass(frozen=True, slots=True)
class Evidence:
    """A mean of trials from so many `samples`.

    `ends(error, growth)`: its interval, had there been `growth` times as many samples of the same mixture; `error` is
    the chance that it lies above what it estimates, and the chance that it lies below.
    """

    mean: float
    samples: int
    ends: Callable[[float, float], Ends]


def error_at(look: int) -> float:
    """The chance of a wrong pass, and of a wrong fail, that the `look`-th look at a group may have."""
    return ERROR * 0.5 ** (look - 1)


def level_of(look: int) -> float:
    """The level, in percent, of the interval that the `look`-th look uses: 95, 97.5, 98.75, ..."""
    return 100 * (1 - 2 * error_at(look))


def of_scores(scores: Sequence[float], samples: Sequence[Hashable]) -> Evidence:
    """Evidence about a mean score; `samples` names the sample of each score. Raises `ValueError` without scores."""
    counts = counts_of(scores, samples)
    return Evidence(counts.mean, counts.samples, partial(exact_ends, counts))


def of_differences(differences: Sequence[float], samples: Sequence[Hashable]) -> Evidence:
    """Evidence about a mean of paired differences (-1..1). Raises `ValueError` without any."""
    pairs = pairs_of(differences, samples)
    return Evidence(pairs.mean, pairs.samples, partial(difference_ends, pairs))


def further_samples(evidence: Evidence, decides: Callable[[float, float], bool], look: int) -> int | None:
    """Return the fewest further samples like those seen, after which `decides(low, high)` holds at that look.

    `None` where a hundred thousand would not do: the mean is at the limit.
    """
    error = error_at(look)
    return _fewest(lambda more: decides(*evidence.ends(error, (evidence.samples + more) / evidence.samples)))


@lru_cache(maxsize=256)
def samples_to_pass(limit: float, depths: int = 5, look: int = 1) -> int | None:
    """Return how many samples, asked at so many depths and all right, show a score of at least `limit` (0..1)."""
    error = error_at(look)
    return _fewest(lambda count: exact_ends(Counts((depths,), (depths,), whole=True), error, count)[0] >= limit)


def _fewest(enough: Callable[[int], bool]) -> int | None:
    """Return the least number from 1 on that is enough, if more are never worse; `None` beyond `_MOST`."""
    high = 1
    while not enough(high):
        high *= 2
        if high > _MOST:
            return None
    low = high // 2  # 0, or too few
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
