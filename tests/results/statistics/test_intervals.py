"""Intervals of means and of paired differences, and planning: known values, limits, what must always hold."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from needlework.results.statistics.intervals import (
    Counts,
    assumed_discordance,
    connor,
    counts_of,
    detectable_drop,
    drop_power,
    exact_ends,
    interval_of,
    samples_needed,
)
from needlework.results.statistics.paired import Difference, difference_ends, holm, mean_difference, sign_flip_p
from tests.results.builders import clopper_pearson


def counts(hits, *sizes):
    """Samples by the sums of their scores, and their trials."""
    return Counts(tuple(hits), sizes * len(hits) if len(sizes) == 1 else sizes)


@pytest.mark.parametrize("depths", [1, 11])
@pytest.mark.parametrize(("hits", "samples"), [(0, 10), (10, 10), (5, 10), (9, 10), (3, 4), (369, 400)])
def test_samples_that_are_all_right_or_all_wrong_have_clopper_and_pearsons(hits, samples, depths):
    data = counts([depths] * hits + [0] * (samples - hits), depths)
    assert exact_ends(data) == pytest.approx(clopper_pearson(hits / samples, samples), abs=1e-9)


@pytest.mark.parametrize(
    "data",
    [
        counts([11] * 9 + [10], 11),
        counts([5, 5, 4, 2, 5], 5),
        counts([3, 5, 11, 0, 7, 6], 3, 8, 11, 2, 9, 6),
        counts([4.75, 5, 3.5, 2.25, 5, 4, 4.5, 1], 5),
        counts([0.5] * 30, 1),
    ],
    ids=["one miss", "few samples", "unequal", "quarters", "all alike"],
)
def test_the_ends_are_quantiles_of_means_with_random_weights(data):
    """By the definition, with sorted uniform numbers in place of weights, and other draws."""
    means = np.sort([total / size for total, size in zip(data.sums, data.sizes, strict=True)])
    uniform = np.sort(np.random.default_rng(1).random((100_000, len(means))))

    def upper(values):
        return float(np.quantile(1 - uniform @ np.diff(np.append(values, 1.0)), 0.975))

    assert exact_ends(data) == pytest.approx((1 - upper(1 - means[::-1]), upper(means)), abs=0.01)


def test_growth_is_the_same_mixture_of_samples_so_many_times():
    once, thrice = counts([5, 4, 2], 5), counts([5, 4, 2] * 3, 5)
    assert exact_ends(once, growth=3) == pytest.approx(exact_ends(thrice), abs=0.01)


@given(st.lists(st.tuples(st.integers(0, 6), st.sampled_from([0.0, 1.0])), min_size=1, max_size=40))
def test_what_must_always_hold(trials):
    def ends(rows, error=0.025):
        return exact_ends(counts_of([score for _, score in rows], [sample for sample, _ in rows]), error)

    low, high = ends(trials)
    mean = sum(score for _, score in trials) / len(trials)
    lower, higher = ends(trials, 0.005)

    assert 0 <= low <= mean + 1e-12
    assert mean - 1e-12 <= high <= 1
    assert ends(random.Random(1).sample(trials, len(trials))) == (low, high), "the order does not matter"
    assert ends([(sample, 1 - score) for sample, score in trials]) == pytest.approx((1 - high, 1 - low))
    assert lower <= low <= high <= higher, "a smaller error is never narrower"


@pytest.mark.parametrize(
    ("hits", "n", "low", "high"), [(81, 263, 0.2527, 0.3676), (15, 148, 0.0578, 0.1617), (0, 20, 0.0, 0.1684)]
)
def test_one_trial_of_each_sample_is_as_published(hits, n, low, high):
    """Newcombe 1998, "Two-sided confidence intervals for the single proportion", table I: 81 of 263, 15 of 148."""
    interval = interval_of(counts_of([1.0] * hits + [0.0] * (n - hits), range(n)))
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=6e-5)
    assert interval.samples == n


def pairs(gains, losses, depths):
    """Samples of 0/1 scores by how many of their trials B gains and loses."""
    differences, samples = [], []
    for sample, (won, lost) in enumerate(zip(gains, losses, strict=True)):
        differences += [1.0] * won + [-1.0] * lost + [0.0] * (depths - won - lost)
        samples += [sample] * depths
    return counts_of(differences, samples)


def test_from_ten_samples_on_the_interval_is_students_t_over_their_differences():
    found = counts_of([-0.25, -0.5, 0.0, -0.75, -0.25] * 2, range(10))

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


trials = st.lists(
    st.tuples(st.integers(0, 12), st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([0.0, 0.5, 1.0])), min_size=1
)


@given(trials)
def test_runs_swapped_turn_the_interval_round(given_trials):
    samples, first, second = zip(*given_trials, strict=True)
    forth = counts_of([b - a for a, b in zip(first, second, strict=True)], samples)
    back = counts_of([a - b for a, b in zip(first, second, strict=True)], samples)
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


def test_connors_formula_by_hand():
    """(1.95996 sqrt(0.2) + 0.84162 sqrt(0.19))2 / 0.01 = (0.87652 + 0.36685)2 / 0.01 = 154.6."""
    assert connor(0.1, 0.2) == 155


@pytest.mark.parametrize(("drop", "base"), [(0.1, 0.9), (0.2, 0.8), (0.3, 0.5)])
def test_the_planned_number_has_80_percent_power(drop, base):
    """On simulated runs: lost pairs with chance (q + d) / 2, gained ones with (q - d) / 2."""
    n, discordance = samples_needed(drop, base), assumed_discordance(drop, base)
    rng = np.random.default_rng(6)
    counts = rng.multinomial(n, [(discordance + drop) / 2, (discordance - drop) / 2, 1 - discordance], size=300)
    found = [
        lost > gained and (sign_flip_p(counts_of([-1.0] * lost + [1.0] * gained + [0.0] * same, range(n))) or 1) < 0.05
        for lost, gained, same in counts
    ]

    assert np.mean(found) == pytest.approx(drop_power(n, drop, discordance), abs=0.07)
    assert 0.80 <= drop_power(n, drop, discordance) < 0.90
    assert connor(drop, discordance) <= n <= 1.35 * connor(drop, discordance) + 5


def test_the_fewest_pairs_that_show_the_largest_drop():
    """Of five pairs that are all lost two flips of 32 are as far from 0: p is 0.0625."""
    assert (drop_power(5, 1.0, 1.0), detectable_drop(5)) == (0.0, None)
    assert drop_power(6, 1.0, 1.0) == pytest.approx(1.0)


@settings(max_examples=15)
@given(st.floats(0.03, 0.5))
def test_the_inverse_undoes_it(drop):
    found = detectable_drop(samples_needed(drop))

    assert found <= drop + 2e-4
    assert found >= 0.9 * drop
