"""Coverage of the interval of a mean, and how often gates err at their limit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from needlework.results.statistics.intervals import Counts, exact_ends
from perf.simulations.models import KINDS, Data, Kind, chances, hits, parts, true_mean

MEANS = (0.5, 0.7, 0.8, 0.9, 0.95, 0.99)
ICCS = (0.0, 0.1, 0.3, 0.5, 0.8, 0.99)
DEPTHS = (1, 3, 5, 11)
LIMITS = (0.8, 0.9, 0.95)
LOOKS = 8
Make = Callable[[np.random.Generator, Data], Data]


@dataclass(frozen=True, slots=True)
class Setting:
    """One kind of data: `samples` x `depths` scores of that mean, whose samples are alike by `icc`."""

    kind: Kind
    samples: int
    depths: int
    mean: float
    icc: float

    @property
    def words(self) -> str:
        return f"{self.samples} x {self.depths}, {self.mean:g}, ICC {self.icc:g}, {self.kind}"


@dataclass(frozen=True, slots=True)
class Covered:
    """Of some data sets: the share of intervals that hold the true mean, that lie above it (a wrong pass of a gate) and
    below it (a wrong fail), and their mean width."""

    setting: Setting
    held: float
    above: float
    below: float
    width: float


def settings(samples: int, depths: Sequence[int] = DEPTHS) -> Iterator[Setting]:
    """Every setting with so many samples."""
    for kind, own, mean, icc in product(KINDS, depths, MEANS, ICCS):
        if kind != "slope" or own > 1:
            yield Setting(kind, samples, own, mean, icc)


def covered(setting: Setting, times: int, make: Make = hits, keep: Make | None = None, salt: int = 0) -> Covered:
    """Simulate one setting. `keep`: 1 where a trial has a score, given its chances; all have where it is `None`.

    `salt`: other data sets of the same setting.
    """
    seed = [
        ord(setting.kind[-1]),
        setting.samples,
        setting.depths,
        round(100 * setting.mean),
        round(100 * setting.icc),
        salt,
    ]
    rng = np.random.default_rng(seed)
    true = true_mean(setting.kind, setting.depths, setting.mean, setting.icc)
    ends = []
    for _ in range(times):
        chance = chances(rng, setting.kind, setting.samples, setting.depths, setting.mean, setting.icc)
        data = make(rng, chance)
        counts = counts_of_data(data, keep(rng, chance) if keep else None)
        if counts.samples > 1:
            ends.append(exact_ends(counts))
    low, high = np.array(ends).T
    above, below = float(np.mean(low > true)), float(np.mean(high < true))
    return Covered(setting, 1 - above - below, above, below, float(np.mean(high - low)))


def counts_of_data(data: Data, kept: Data | None = None) -> Counts:
    """A data set by sample; without the trials that are not kept."""
    kept = np.ones_like(data) if kept is None else kept
    rows = sorted((int(n), round(float(k), 9)) for n, k in zip(kept.sum(1), (data * kept).sum(1), strict=True) if n)
    whole = bool(np.all((data == 0) | (data == 1)))
    return Counts(tuple(k for _, k in rows), tuple(n for n, _ in rows), whole)


def quarters(rng: np.random.Generator, chance: Data) -> Data:
    """Four parts."""
    return parts(rng, chance, 4)


def tenths(rng: np.random.Generator, chance: Data) -> Data:
    """Ten parts."""
    return parts(rng, chance, 10)


def any_share(rng: np.random.Generator, chance: Data) -> Data:
    """A score of any size: beta with two pseudo-trials around its chance."""
    inside = np.clip(chance, 1e-6, 1 - 1e-6)
    return rng.beta(2 * inside, 2 * (1 - inside))


def one_in_ten_lost(rng: np.random.Generator, chance: Data) -> Data:
    """A tenth of all trials has no score, whatever they are."""
    return (rng.random(chance.shape) > 0.1).astype(np.float64)


def hard_ones_lost(rng: np.random.Generator, chance: Data) -> Data:
    """The harder a trial, the likelier it has no score: up to three in ten."""
    return (rng.random(chance.shape) > 0.3 * (1 - chance)).astype(np.float64)


@dataclass(frozen=True, slots=True)
class Decided:
    """Of gates at the true score: the share that passed, and that failed, at any of several looks."""

    passed: float
    failed: float


def looks(kind: Kind, first: int, depths: int, limit: float, icc: float, times: int) -> Decided:
    """Gates `score >= limit` on models at the limit, looked at as often as samples double, `LOOKS` times at most."""
    rng = np.random.default_rng([ord(kind[-1]), first, depths, round(100 * limit), round(100 * icc)])
    passed = failed = 0
    true = true_mean(kind, depths, limit, icc)
    for _ in range(times):
        data = hits(rng, chances(rng, kind, first * LOOKS, depths, limit, icc))
        for look in range(1, LOOKS + 1):
            low, high = exact_ends(counts_of_data(data[: first * look]), 0.025 * 0.5 ** (look - 1))
            if low >= true or high < true:
                passed, failed = passed + (low >= true), failed + (high < true)
                break
    return Decided(passed / times, failed / times)
