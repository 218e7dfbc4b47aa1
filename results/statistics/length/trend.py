"""How a score falls with length, in three numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from needlework.results.statistics.length.scores import LengthScore, base_score

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Trend:
    """Scores over lengths. `None` where there is too little to say it.

    `area`: area under the score over log2(length), divided by the width, so that it is the mean score over doublings,
    0..1. `drop`: 1 - score at the longest length / base; below 0 where the score rose. `half_life`: the first length,
    in tokens, that scores below half of the base (the italics of NoLiMa's table 3); `None` where no tested one does.
    """

    base: float | None
    area: float | None
    drop: float | None
    half_life: int | None


def trend(scores: Sequence[LengthScore], base: float | None = None) -> Trend:
    """Return the trend of `scores`, which ascend by length. Lengths without a score are left out.

    `base`: what the drop and the half-life are a share of, 0..1; without one as of `base_score`.
    """
    scored = [(each.length, each.score) for each in scores if each.score is not None]
    base = base_score(scores) if base is None else base
    if base is None or not scored:
        return Trend(None, None, None, None)
    area = drop = None
    if len(scored) > 1:
        octaves = np.log2([length for length, _ in scored])
        area = float(np.trapezoid([score for _, score in scored], octaves) / (octaves[-1] - octaves[0]))
        drop = 1 - scored[-1][1] / base if base > 0 else None
    half_life = next((length for length, score in scored if score < base / 2 - _ROUNDING), None)
    return Trend(base, area, drop, half_life)
