"""In which part of the document a model is weakest."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.results.adaptive.zones import SAMPLES, depths_by_zone, zones_found

TENTHS = tuple(float(depth) for depth in range(0, 101, 10))
FIVE = depths_by_zone(TENTHS)


def samples(chances, seed=0, count=SAMPLES):
    rng = random.Random(seed)
    return [{zone: float(rng.random() < chance) for zone, chance in enumerate(chances)} for _ in range(count)]


def worst(chances, seed=0):
    return {at for at, zone in enumerate(zones_found(FIVE, samples(chances, seed))) if zone.worst}


def test_eleven_depths_are_five_parts():
    assert FIVE == [(0, 10), (20, 30), (40, 50, 60), (70, 80), (90, 100)]
    assert depths_by_zone((0.0, 50.0, 100.0)) == [(0,), (50,), (100,)]
    assert depths_by_zone((None,)) == []


def test_a_hole_is_named():
    assert worst([1, 1, 0.3, 1, 1]) == {2}


def test_where_depth_does_not_matter_every_part_may_be_the_worst():
    assert worst([0.5] * 5) == {0, 1, 2, 3, 4}


@given(st.lists(st.sampled_from([0.0, 0.5, 0.9, 1.0]), min_size=5, max_size=5), st.integers(0, 99))
def test_some_part_is_always_left(chances, seed):
    assert worst(chances, seed)


def test_samples_that_miss_a_part_are_compared_where_they_have_both():
    found = zones_found(FIVE, [{0: 1.0, 1: 0.0}, {0: 1.0}])
    assert [zone.n for zone in found] == [2, 1, 0, 0, 0]
    assert [zone.mean for zone in found] == [1.0, 0.0, None, None, None]
    assert not found[4].worst


@pytest.mark.slow
@pytest.mark.parametrize(
    "chances", [[0.9, 0.9, 0.62, 0.9, 0.9], [0.95, 0.8, 0.7, 0.8, 0.95], [0.8, 0.8, 0.79, 0.8, 0.8]]
)
def test_the_part_that_is_worst_in_truth_stays_in_95_of_100_runs(chances):
    kept = sum(2 in worst(chances, seed) for seed in range(400))
    assert kept >= 0.95 * 400
