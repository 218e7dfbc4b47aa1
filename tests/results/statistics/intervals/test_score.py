"""Intervals of means: what stands in tables."""

from __future__ import annotations

import pytest

from needlework.results.statistics.intervals import score_interval


def test_one_trial_of_each_sample_is_clopper_and_pearsons() -> None:
    """Newcombe 1998, "Two-sided confidence intervals for the single proportion", table I: 81 of 263, 15 of 148."""
    for hits, n, low, high in ((81, 263, 0.2527, 0.3676), (15, 148, 0.0578, 0.1617), (0, 20, 0.0, 0.1684)):
        found = score_interval([1.0] * hits + [0.0] * (n - hits), range(n))
        assert found is not None
        assert (found.low, found.high) == pytest.approx((low, high), abs=6e-5)
        assert found.samples == n


def test_one_sample_says_nothing_of_others() -> None:
    assert score_interval([], []) is None
    assert score_interval([1.0], [0]) is None
    assert score_interval([1.0] * 25, [0] * 25) is None


def test_more_depths_of_the_same_needles_do_not_help_a_perfect_score() -> None:
    ten = [sample for sample in range(10) for _ in range(11)]
    clustered = score_interval([1.0] * 110, ten)
    alone = score_interval([1.0] * 110, range(110))

    assert clustered is not None
    assert alone is not None
    assert (clustered.low, clustered.high) == pytest.approx((0.692, 1.0), abs=1e-3)
    assert alone.low == pytest.approx(0.967, abs=1e-3)


def test_samples_that_are_all_or_nothing_say_as_much_as_one_trial_each() -> None:
    scores = [float(sample < 5) for sample in range(10) for _ in range(11)]
    clustered = score_interval(scores, [sample for sample in range(10) for _ in range(11)])
    alone = score_interval([1.0] * 5 + [0.0] * 5, range(10))

    assert clustered is not None
    assert alone is not None
    assert (clustered.low, clustered.high) == pytest.approx((alone.low, alone.high), abs=0.03)


def test_few_or_equal_partial_scores_do_not_claim_certainty() -> None:
    for scores in ([0.5, 0.5], [0.5] * 3, [0.5] * 30):
        interval = score_interval(scores, range(len(scores)))
        assert interval is not None
        assert interval.low < 0.45
        assert interval.high > 0.55
