"""The bar that is a share of the model's own score at a short length, which is measured first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum, sqrt

from needlework.results.adaptive.design import Design, Mode, unit_of

SHARE = 0.85  # NoLiMa's bar (A. Modarressi et al., "NoLiMa", ICML 2025, section 4)
_ALPHA = 0.02  # of a pass, and of all fails; the base itself takes 0.01 more
_Z99 = 2.5758293035489004
_LEAST, _MOST = 0.01, 0.99


@dataclass(frozen=True, slots=True)
class Base:
    """The score that a relative bar is a share of, 0..1, with both ends of its 99 % interval.

    `length`: where it was measured, 0 for a score that was given; `n`: on so many trials.
    """

    length: int
    n: int
    score: float
    low: float
    high: float


def measured(length: int, scores: Sequence[float]) -> Base:
    """The base as these scores have it."""
    mean = fsum(scores) / len(scores)
    return Base(length, len(scores), mean, *wilson(mean, len(scores), _Z99))


def relative(mode: Mode, lengths: Sequence[int], depths: int, base: Base) -> Design:
    """The design for 85 % of a base: a length passes above the share of its high end, and fails below that of its low
    end. A base that was measured takes a part of what the statement may err."""
    judged = tuple(length for length in lengths if length > base.length)
    bars = (min(_MOST, max(_LEAST, SHARE * end)) for end in (base.high, base.low))
    return Design(mode, judged, unit_of(depths), *bars, *([_ALPHA] if base.length else []))


def wilson(mean: float, n: int, z: float) -> tuple[float, float]:
    """Wilson's interval of a share, both ends (E. B. Wilson, JASA 1927); for scores between 0 and 1 it is wide."""
    middle, half = mean + z * z / (2 * n), z * sqrt(mean * (1 - mean) / n + z * z / (4 * n * n))
    return max(0.0, (middle - half) / (1 + z * z / n)), min(1.0, (middle + half) / (1 + z * z / n))
