"""The design of adaptive runs: looks at each length, bars, and the boundaries at which a look decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import comb, fsum, sqrt
from typing import Literal, Self

import numpy as np

Mode = Literal["quick", "normal", "careful"]
Decision = Literal["", "pass", "fail", "not measurable"]

ALPHA = 0.025
"""The chance of a wrong pass, and of all wrong fails together: the statement holds in 95 % of runs."""
SHARE = 0.85  # NoLiMa's bar (A. Modarressi et al., "NoLiMa", ICML 2025, section 4)
BASE_LOOK = 40  # units at the length that gives a relative bar
_SHARE_ALPHA = 0.02  # of a pass, and of all fails, where the base was measured, which itself takes 0.01 more
_LEAST_BAR, _MOST_BAR = 0.01, 0.99
_RHO = 0.7
_FEWEST = 10  # trials of a unit
_LOOKS = (1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 25, 30, 35, 40, 50, 60, 70, 80)  # in units
_CAPS: dict[Mode, int] = {"quick": 5, "normal": 10, "careful": 20}  # units at the longest length
_SHORT = 4  # a shorter length has up to so many times the cap, as long as it costs no more tokens than the longest
MOST_LOOK = _LOOKS[-1]


@dataclass(frozen=True, slots=True)
class SearchDesign:
    """One bar of one series of cells. Passes need no correction for their number; fails do.
    Only the first length that fails can make the lower end too high."""

    mode: Mode
    lengths: tuple[int, ...]  # those that are judged, in tokens, ascending
    unit: int  # trials of the first look
    pass_bar: float  # a length passes above it
    fail_bar: float  # and fails below this one; they differ where the bar itself was measured
    alpha: float = ALPHA  # the chance of a wrong pass, and of wrong fails at all lengths together

    @classmethod
    def absolute(cls, mode: Mode, lengths: tuple[int, ...], depths: int, bar: float) -> Self:
        """The design for a bar that is a score, 0..1."""
        return cls(mode, lengths, unit_of(depths), bar, bar)

    @classmethod
    def relative(cls, mode: Mode, lengths: Sequence[int], depths: int, base: BaseScore) -> Self:
        """The design for 85 % of a measured base, with its uncertainty.
        A length passes above that share of the base's high end, and fails below that of its low end."""
        judged = tuple(length for length in lengths if length > base.length)
        high, low = (min(_MOST_BAR, max(_LEAST_BAR, SHARE * end)) for end in (base.high, base.low))
        return cls(mode, judged, unit_of(depths), high, low, _SHARE_ALPHA if base.length else ALPHA)

    def looks(self, at: int) -> tuple[int, ...]:
        """The numbers of trials at which the length with this index is looked at; the last one is its cap."""
        return looks_of(self.mode, self.unit, self.lengths[-1] / self.lengths[at])

    def cap(self, at: int) -> int:
        """The most trials at the length with this index."""
        return self.looks(at)[-1]


def looks_of(mode: Mode, unit: int, cheaper: float = 1.0) -> tuple[int, ...]:
    """The looks of a mode at a length; a trial at the longest one has `cheaper` times its tokens."""
    return tuple(unit * look for look in _LOOKS if look <= _CAPS[mode] * min(_SHORT, cheaper) + 1e-9)


def unit_of(depths: int) -> int:
    """The trials of a unit: as many whole rounds of the depths as make ten or more."""
    return depths * -(-_FEWEST // depths)


@dataclass(frozen=True, slots=True)
class BaseScore:
    """The score that a relative bar is a share of, 0..1, with both ends of its 99 % interval."""

    length: int  # where it was measured, tokens; 0 for a score of the options
    n: int  # trials
    score: float
    low: float
    high: float

    @classmethod
    def measured(cls, length: int, scores: Sequence[float]) -> Self:
        """The base as these scores have it."""
        mean = fsum(scores) / len(scores)
        return cls(length, len(scores), mean, *wilson(mean, len(scores), z=2.5758293035489004))


def wilson(mean: float, n: int, z: float = 1.959963984540054) -> tuple[float, float]:
    """Wilson's interval of a share (E. B. Wilson, JASA 1927); for scores between 0 and 1 it is wide."""
    middle, half = mean + z * z / (2 * n), z * sqrt(mean * (1 - mean) / n + z * z / (4 * n * n))
    return max(0.0, (middle - half) / (1 + z * z / n)), min(1.0, (middle + half) / (1 + z * z / n))


# Error spending: K. K. G. Lan and D. L. DeMets, "Discrete sequential boundaries for clinical trials", Biometrika 1983,
# with the power family alpha (n / cap)^rho of K. Kim and D. L. DeMets (Biometrika 1987).
_ROUNDING = 1e-9  # sums of shares such as 1/3 are not exact in binary


@dataclass(frozen=True, slots=True)
class Boundaries:
    """The bounds of each look (trials): the least sum of scores to pass, the greatest to fail.

    A `pass_at_least` above the look, or a `fail_at_most` of -1: that look cannot decide so.
    """

    pass_at_least: tuple[int, ...]
    fail_at_most: tuple[int, ...]

    def verdict(self, look: int, scores: Sequence[float]) -> Decision:
        """`pass`, `fail` or nothing, by the sum of the scores (0..1) of this look's trials.

        Shares of a hit count for what is safe: rounded down to pass, up to fail.
        """
        total = fsum(scores)
        if total >= self.pass_at_least[look] - _ROUNDING:
            return "pass"
        return "fail" if total <= self.fail_at_most[look] + _ROUNDING else ""


@lru_cache(maxsize=256)
def boundaries(
    bar: float, looks: tuple[int, ...], passing: float = ALPHA, failing: float = ALPHA, rho: float = _RHO
) -> Boundaries:
    """The boundaries at `looks`, ascending numbers of trials, the last one the cap.

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
        n = look - before
        mass = np.convolve(mass, [comb(n, hits) * bar**hits * (1 - bar) ** (n - hits) for hits in range(n + 1)])
        share = (look / looks[-1]) ** rho
        above = np.append(np.cumsum(mass[::-1])[::-1], 0.0)  # P(at least k)
        below = np.append(0.0, np.cumsum(mass))  # P(fewer than k)
        least = int(np.argmax(above <= passing * share - spent_high))
        most = int(np.flatnonzero(below <= failing * share - spent_low)[-1]) - 1
        spent_high, spent_low = spent_high + float(above[least]), spent_low + float(below[most + 1])
        mass[least:], mass[: most + 1] = 0.0, 0.0
        high, low, before = [*high, least], [*low, most], look
    return Boundaries(tuple(high), tuple(low))


def boundaries_at(design: SearchDesign, at: int) -> Boundaries:
    """The boundaries of the length with this index; see `SearchDesign`."""
    looks, failing = design.looks(at), design.alpha / len(design.lengths)
    above = boundaries(design.pass_bar, looks, design.alpha, failing)
    below = boundaries(design.fail_bar, looks, design.alpha, failing)
    return Boundaries(above.pass_at_least, below.fail_at_most)
