"""Intervals: published values, limits, and coverage."""

from __future__ import annotations

import numpy as np
import pytest

from needlework.results.statistics.intervals import score_interval, wilson


@pytest.mark.parametrize(
    ("hits", "n", "low", "high"),
    [
        (5, 5, 0.5655, 1.0),
        (100, 100, 0.9630, 1.0),
        (500, 500, 0.9924, 1.0),
        (0, 5, 0.0, 0.4345),
        (81, 263, 0.2553, 0.3662),  # Newcombe 1998, "Two-sided confidence intervals for the single proportion", table I
        (15, 148, 0.0624, 0.1605),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_has_the_published_values(hits: int, n: int, low: float, high: float) -> None:
    assert wilson(hits / n, n) == pytest.approx((low, high), abs=6e-5)


def test_independent_hits_and_misses_get_wilson() -> None:
    interval = score_interval([1.0] * 100, range(100))

    assert interval is not None
    assert (interval.method, interval.high) == ("wilson", 1.0)
    assert interval.low == pytest.approx(0.963, abs=5e-4)


def test_one_trial_of_each_sample_is_wilson_as_the_textbook_has_it() -> None:
    interval = score_interval([1.0, 1.0, 1.0, 0.0], range(4))

    assert interval is not None
    assert (interval.low, interval.high) == wilson(0.75, 4)


def test_no_scores_have_no_interval() -> None:
    assert score_interval([], []) is None


def test_scores_that_always_agree_within_a_sample_count_once() -> None:
    """Ten samples at eleven depths each, all or nothing: as wide as ten trials, not as 110."""
    scores = [float(sample < 5) for sample in range(10) for _ in range(11)]
    clustered = score_interval(scores, [sample for sample in range(10) for _ in range(11)])
    alone = score_interval([1.0] * 5 + [0.0] * 5, range(10))

    assert clustered is not None
    assert alone is not None
    assert (clustered.low, clustered.high) == pytest.approx((alone.low, alone.high))


def test_few_samples_are_never_worth_less_than_one_trial_each() -> None:
    scores, samples = [1.0] * 5 + [0.0] * 5, [0] * 5 + [1] * 5
    interval = score_interval(scores, samples)

    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx(wilson(0.5, 2))


def test_depths_that_differ_within_a_sample_count_one_by_one() -> None:
    """Every sample has one hit and one miss: that says more about the mean than ten independent trials, not less."""
    interval = score_interval([1.0, 0.0] * 5, [sample for sample in range(5) for _ in range(2)])

    assert interval is not None
    assert (interval.low, interval.high) == wilson(0.5, 10)


def test_one_sample_only_treats_trials_as_independent() -> None:
    assert score_interval([1.0, 1.0, 0.0, 1.0], [0, 0, 0, 0]) == score_interval([1.0, 1.0, 0.0, 1.0], [0, 1, 2, 3])


def test_partial_credit_is_bootstrapped_and_repeatable() -> None:
    scores = [i / 20 for i in range(21)]
    first, second = score_interval(scores, range(21)), score_interval(scores[::-1], range(21))

    assert first is not None
    assert first == second
    assert first.method == "bootstrap"
    # mean 0.5, standard error 0.066: a normal interval would be 0.37..0.63
    assert (first.low, first.high) == pytest.approx((0.37, 0.63), abs=0.015)


def test_few_or_equal_partial_scores_do_not_claim_certainty() -> None:
    for scores in ([0.5], [0.5, 0.5, 0.5], [0.5] * 30):
        interval = score_interval(scores, range(len(scores)))
        assert interval is not None
        assert interval.low < 0.5 < interval.high


@pytest.mark.parametrize("p", [0.3, 0.8, 0.95])
def test_wilson_covers_about_95_percent(p: float) -> None:
    rng = np.random.default_rng(1)
    hits = rng.binomial(100, p, size=2000)
    covered = sum(low <= p <= high for low, high in (wilson(hit / 100, 100) for hit in hits)) / 2000

    assert 0.925 <= covered <= 0.975


def test_clustered_intervals_cover_about_95_percent() -> None:
    """40 samples at 5 depths; a sample's own chance varies, so that its depths are alike."""
    rng = np.random.default_rng(2)
    covered = 0
    samples = np.repeat(np.arange(40), 5).tolist()
    for _ in range(400):
        chances = rng.beta(2, 1, size=40)
        hits = (rng.random((40, 5)) < chances[:, None]).astype(float).ravel().tolist()
        interval = score_interval(hits, samples)
        assert interval is not None
        covered += interval.low <= 2 / 3 <= interval.high

    assert 0.92 <= covered / 400 <= 0.98


def test_bad_input_is_refused() -> None:
    with pytest.raises(ValueError, match="n > 0"):
        wilson(0.5, 0)
    with pytest.raises(ValueError, match="sample names"):
        score_interval([1.0], [])
