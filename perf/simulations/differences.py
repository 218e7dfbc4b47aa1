"""Coverage of paired differences, false verdicts, and drop gates with several looks."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np
from scipy import special

from needlework.results.statistics.paired import difference_ends, pairs_of, sign_flip_p
from perf.simulations.models import Data, parts

SCORES = ((0.8, 0.8), (0.95, 0.95), (0.99, 0.99), (0.9, 0.7), (0.98, 0.9), (1.0, 0.95))
SPREADS = (0.0, 1.5, 4.0)
DEPTHS = (1, 5, 11)
Shared = Literal["shared", "own"]
_LOOKS = 4


@dataclass(frozen=True, slots=True)
class Compared:
    """Of `times` pairs of runs: the share of intervals with the true difference, of verdicts where there is none, their
    mean width, and the share with p < 5 %."""

    words: str
    held: float
    verdicts: float
    width: float
    significant: float


def settings() -> list[tuple[tuple[float, float], float, Shared, int]]:
    """Scores of A and B, spread of the needles' difficulty in logits, whether both share it, depths."""
    found = product(SCORES, SPREADS, ("shared", "own"), DEPTHS)
    return [each for each in found if each[1] or each[2] == "shared"]


def compared(
    samples: int, scores: tuple[float, float], spread: float, shared: Shared, depths: int, times: int, of: int = 1
) -> Compared:
    """Simulate pairs of runs; `of`: parts of a score, 1 for hits and misses."""
    rng = np.random.default_rng([samples, round(100 * scores[0]), round(100 * scores[1]), round(10 * spread), depths])
    middles = [_middle(score, spread) for score in scores]
    true = _true(middles[1], spread) - _true(middles[0], spread)
    held = verdicts = significant = 0
    widths = []
    for _ in range(times):
        low, high, p = _once(rng, samples, middles, spread, shared, depths, of)
        held += low <= true <= high
        verdicts += low > 0 or high < 0
        significant += p is not None and p < 0.05
        widths.append(high - low)
    words = f"{samples} x {depths}, {scores[0]:g} and {scores[1]:g}, sd {spread:g} {shared}"
    return Compared(words, held / times, verdicts / times, float(np.mean(widths)), significant / times)


def drop_looks(samples: int, drop: float, spread: float, depths: int, times: int) -> tuple[float, float]:
    """The shares that a gate at the true drop passes, and fails, wrongly at any of several looks of so many samples."""
    rng = np.random.default_rng([samples, round(100 * drop), round(10 * spread), depths])
    middles = [_middle(0.9, spread), _middle(0.9 - drop, spread)]
    true = _true(middles[0], spread) - _true(middles[1], spread)
    passed = failed = 0
    for _ in range(times):
        a, b = _runs(rng, samples * _LOOKS, middles, spread, "own", depths, 1)
        for look in range(1, _LOOKS + 1):
            drops = (a - b)[: samples * look]
            names = np.repeat(np.arange(len(drops)), depths).tolist()
            low, high = difference_ends(pairs_of(drops.ravel().tolist(), names), 0.025 * 0.5 ** (look - 1))
            if high <= true or low > true:
                passed, failed = passed + (high <= true), failed + (low > true)
                break
    return passed / times, failed / times


def relative(samples: int, share: float, spread: float, depths: int, times: int) -> float:
    """How often a length whose score is just `share` of the base is certified, base and score on the same samples."""
    rng = np.random.default_rng([samples, round(100 * share), round(10 * spread), depths])
    base = _middle(0.95, spread)
    middles = [base, _middle(share * _true(base, spread), spread)]
    wrong = 0
    for _ in range(times):
        a, b = _runs(rng, samples, middles, spread, "own", depths, 1)
        margins = b - share * a.mean(axis=1, keepdims=True)
        names = np.repeat(np.arange(samples), depths).tolist()
        wrong += difference_ends(pairs_of(margins.ravel().tolist(), names))[0] >= 0
    return wrong / times


def _once(
    rng: np.random.Generator, samples: int, middles: list[float], spread: float, shared: Shared, depths: int, of: int
) -> tuple[float, float, float | None]:
    a, b = _runs(rng, samples, middles, spread, shared, depths, of)
    names = np.repeat(np.arange(samples), depths).tolist()
    pairs = pairs_of((b - a).ravel().tolist(), names)
    return *difference_ends(pairs), sign_flip_p(pairs)


def _runs(
    rng: np.random.Generator, samples: int, middles: list[float], spread: float, shared: Shared, depths: int, of: int
) -> tuple[Data, Data]:
    luck = rng.standard_normal((2, samples, 1))
    if shared == "shared":
        luck[1] = luck[0]
    a, b = (
        parts(rng, np.broadcast_to(special.expit(middle + spread * own), (samples, depths)), of)
        for middle, own in zip(middles, luck, strict=True)
    )
    return a, b


_Z = np.linspace(-8, 8, 4_001)
_W = np.exp(-_Z * _Z / 2) / np.exp(-_Z * _Z / 2).sum()


def _true(middle: float, spread: float) -> float:
    return float(_W @ special.expit(middle + spread * _Z))


def _middle(score: float, spread: float) -> float:
    from scipy import optimize

    if score >= 1:
        return 60.0
    return float(optimize.brentq(lambda at: _true(at, spread) - score, -60, 60))
