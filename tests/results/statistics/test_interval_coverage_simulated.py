"""Coverage: of simulated data sets, 93 to 97 % of the 95 % intervals hold the truth.

Wilson's exact coverage oscillates with n and p, between about 90 and 99 %; it is averaged over a range of p, as is
usual (L. D. Brown, T. T. Cai, A. DasGupta, "Interval Estimation for a Binomial Proportion", Statistical Science 16
(2001) 101-133).
Intervals of paired 0/1 scores take two discordant pairs for granted and so err on the wide side below 100 pairs.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from needlework.results.statistics.intervals import score_interval, wilson
from needlework.results.statistics.paired import mean_difference

Data = NDArray[np.float64]


def held(
    interval: Callable[[list[float], list[tuple[int]]], object], draw: Callable[[], Data], truth: float, times: int
) -> float:
    """The share of intervals that hold `truth`; a data set is (clusters, trials of each)."""
    count = 0
    for _ in range(times):
        data = draw()
        clusters = [(i,) for i in range(len(data)) for _ in range(data.shape[1])]
        found = interval(data.ravel().tolist(), clusters)
        count += found.low <= truth <= found.high  # type: ignore[attr-defined]
    return count / times


@pytest.mark.parametrize("n", [20, 50, 100, 500])
def test_wilson_covers_independent_trials(n: int) -> None:
    rng = np.random.default_rng(n)
    ends = np.array([wilson(hits / n, n) for hits in range(n + 1)])
    p = rng.uniform(0.02, 0.98, size=40_000)
    low, high = ends[rng.binomial(n, p)].T

    assert 0.93 <= np.mean((low <= p) & (p <= high)) <= 0.97


@pytest.mark.parametrize(("samples", "depths"), [(10, 5), (12, 11), (20, 5), (50, 5)])
def test_clustered_hits_and_misses_are_covered(samples: int, depths: int) -> None:
    """A sample's chance is beta (2, 1), so that its depths are alike."""
    rng = np.random.default_rng(samples)

    def draw() -> Data:
        return (rng.random((samples, depths)) < rng.beta(2, 1, size=(samples, 1))).astype(float)

    assert 0.93 <= held(score_interval, draw, 2 / 3, 1500) <= 0.97


@pytest.mark.parametrize("samples", [10, 20, 40])
def test_hits_and_misses_that_are_independent_after_all_are_covered(samples: int) -> None:
    """Few samples cannot tell that their depths are not alike: such intervals err on the wide side."""
    rng = np.random.default_rng(samples)

    assert 0.93 <= held(score_interval, lambda: (rng.random((samples, 5)) < 0.7).astype(float), 0.7, 1500) <= 0.98


@pytest.mark.parametrize("samples", [12, 20, 30, 40, 60])
def test_partial_credit_is_covered(samples: int) -> None:
    rng = np.random.default_rng(samples)

    assert 0.93 <= held(score_interval, lambda: rng.beta(2, 1, size=(samples, 1)), 2 / 3, 1500) <= 0.97


@pytest.mark.parametrize("samples", [12, 20, 30, 50])
def test_clustered_partial_credit_is_covered(samples: int) -> None:
    """Five depths of each sample, scored in quarters."""
    rng = np.random.default_rng(samples)

    def draw() -> Data:
        return rng.binomial(4, rng.beta(2, 1, size=(samples, 1)), size=(samples, 5)) / 4

    assert 0.93 <= held(score_interval, draw, 2 / 3, 1500) <= 0.97


@pytest.mark.parametrize(("samples", "depths"), [(120, 1), (40, 5), (20, 11)])
def test_paired_differences_of_hits_and_misses_are_covered(samples: int, depths: int) -> None:
    """B loses hits, more of some samples than of others, and gains some of A's misses."""
    rng = np.random.default_rng(samples)

    def draw() -> Data:
        a = rng.random((samples, depths)) < rng.beta(4, 2, size=(samples, 1))
        lost = rng.random((samples, depths)) < 0.4 * rng.random((samples, 1))
        gained = rng.random((samples, depths)) < 0.2
        return np.where(a, -1.0 * lost, 1.0 * gained)

    assert 0.93 <= held(mean_difference, draw, -0.2 * 2 / 3 + 0.2 / 3, 1000) <= 0.97


@pytest.mark.parametrize("samples", [12, 30, 50])
def test_paired_differences_of_partial_credit_are_covered(samples: int) -> None:
    rng = np.random.default_rng(samples)

    def draw() -> Data:
        a = rng.beta(4, 2, size=(samples, 3))
        return a * rng.beta(8, 2, size=(samples, 1)) - a

    assert 0.93 <= held(mean_difference, draw, -2 / 3 * 0.2, 1500) <= 0.97
