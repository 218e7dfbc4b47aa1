"""`--depths spread`: each sample at one depth."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.core.errors import InputError
from needlework.core.grid import spread_depths, spread_questions
from needlework.haystack_fixtures.configuration.resolve import recipe_fields, resolve_settings
from needlework.haystack_fixtures.tasks.catalogue import grid

DEPTHS = (0.0, 25.0, 50.0, 75.0, 100.0)


@given(st.integers(0, 99), st.sampled_from([1000, 4000]))
def test_every_five_samples_have_each_of_five_depths_once(seed, length):
    asked = [spread_depths(DEPTHS, seed, length, repeat) for repeat in range(20)]

    for turn in range(0, 20, 5):
        assert Counter(asked[turn : turn + 5]) == Counter((depth,) for depth in DEPTHS)
    assert asked == [spread_depths(DEPTHS, seed, length, repeat) for repeat in range(20)]


def settings(**written):
    return resolve_settings({"model": ["mock"], "lengths": "1k,2k", "repeats": "7"} | written, {}, Path())


def test_a_run_asks_each_sample_once_at_each_length():
    (series,) = grid(settings(depths="spread"))
    places = Counter((cell.length, cell.repeat) for cell in series.cells)

    assert len(series.cells) == 14
    assert set(places.values()) == {1}
    assert {cell.depth for cell in series.cells} == set(DEPTHS), "those of the preset"


def test_the_depths_may_be_named():
    (suite,) = settings(depths="spread:0:100:11").suites

    assert suite.spread
    assert len(suite.depths) == 11
    with pytest.raises(InputError, match="--depths"):
        settings(depths="spread:0,120")


def test_a_trial_is_the_same_whether_its_sample_is_spread_or_not():
    """Keys leave the grid out: a run may go on with the other one."""
    (plain,), (spread,) = settings().suites, settings(depths="spread").suites

    assert recipe_fields(plain) == recipe_fields(spread)
    assert {cell.id for cell in grid(settings(depths="spread"))[0].cells} <= {
        cell.id for cell in grid(settings())[0].cells
    }


@given(st.integers(0, 99), st.integers(0, 4))
def test_every_five_questions_have_each_depth_once_and_repeats_go_through_all(seed, turn):
    first = [spread_questions(DEPTHS, seed, question, 0) for question in range(5 * turn, 5 * turn + 5)]
    assert Counter(first) == Counter((depth,) for depth in DEPTHS)
    assert {spread_questions(DEPTHS, seed, 5 * turn, repeat) for repeat in range(5)} == {(depth,) for depth in DEPTHS}
