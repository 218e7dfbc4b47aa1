"""Coverage of intervals, and error rates of gates and verdicts, on simulated runs."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy import optimize, special

from needlework.results.statistics.intervals import Counts, counts_of, exact_ends
from needlework.results.statistics.paired import difference_ends, sign_flip_p
from needlework.results.statistics.panels import Share
from needlework.results.statistics.tasks import weighted_mean
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
    """Shares of intervals that hold the true mean, and that lie above it; their mean width."""

    setting: Setting
    held: float
    above: float  # a wrong pass of a gate
    width: float


def settings(samples: int) -> Iterator[Setting]:
    """The settings with so many samples."""
    for kind, depths, mean, icc in product(KINDS, DEPTHS, MEANS, ICCS):
        if kind != "slope" or depths > 1:
            yield Setting(kind, samples, depths, mean, icc)


def covered(setting: Setting, times: int, make: Make = hits, salt: int = 0) -> Covered:
    """Simulate one setting. `salt`: other data sets of the same setting."""
    kind, samples, depths, mean, icc = setting.kind, setting.samples, setting.depths, setting.mean, setting.icc
    rng = np.random.default_rng([ord(kind[-1]), samples, depths, round(100 * mean), round(100 * icc), salt])
    true = true_mean(kind, depths, mean, icc)
    data = (make(rng, chances(rng, kind, samples, depths, mean, icc)) for _ in range(times))
    low, high = np.array([exact_ends(counts_in(each)) for each in data]).T
    above, below = float(np.mean(low > true)), float(np.mean(high < true))
    return Covered(setting, 1 - above - below, above, float(np.mean(high - low)))


def counts_in(data: Data) -> Counts:
    """A data set by sample."""
    return Counts(tuple(sorted(round(float(total), 9) for total in data.sum(1))), (data.shape[1],) * len(data))


def quarters(rng: np.random.Generator, chance: Data) -> Data:
    """Scores of four parts."""
    return parts(rng, chance, 4)


@dataclass(frozen=True, slots=True)
class Decided:
    """The share of gates that passed, and that failed, at any of several looks."""

    passed: float
    failed: float


def looks(
    kind: Kind, first: int, depths: int, limit: float, icc: float, times: int, bound_of: float | None = None
) -> Decided:
    """Simulate gates `score >= limit` at the limit; `LOOKS` looks at most, as samples double.

    `bound_of`: the score of the models, for gates `lower_bound >= limit`, which fail at a mean of `limit` or less.
    """
    score = limit if bound_of is None else bound_of
    rng = np.random.default_rng(
        [ord(kind[-1]), first, depths, round(100 * limit), round(100 * icc), round(100 * score)]
    )
    passed = failed = 0
    bar = true_mean(kind, depths, limit, icc) if bound_of is None else limit
    for _ in range(times):
        data = hits(rng, chances(rng, kind, first * LOOKS, depths, score, icc))
        for look in range(1, LOOKS + 1):
            seen = data[: first * look]
            low, high = exact_ends(counts_in(seen), 0.025 * 0.5 ** (look - 1))
            fails = high < bar if bound_of is None else low < bar and bool(seen.mean() <= limit)
            if low >= bar or fails:
                passed, failed = passed + (low >= bar), failed + fails
                break
    return Decided(passed / times, failed / times)


def macro(tasks: int, samples: int, depths: int, icc: float, times: int, *, shared: bool) -> float:
    """The share of intervals of a macro score that hold the true one.

    The first task is a family, the others are another one: it weighs half. `shared`: a sample that is hard is hard in
    every task, as one needle would be; the interval takes tasks for independent.
    """
    rng = np.random.default_rng([tasks, samples, depths, round(100 * icc), shared])
    means = [(0.95, 0.5, 0.8, 0.9, 0.99, 0.7)[at % 6] for at in range(tasks)]
    weights = [0.5, *[0.5 / (tasks - 1)] * (tasks - 1)]
    true = sum(w * true_mean("logit", depths, mean, icc) for w, mean in zip(weights, means, strict=True))
    held = 0
    for _ in range(times):
        luck = [int(rng.integers(2**32))] * tasks if shared else rng.integers(2**32, size=tasks).tolist()
        shares = []
        for seed, mean in zip(luck, means, strict=True):
            data = hits(rng, chances(np.random.default_rng(seed), "logit", samples, depths, mean, icc))
            shares.append(Share(float(data.mean()), *exact_ends(counts_in(data))))
        score = weighted_mean(shares, weights)
        held += (score.low or 0.0) <= true <= (score.high or 0.0)
    return held / times


@dataclass(frozen=True, slots=True)
class Compared:
    """Shares of run pairs: intervals with the true difference, verdicts, and p < 5 %."""

    held: float
    verdicts: float
    significant: float


def compared(
    samples: int, scores: tuple[float, float], spread: float, shared: str, depths: int, times: int
) -> Compared:
    """Simulate run pairs with these scores; `spread`: of difficulty in logits, `shared` or `own`."""
    rng = np.random.default_rng([samples, round(100 * scores[0]), round(100 * scores[1]), round(10 * spread), depths])
    middles = [_middle(score, spread) for score in scores]
    true = _mean(middles[1], spread) - _mean(middles[0], spread)
    names = np.repeat(np.arange(samples), depths).tolist()
    rows = []
    for _ in range(times):
        a, b = _runs(rng, samples, middles, spread, shared, depths)
        pairs = counts_of((b - a).ravel().tolist(), names)
        (low, high), p = difference_ends(pairs), sign_flip_p(pairs)
        rows.append((low <= true <= high, low > 0 or high < 0, p is not None and p < 0.05))
    return Compared(*np.mean(np.array(rows, dtype=float), axis=0).tolist())


def relative(samples: int, share: float, spread: float, depths: int, times: int) -> float:
    """Certification rate of a length whose score is just `share` of the base, on the same samples."""
    rng = np.random.default_rng([samples, round(100 * share), round(10 * spread), depths])
    base = _middle(0.95, spread)
    middles = [base, _middle(share * _mean(base, spread), spread)]
    names = np.repeat(np.arange(samples), depths).tolist()
    wrong = 0
    for _ in range(times):
        a, b = _runs(rng, samples, middles, spread, "own", depths)
        margins = b - share * a.mean(axis=1, keepdims=True)
        wrong += difference_ends(counts_of(margins.ravel().tolist(), names))[0] >= 0
    return wrong / times


def _runs(
    rng: np.random.Generator, samples: int, middles: list[float], spread: float, shared: str, depths: int
) -> tuple[Data, Data]:
    luck = rng.standard_normal((2, samples, 1))
    if shared == "shared":
        luck[1] = luck[0]
    a, b = (
        hits(rng, np.broadcast_to(special.expit(middle + spread * of_run), (samples, depths)))
        for middle, of_run in zip(middles, luck, strict=True)
    )
    return a, b


_Z = np.linspace(-8, 8, 4_001)
_W = np.exp(-_Z * _Z / 2) / np.exp(-_Z * _Z / 2).sum()


def _mean(middle: float, spread: float) -> float:
    return float(_W @ special.expit(middle + spread * _Z))


def _middle(score: float, spread: float) -> float:
    if score >= 1:
        return 60.0
    return float(optimize.brentq(lambda at: _mean(at, spread) - score, -60, 60))
