"""Rank ranges: exact tests, ties where nothing is shown, few false places."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.results.statistics.leaderboard.boards import needed_samples, rank_ranges
from needlework.results.statistics.paired import flip_tail


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=10))
def test_the_tail_is_the_share_of_all_flips(differences: list[int]) -> None:
    sums = np.array(list(product((1, -1), repeat=len(differences)))) @ np.array(differences)
    share = float(np.mean(sums >= sum(differences))) if sum(differences) >= 0 else 1.0

    assert flip_tail(np.array(differences, float)) == pytest.approx(share if any(differences) else 1.0, abs=1e-9)


@given(st.lists(st.floats(-1, 1, allow_nan=False), min_size=6, max_size=12))
def test_shares_are_rounded_to_a_grid_and_nothing_else(differences: list[float]) -> None:
    flipped = flip_tail(np.array(differences)), flip_tail(-np.array(differences))

    assert all(0.5 ** len(differences) <= p <= 1 for p in flipped)
    assert sum(flipped) >= 1 - 1e-9


def test_what_is_shown_has_a_place_of_its_own_and_what_is_not_shares_one() -> None:
    good, fair, poor = np.full(12, 5.0), np.tile([5.0, 4.0], 6), np.zeros(12)

    assert rank_ranges(np.array([fair, poor, good])) == [(1, 2), (3, 3), (1, 2)]


def test_few_samples_tie_everybody() -> None:
    assert rank_ranges(np.array([np.full(5, 5.0), np.zeros(5)])) == [(1, 2), (1, 2)]
    assert rank_ranges(np.array([np.full(6, 5.0), np.zeros(6)])) == [(1, 1), (2, 2)]
    assert [needed_samples(count) for count in (2, 5, 10, 50)] == [6, 9, 11, 16]


def test_many_models_are_ranked_as_few_are() -> None:
    """Bounds stand in for p values that are far from mattering."""
    rng = np.random.default_rng(1)
    sums = rng.binomial(5, np.repeat([0.9, 0.5, 0.1], 20)[:, None], size=(60, 60)).astype(float)
    ranges = rank_ranges(sums)

    assert ranges[:20] == [(1, 20)] * 20
    assert set(ranges[20:40]) == {(21, 40)}
    assert set(ranges[40:]) == {(41, 60)}


@pytest.mark.slow
@pytest.mark.parametrize("samples", [8, 20])
def test_equal_models_are_told_apart_in_one_table_of_twenty_at_most(samples: int) -> None:
    rng = np.random.default_rng(samples)
    wrong = 0
    for _ in range(600):
        chance = rng.beta(4, 1, size=(1, samples))
        sums = rng.binomial(3, chance, size=(6, samples)).astype(float)
        wrong += any(each != (1, 6) for each in rank_ranges(sums))
    assert wrong / 600 <= 0.05 + 0.02
