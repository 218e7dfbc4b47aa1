"""`--adaptive anytime`: a length decided by betting against the bar, which holds at any number of looks.

Source: I. Waudby-Smith and A. Ramdas, "Estimating means of bounded random variables by betting", JRSS B 2024. With
Ville's inequality the fortune of one who bets against a true bar reaches 1 / alpha with a chance of at most alpha.
It holds for any scores in 0..1. The exact boundaries are proved for hits and misses, and simulated for shares.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from needlework.results.adaptive.design import Decision

_ABOVE = (0.2, 0.35, 0.5, 0.65, 0.8, 0.93)
_BELOW = (0.93, 0.86, 0.76, 0.62, 0.45, 0.2)


def verdict(scores: Sequence[float], pass_bar: float, fail_bar: float, passing: float, failing: float) -> Decision:
    """`pass`, `fail` or nothing; the bars and the scores are 0..1, the chances those of a wrong pass and fail."""
    if fortune(scores, pass_bar, [pass_bar + (1 - pass_bar) * share for share in _ABOVE]) >= 1 / passing:
        return "pass"
    if fortune(scores, fail_bar, [fail_bar * share for share in _BELOW]) >= 1 / failing:
        return "fail"
    return ""


def fortune(scores: Sequence[float], bar: float, means: Sequence[float]) -> float:
    """What one has who began with 1 and bet on each of `means` in equal parts, each as is best for hits of that mean.

    The order of the scores does not matter.
    """
    stakes = np.array([(mean - bar) / (bar * (1 - bar)) for mean in means])
    logs = np.log1p(stakes[:, None] * (np.asarray(scores)[None] - bar)).sum(axis=1)
    return float(np.exp(np.minimum(logs, 500.0)).mean())
