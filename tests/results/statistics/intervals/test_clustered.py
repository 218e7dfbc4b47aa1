"""The clustered exact interval: known values, limits, and what must always hold."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.results.statistics.intervals import Counts, counts_of, exact_ends


def counts(hits: list[float], sizes: list[int] | int, *, whole: bool = True) -> Counts:
    """Samples by the sums of their scores, and their trials."""
    return Counts(tuple(hits), (sizes,) * len(hits) if isinstance(sizes, int) else tuple(sizes), whole)


@pytest.mark.parametrize(
    ("data", "low", "high"),
    [
        (counts([11] * 10, 11), 0.7528, 1.0),
        (counts([10] * 9 + [9], 11), 0.8139, 0.948),
        (counts([0] + [11] * 9, 11), 0.5813, 0.9979),
        (counts([5, 5, 4, 2, 5], 5), 0.4519, 0.9775),
        (counts([3, 5, 11, 0, 7, 6], [3, 8, 11, 2, 9, 6]), 0.3635, 0.9454),
        (counts([4.75, 5, 3.5, 2.25, 5, 4, 4.5, 1], 5, whole=False), 0.4839, 0.8972),
        (counts([0] * 10, 11), 0.0, 0.2472),
    ],
    ids=["all right", "misses spread", "one sample wrong", "few samples", "unequal", "quarters", "all wrong"],
)
def test_it_has_the_values_that_two_implementations_agreed_on(data: Counts, low: float, high: float) -> None:
    assert exact_ends(data) == pytest.approx((low, high), abs=1e-4)


def test_a_later_look_at_a_gate_is_wider() -> None:
    assert exact_ends(counts([5, 5, 4, 2, 5], 5), error=0.0125) == pytest.approx((0.3969, 0.9844), abs=1e-4)


@pytest.mark.parametrize(
    ("samples", "several_depths", "one_depth"),
    [
        (2, 0.217, 0.158), (3, 0.371, 0.292), (4, 0.481, 0.398), (5, 0.560, 0.478), (8, 0.700, 0.631),
        (10, 0.753, 0.692), (15, 0.829, 0.782), (20, 0.869, 0.832), (30, 0.911, 0.884), (40, 0.933, 0.912),
        (60, 0.955, 0.940), (100, 0.973, 0.964),
    ],
)  # fmt: skip
def test_what_samples_that_are_all_right_say(samples: int, several_depths: float, one_depth: float) -> None:
    for depths, low in ((1, one_depth), (5, several_depths), (11, several_depths)):
        found = exact_ends(counts([depths] * samples, depths))
        assert found == pytest.approx((low, 1.0), abs=2e-3)


def test_one_trial_of_each_sample_is_clopper_and_pearsons() -> None:
    """369 of 400, and the likelihood on its grid says the same to a thousandth."""
    assert exact_ends(counts([1] * 369 + [0] * 31, 1)) == pytest.approx((0.8918, 0.9467), abs=1e-4)
    in_pairs = counts([1] * 368 + [0] * 31 + [2], [1] * 399 + [2])
    assert exact_ends(in_pairs) == pytest.approx((0.8918, 0.9467), abs=1e-3)


def test_misses_that_are_spread_say_more_than_none() -> None:
    """Perfect data may come from samples that are each all right or all wrong; a miss here and there cannot."""
    lows = [exact_ends(counts([10] * k + [11] * (10 - k), 11))[0] for k in (0, 1, 2, 3, 4, 6)]
    assert lows == pytest.approx([0.753, 0.754, 0.779, 0.809, 0.834, 0.851], abs=1e-3)


def test_growth_is_the_same_mixture_of_samples_so_many_times() -> None:
    once, thrice = counts([5, 4, 2], 5), counts([5, 4, 2] * 3, 5)
    assert exact_ends(once, growth=3) == pytest.approx(exact_ends(thrice))


def test_partial_credit_from_ten_samples_on_is_as_wide_as_students_t_at_least() -> None:
    quarters = [1.0, 0.5, 0.75, 0.25, 1.0] * 2
    ends = exact_ends(counts(quarters, 1, whole=False))
    assert ends[0] <= 0.7 - 2.262 * 0.3011 / 10**0.5 + 1e-3  # mean 0.7, sd 0.3011, t of nine degrees of freedom


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
