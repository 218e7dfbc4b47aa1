"""Paired differences: known values, limits, the sign-flip test."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.results.statistics.paired import (
    Difference,
    Pairs,
    difference_ends,
    holm,
    mean_difference,
    pairs_of,
    sign_flip_p,
)


def pairs(gains: list[int], losses: list[int], depths: int) -> Pairs:
    """Samples of 0/1 scores by how many of their trials B gains and loses."""
    differences, samples = [], []
    for sample, (won, lost) in enumerate(zip(gains, losses, strict=True)):
        differences += [1.0] * won + [-1.0] * lost + [0.0] * (depths - won - lost)
        samples += [sample] * depths
    return pairs_of(differences, samples)


def test_it_has_the_values_that_two_implementations_agreed_on() -> None:
    found = pairs([0, 0, 1, 0, 0, 2, 0, 0], [1, 2, 0, 3, 0, 0, 5, 1], 5)

    assert found.mean == pytest.approx(-0.225)
    assert difference_ends(found) == pytest.approx((-0.5598, 0.1317), abs=1e-4)


def test_runs_that_agree_on_every_pair_may_still_differ_by_as_much_as_ten_samples_can_hide() -> None:
    found = pairs([0] * 10, [0] * 10, 11)

    assert found.mean == 0
    assert difference_ends(found) == pytest.approx((-0.2472, 0.2472), abs=1e-4)
    assert sign_flip_p(found) == 1


@pytest.mark.parametrize(
    ("low", "high", "sign"),
    [(-0.2, -0.01, -1), (-0.2, 0.0, 0), (-0.2, 0.1, 0), (0.0, 0.2, 0), (0.01, 0.2, 1), (0.0, 0.0, 0), (None, None, 0)],
)
def test_an_interval_that_touches_0_says_nothing(low: float | None, high: float | None, sign: int) -> None:
    assert Difference(0.0, low, high, 40, 40).sign == sign


def test_five_samples_have_no_p_and_six_that_all_lose_have_the_smallest() -> None:
    """Of 32 flips two are as far from 0 as five losses: 0.0625, which could never be below 5 %."""
    assert sign_flip_p(pairs([0] * 5, [5] * 5, 5)) is None
    assert sign_flip_p(pairs([0] * 6, [5] * 6, 5)) == pytest.approx(2 / 64)


def test_many_samples_have_a_seeded_p_with_the_data_among_the_flips() -> None:
    found = pairs([0] * 30, [1] * 30, 5)

    assert sign_flip_p(found) == pytest.approx(1 / 2_000)
    assert sign_flip_p(found) == sign_flip_p(found)


def test_partial_credit_from_ten_samples_on_is_as_wide_as_students_t_at_least() -> None:
    found = pairs_of([-0.25, -0.5, 0.0, -0.75, -0.25] * 2, range(10))
    low, high = difference_ends(found)

    assert found.mean == pytest.approx(-0.35)
    assert low <= -0.35 - 2.262 * 0.2687 / 10**0.5 + 1e-3  # sd 0.2687
    assert high >= -0.35 + 2.262 * 0.2687 / 10**0.5 - 1e-3


def test_every_pair_must_have_a_sample() -> None:
    with pytest.raises(ValueError, match="argument"):
        pairs_of([1.0], [])


trials = st.lists(
    st.tuples(st.integers(0, 12), st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([0.0, 0.5, 1.0])), min_size=1
)


@given(trials)
def test_runs_swapped_turn_the_interval_round(given_trials: list[tuple[int, float, float]]) -> None:
    samples, first, second = zip(*given_trials, strict=True)
    forth = pairs_of([b - a for a, b in zip(first, second, strict=True)], samples)
    back = pairs_of([a - b for a, b in zip(first, second, strict=True)], samples)
    low, high = difference_ends(forth)

    assert -1 <= low <= forth.mean + 1e-9
    assert forth.mean - 1e-9 <= high <= 1
    assert difference_ends(back) == pytest.approx((-high, -low))
    assert sign_flip_p(back) == sign_flip_p(forth)


def test_one_sample_has_a_difference_and_no_interval() -> None:
    found = mean_difference([1.0, 0.0, -1.0, -1.0], [0, 0, 0, 0])

    assert found is not None
    assert (found.mean, found.low, found.high, found.clusters) == (-0.25, None, None, 1)
    assert mean_difference([], []) is None


def test_holm_is_as_published_and_leaves_out_what_was_not_tested() -> None:
    assert holm([0.01, None, 0.04, 0.03]) == pytest.approx([0.03, None, 0.06, 0.06])
