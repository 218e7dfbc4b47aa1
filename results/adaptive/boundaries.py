"""When a length is decided: exact group-sequential boundaries on the number of hits.

Error spending: K. K. G. Lan and D. L. DeMets, "Discrete sequential boundaries for clinical trials", Biometrika 1983,
with the power family alpha (n / cap)^rho of K. Kim and D. L. DeMets (Biometrika 1987).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import comb, fsum

import numpy as np
import numpy.typing as npt

from needlework.results.adaptive.design import ALPHA, RHO, Decision, Design

_ROUNDING = 1e-9  # sums of shares such as 1/3 are not exact in binary


@dataclass(frozen=True, slots=True)
class Boundaries:
    """At each look (trials): the least sum of scores that passes, and the greatest that fails.

    A `pass_at_least` above the look, or a `fail_at_most` of -1: that look cannot decide so.
    """

    looks: tuple[int, ...]
    pass_at_least: tuple[int, ...]
    fail_at_most: tuple[int, ...]

    def verdict(self, look: int, scores: Sequence[float]) -> Decision:
        """`pass`, `fail` or nothing, by the sum of the scores (0..1) of a look's trials, given by its number.

        Shares of a hit count for what is safe: rounded down to pass, up to fail.
        """
        total = fsum(scores)
        if total >= self.pass_at_least[look] - _ROUNDING:
            return "pass"
        return "fail" if total <= self.fail_at_most[look] + _ROUNDING else ""


@lru_cache(maxsize=256)
def boundaries(
    bar: float, looks: tuple[int, ...], passing: float = ALPHA, failing: float = ALPHA, rho: float = RHO
) -> Boundaries:
    """Return the boundaries at `looks`, ascending numbers of trials, the last one the cap.

    `bar`: the mean score (0..1) at which a wrong pass has at most the chance `passing`, at any look, and a wrong fail
    at most `failing`. By look n a share (n / cap)^rho of each may be spent. The hits of n trials at the bar are
    binomial; what has crossed a boundary has left.
    """
    mass = np.ones(1)  # of 0, 1, ... hits among those not decided yet
    spent_high = spent_low = 0.0
    before = 0
    high: list[int] = []
    low: list[int] = []
    for look in looks:
        mass = np.convolve(mass, _binomial(look - before, bar))
        share = (look / looks[-1]) ** rho
        above = np.append(np.cumsum(mass[::-1])[::-1], 0.0)  # P(at least k)
        below = np.append(0.0, np.cumsum(mass))  # P(fewer than k)
        least = int(np.argmax(above <= passing * share - spent_high))
        most = int(np.flatnonzero(below <= failing * share - spent_low)[-1]) - 1
        spent_high, spent_low = spent_high + float(above[least]), spent_low + float(below[most + 1])
        mass[least:], mass[: most + 1] = 0.0, 0.0
        high, low, before = [*high, least], [*low, most], look
    return Boundaries(looks, tuple(high), tuple(low))


def boundaries_of(design: Design) -> Boundaries:
    """The boundaries of a run, at the bar that a pass has to exceed; see `Design`."""
    passing = boundaries(design.pass_bar, design.looks, design.passing, design.failing)
    if design.pass_bar == design.fail_bar:
        return passing
    failing = boundaries(design.fail_bar, design.looks, design.passing, design.failing)
    return Boundaries(design.looks, passing.pass_at_least, failing.fail_at_most)


def _binomial(trials: int, chance: float) -> npt.NDArray[np.float64]:
    return np.array([comb(trials, hits) * chance**hits * (1 - chance) ** (trials - hits) for hits in range(trials + 1)])
