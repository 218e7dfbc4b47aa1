"""Betting against a bar: any scores, any order, any number of looks."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from needlework.results.adaptive import bets
from needlework.results.adaptive.design import absolute
from needlework.results.adaptive.walk import Seen, walk


@given(st.lists(st.floats(0, 1), min_size=1, max_size=60), st.randoms())
def test_the_order_of_the_scores_does_not_matter(scores, random):
    other = random.sample(scores, len(scores))
    first, second = (bets.fortune(each, 0.856, [0.9, 0.95]) for each in (scores, other))
    assert np.isclose(first, second)


def test_one_more_fair_bet_leaves_the_fortune_where_it_was_on_average():
    stakes, before = [0.89, 0.97], bets.fortune([1, 0, 1], 0.856, [0.89, 0.97])
    hit, miss = (bets.fortune([1, 0, 1, score], 0.856, stakes) for score in (1, 0))
    assert np.isclose(0.856 * hit + 0.144 * miss, before)


def test_all_hits_pass_and_all_misses_fail():
    assert bets.verdict([1.0] * 60, 0.856, 0.856, 0.025, 0.005) == "pass"
    assert bets.verdict([0.0] * 11, 0.856, 0.856, 0.025, 0.005) == "fail"
    assert bets.verdict([1.0] * 18 + [0.0] * 3, 0.856, 0.856, 0.025, 0.005) == ""


def test_a_walk_that_may_be_stopped_any_time_reaches_the_same_bracket():
    design = absolute("anytime", (4_000, 8_000, 16_000), 11, 0.856)
    scores = ([1.0] * design.cap, [1.0] * design.cap, [0.0] * design.cap)
    assert walk(design, lambda at, n: Seen(scores[at][:n])).bracket == (2, 2)
