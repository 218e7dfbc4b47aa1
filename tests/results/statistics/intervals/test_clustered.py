"""The interval of a mean score: known values, limits, and what must always hold."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import betaincinv

from needlework.results.statistics.intervals import Counts, counts_of, exact_ends


def counts(hits: list[float], sizes: list[int] | int, *, whole: bool = True) -> Counts:
    """Samples by the sums of their scores, and their trials."""
    return Counts(tuple(hits), (sizes,) * len(hits) if isinstance(sizes, int) else tuple(sizes), whole)


def clopper_pearson(hits: int, trials: int) -> tuple[float, float]:
    """Both ends, 0..1, of the 95 % interval."""
    low = betaincinv(hits, trials - hits + 1, 0.025) if hits else 0.0
    return float(low), float(betaincinv(hits + 1, trials - hits, 0.975) if hits < trials else 1.0)


@pytest.mark.parametrize("depths", [1, 5, 11])
@pytest.mark.parametrize(("hits", "samples"), [(0, 10), (10, 10), (5, 10), (9, 10), (3, 4), (369, 400)])
def test_samples_that_are_all_right_or_all_wrong_have_clopper_and_pearsons(
    hits: int, samples: int, depths: int
) -> None:
    data = counts([depths] * hits + [0] * (samples - hits), depths)
    assert exact_ends(data) == pytest.approx(clopper_pearson(hits, samples), abs=1e-9)


@pytest.mark.parametrize(
    "data",
    [
        counts([11] * 9 + [10], 11),
        counts([5, 5, 4, 2, 5], 5),
        counts([3, 5, 11, 0, 7, 6], [3, 8, 11, 2, 9, 6]),
        counts([4.75, 5, 3.5, 2.25, 5, 4, 4.5, 1], 5, whole=False),
        counts([0.5] * 30, 1, whole=False),
    ],
    ids=["one miss", "few samples", "unequal", "quarters", "all alike"],
)
def test_the_ends_are_quantiles_of_means_with_random_weights(data: Counts) -> None:
    """By the definition, with sorted uniform numbers in place of weights, and other draws."""
    means = np.sort([total / size for total, size in zip(data.sums, data.sizes, strict=True)])
    uniform = np.sort(np.random.default_rng(1).random((100_000, len(means))))

    def upper(values: np.ndarray) -> float:
        return float(np.quantile(1 - uniform @ np.diff(np.append(values, 1.0)), 0.975))

    assert exact_ends(data) == pytest.approx((1 - upper(1 - means[::-1]), upper(means)), abs=0.01)


def test_a_later_look_at_a_gate_is_wider() -> None:
    data = counts([5, 5, 4, 2, 5], 5)
    (low, high), (lower, higher) = exact_ends(data), exact_ends(data, error=0.0125)
    assert lower < low < high < higher


def test_it_holds_where_a_share_of_needles_always_fails() -> None:
    """5 % of needles at 0, the others right in 97 % of eleven depths: the method before this one held in 68 %."""
    rng, truth, inside = np.random.default_rng(5), 0.95 * 0.97, 0
    for _ in range(200):
        hits = rng.binomial(11, np.where(rng.random(40) < 0.05, 0.0, 0.97))
        low, high = exact_ends(counts(hits.tolist(), 11))
        inside += low <= truth <= high
    assert inside >= 187


def test_growth_is_the_same_mixture_of_samples_so_many_times() -> None:
    once, thrice = counts([5, 4, 2], 5), counts([5, 4, 2] * 3, 5)
    assert exact_ends(once, growth=3) == pytest.approx(exact_ends(thrice), abs=0.01)


def test_scores_and_samples_must_match() -> None:
    with pytest.raises(ValueError, match="sample names"):
        counts_of([1.0], [])
    with pytest.raises(ValueError, match="no trials"):
        exact_ends(counts_of([], []))


scored = st.lists(st.tuples(st.integers(0, 6), st.sampled_from([0.0, 1.0])), min_size=1, max_size=40)


@given(scored)
def test_the_mean_lies_inside_and_the_order_does_not_matter(trials: list[tuple[int, float]]) -> None:
    samples, scores = [sample for sample, _ in trials], [score for _, score in trials]
    low, high = exact_ends(counts_of(scores, samples))
    shuffled = random.Random(1).sample(trials, len(trials))

    assert 0 <= low <= sum(scores) / len(scores) + 1e-12
    assert sum(scores) / len(scores) - 1e-12 <= high <= 1
    assert exact_ends(counts_of([score for _, score in shuffled], [sample for sample, _ in shuffled])) == (low, high)


@given(scored)
def test_hits_and_misses_swapped_turn_the_interval_round(trials: list[tuple[int, float]]) -> None:
    samples, scores = [sample for sample, _ in trials], [score for _, score in trials]
    low, high = exact_ends(counts_of(scores, samples))
    assert exact_ends(counts_of([1 - score for score in scores], samples)) == pytest.approx((1 - high, 1 - low))


@given(scored)
def test_a_smaller_error_is_never_narrower(trials: list[tuple[int, float]]) -> None:
    data = counts_of([score for _, score in trials], [sample for sample, _ in trials])
    low, high = exact_ends(data)
    lower, higher = exact_ends(data, error=0.005)
    assert lower <= low <= high <= higher
