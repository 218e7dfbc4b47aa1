"""Paired differences: known values, limits, the sign-flip test."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.results.statistics.paired import (
    Difference,
    difference_ends,
    holm,
    mean_difference,
    pairs_of,
    sign_flip_p,
)


def pairs(gains, losses, depths):
    """Samples of 0/1 scores by how many of their trials B gains and loses."""
    differences, samples = [], []
    for sample, (won, lost) in enumerate(zip(gains, losses, strict=True)):
        differences += [1.0] * won + [-1.0] * lost + [0.0] * (depths - won - lost)
        samples += [sample] * depths
    return pairs_of(differences, samples)


def test_from_ten_samples_on_the_interval_is_students_t_over_their_differences():
    found = pairs_of([-0.25, -0.5, 0.0, -0.75, -0.25] * 2, range(10))

    half = 2.262 * 0.2687 / 10**0.5  # t of nine degrees of freedom, sd 0.2687
    assert difference_ends(found) == pytest.approx((-0.35 - half, -0.35 + half), abs=1e-3)


def test_runs_that_agree_on_every_pair_may_still_differ_by_as_much_as_ten_samples_can_hide():
    found = pairs([0] * 10, [0] * 10, 11)

    assert found.mean == 0
    assert difference_ends(found) == pytest.approx((-0.308, 0.308), abs=0.01)
    assert sign_flip_p(found) == 1


@pytest.mark.parametrize(
    ("mean", "p", "sign"), [(-0.1, 0.04, -1), (-0.1, 0.05, 0), (0.1, 0.001, 1), (0.1, 0.9, 0), (0.5, None, 0)]
)
def test_p_alone_says_whether_there_is_a_difference(mean, p, sign):
    assert Difference(mean, None, None, 40, 40, p).sign == sign


def test_five_samples_have_no_p_and_six_that_all_lose_have_the_smallest():
    """Of 32 flips two are as far from 0 as five losses: 0.0625, which could never be below 5 %."""
    assert sign_flip_p(pairs([0] * 5, [5] * 5, 5)) is None
    assert sign_flip_p(pairs([0] * 6, [5] * 6, 5)) == pytest.approx(2 / 64)


def test_p_is_exact_for_any_number_of_samples():
    assert sign_flip_p(pairs([0] * 30, [1] * 30, 5)) == pytest.approx(2.0**-29)
    assert sign_flip_p(pairs([1] * 10 + [0] * 15, [0] * 10 + [1] * 15, 5)) == pytest.approx(
        0.4244, abs=1e-4
    )  # binomial


def test_every_pair_must_have_a_sample():
    with pytest.raises(ValueError, match="argument"):
        pairs_of([1.0], [])


trials = st.lists(
    st.tuples(st.integers(0, 12), st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([0.0, 0.5, 1.0])), min_size=1
)


@given(trials)
def test_runs_swapped_turn_the_interval_round(given_trials):
    samples, first, second = zip(*given_trials, strict=True)
    forth = pairs_of([b - a for a, b in zip(first, second, strict=True)], samples)
    back = pairs_of([a - b for a, b in zip(first, second, strict=True)], samples)
    low, high = difference_ends(forth)

    assert -1 <= low <= forth.mean + 1e-9
    assert forth.mean - 1e-9 <= high <= 1
    assert difference_ends(back) == pytest.approx((-high, -low))
    assert sign_flip_p(back) == sign_flip_p(forth)


def test_one_sample_has_a_difference_and_no_interval():
    found = mean_difference([1.0, 0.0, -1.0, -1.0], [0, 0, 0, 0])

    assert (found.mean, found.low, found.high, found.clusters) == (-0.25, None, None, 1)
    assert mean_difference([], []) is None


def test_holm_is_as_published_and_leaves_out_what_was_not_tested():
    assert holm([0.01, None, 0.04, 0.03]) == pytest.approx([0.03, None, 0.06, 0.06])
