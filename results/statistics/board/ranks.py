"""Ranks that say no more than the data: for each model the range of places that it may have, all of them at 95 %.

Every pair of models is compared both ways, paired by sample, one-sided, and Holm's correction over all of these tests
keeps the chance of any wrong "better" at 5 %. A model's range goes from one place below those that are shown better to
one place above those that are shown worse (M. Mogstad, J. Romano, A. Shaikh, D. Wilhelm, "Inference for Ranks", Review
of Economic Studies 91 (2024) 476-518, section 3, with sign flips as the tests).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from needlework.results.statistics.board.flips import tail
from needlework.results.statistics.intervals.clustered import Floats
from needlework.results.statistics.intervals.paired import FEWEST_FOR_P

LEVEL = 0.05
_HOPELESS = 60  # times smaller than its bound no p is; at most half of the tests can be shown, one of each pair
_MANY = 200  # models; beyond, p is taken to be its bound: ranges are a little wider, and there at once
_NONE = 1e-12
Ranks = tuple[int, int]
"""The best and the worst place that a model may have."""


def rank_ranges(sums: Floats, most: Floats | None = None) -> list[Ranks]:
    """Return the range of each model. `sums`: (models, samples), of each sample the sum of its scores; `most`: the same
    with undecided answers as hits, where they are misses in `sums`. Better is who is so with its own as misses and the
    other's as hits.
    """
    count, samples = sums.shape
    better = _shown(sums, sums if most is None else most) if samples >= FEWEST_FOR_P and count > 1 else ()
    best, worst = [1] * count, [count] * count
    for winner, loser in better:
        best[loser] += 1
        worst[winner] -= 1
    return list(zip(best, worst, strict=True))


def needed_samples(count: int) -> int:
    """The fewest samples that can tell one of so many models from another: a p of n samples is 1 / 2^n at least."""
    return next(n for n in range(FEWEST_FOR_P, 64) if count * (count - 1) * 0.5**n <= LEVEL)


def _shown(least: Floats, most: Floats) -> Sequence[tuple[int, int]]:
    """The pairs of which the first is shown better than the second."""
    count = len(least)
    tests = count * (count - 1)
    tested = []
    for one in range(count):
        for wins, differences in ((True, least[one] - most[one + 1 :]), (False, least[one + 1 :] - most[one])):
            totals, squares = differences.sum(axis=1), (differences**2).sum(axis=1)
            # p is no larger than this (W. Hoeffding, JASA 58 (1963) 13-30), which is enough where that is small enough.
            bounds = np.exp(-(totals**2) / np.maximum(2 * squares, _NONE))
            for at in np.flatnonzero((totals > 0) & (bounds <= _HOPELESS * 2 * LEVEL / tests)):
                other = one + 1 + int(at)
                enough = count > _MANY or bounds[at] <= LEVEL / tests
                p = float(bounds[at]) if enough else tail(differences[at])
                tested.append((p, (one, other) if wins else (other, one)))
    shown = []
    for rank, (p, pair) in enumerate(sorted(tested)):
        if p * (tests - rank) > LEVEL:
            break
        shown.append(pair)
    return shown
