"""Paired differences: values by hand and by SciPy, and what must not matter."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from needlework.results.statistics.paired import Difference, holm, mean_difference, paired_p
from needlework.results.statistics.resampling import cluster_sums, resampled_means, sample_clusters

scores = st.lists(
    st.tuples(st.sampled_from([0.0, 0.25, 1.0]), st.sampled_from([0.0, 0.5, 1.0])), min_size=2, max_size=40
)


def singles(count: int) -> list[tuple[int]]:
    return [(i,) for i in range(count)]


def test_exact_mcnemar_by_hand() -> None:
    """1 gained, 7 lost: twice the chance of at most one head in eight tosses."""
    first = [1.0] * 7 + [0.0] + [1.0] * 20
    second = [0.0] * 7 + [1.0] + [1.0] * 20

    assert paired_p(first, second, singles(28)) == pytest.approx(2 * (1 + comb(8, 1)) / 2**8)


@pytest.mark.parametrize(
    ("low", "high", "sign"),
    [(-0.2, -0.01, -1), (-0.2, 0.0, 0), (-0.2, 0.1, 0), (0.0, 0.2, 0), (0.01, 0.2, 1), (0.0, 0.0, 0), (None, None, 0)],
)
def test_an_interval_that_touches_0_says_nothing(low: float | None, high: float | None, sign: int) -> None:
    assert Difference(0.0, low, high, 40, 40, "bootstrap").sign == sign


def test_no_discordant_pair_has_p_1() -> None:
    assert paired_p([1.0, 0.0], [1.0, 0.0], singles(2)) == 1.0
    assert paired_p([0.5, 0.0], [0.5, 0.0], singles(2)) == 1.0


def test_partial_credit_swaps_whole_clusters() -> None:
    """Six clusters that all fell: of the 64 arrangements the two that all point one way are as extreme."""
    first, second = [0.75] * 12, [0.5, 0.25] * 6

    assert paired_p(first, second, [(i // 2,) for i in range(12)]) == pytest.approx(2 / 64)


def test_holm_by_hand() -> None:
    assert holm([0.01, None, 0.04, 0.03]) == pytest.approx([0.03, None, 0.06, 0.06])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_rejects_between_bonferroni_and_nothing(values: list[float]) -> None:
    adjusted = holm(list(values))

    for value, found in zip(values, adjusted, strict=True):
        assert found is not None
        assert value <= found <= min(1.0, value * len(values)) + 1e-12


def test_few_clusters_get_students_interval() -> None:
    differences = [0.1, 0.3, 0.2, 0.5, 0.4]
    expected = stats.ttest_1samp(differences, 0).confidence_interval()
    found = mean_difference(differences, singles(5))

    assert found is not None
    assert (found.method, found.n, found.clusters) == ("t", 5, 5)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    assert found.sign == 1


def test_the_bootstrap_agrees_with_scipy() -> None:
    """SciPy's plain percentile interval at the level to which ours is widened, from other random draws."""
    differences = np.random.default_rng(3).normal(0.1, 0.2, size=40)
    tail = stats.norm.cdf(-stats.t.ppf(0.975, 39) * np.sqrt(40 / 39))
    expected = stats.bootstrap(
        (differences,), np.mean, confidence_level=1 - 2 * tail, method="percentile", rng=np.random.default_rng(4)
    ).confidence_interval
    found = mean_difference(differences.tolist(), singles(40))

    assert found is not None
    assert found.method == "bootstrap"
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=0.006)


def test_whole_clusters_are_drawn() -> None:
    """Twenty clusters of five equal values are as wide as twenty values, not as a hundred."""
    values = np.random.default_rng(5).uniform(-0.5, 0.5, size=20)
    alone = mean_difference(values.tolist(), singles(20))
    clustered = mean_difference(np.repeat(values, 5).tolist(), [(i // 5,) for i in range(100)])

    assert alone is not None
    assert clustered is not None
    assert (clustered.low, clustered.high) == pytest.approx((alone.low, alone.high))


def test_agreement_is_not_certainty() -> None:
    """Of 20 clusters that all differ by 0.25, a share of z2 / (20 + z2) may be otherwise."""
    found = mean_difference([0.25] * 20, singles(20))
    hidden = 3.8415 / 23.8415

    assert found is not None
    assert found.method == "agreement"
    assert (found.low, found.high) == pytest.approx((0.25 - 1.25 * hidden, 0.25 + 0.75 * hidden), abs=1e-4)


def test_runs_that_never_differ_still_have_a_width() -> None:
    found = mean_difference([0.0] * 50, singles(50))

    assert found is not None
    assert found.low is not None
    assert found.high is not None
    assert -0.1 < found.low < -0.02
    assert 0.02 < found.high < 0.1


def test_one_cluster_says_nothing() -> None:
    found = mean_difference([0.5, 0.5], [(0,), (0,)])

    assert found is not None
    assert (found.mean, found.low, found.high, found.sign) == (0.5, None, None, 0)
    assert mean_difference([], []) is None


@given(scores, st.integers(1, 4), st.randoms(use_true_random=False))
def test_order_does_not_matter_and_swapping_sides_flips_the_sign(
    pairs: list[tuple[float, float]], size: int, random: object
) -> None:
    rows = [(a, b, (i // size,)) for i, (a, b) in enumerate(pairs)]
    shuffled = rows.copy()
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    found = mean_difference([b - a for a, b, _ in rows], [at for *_, at in rows])
    again = mean_difference([b - a for a, b, _ in shuffled], [at for *_, at in shuffled])
    flipped = mean_difference([a - b for a, b, _ in rows], [at for *_, at in rows])
    p = [paired_p([row[i] for row in some], [row[1 - i] for row in some], [at for *_, at in some])
         for some, i in ((rows, 0), (shuffled, 0), (rows, 1))]  # fmt: skip

    assert found is not None
    assert again is not None
    assert flipped is not None
    assert found.mean == pytest.approx(again.mean) == pytest.approx(-flipped.mean)
    assert p[0] == pytest.approx(p[1]) == pytest.approx(p[2])
    assert 0 <= p[0] <= 1
    if found.low is not None and found.high is not None:
        assert (found.low, found.high) == pytest.approx((again.low, again.high))
        assert flipped.low is not None
        assert flipped.high is not None
        assert (found.low, found.high) == pytest.approx((-flipped.high, -flipped.low))
        assert -1 <= found.low <= found.mean + 1e-9
        assert found.mean - 1e-9 <= found.high <= 1


def test_the_cluster_is_the_repeat_where_there_are_enough() -> None:
    assert sample_clusters([(1000, 0), (2000, 0)]) == [(1000, 0), (2000, 0)]
    assert sample_clusters([(1000, i) for i in range(10)]) == [(i,) for i in range(10)]


def test_columns_are_drawn_together_and_gaps_are_left_out() -> None:
    """Two equal columns stay equal in every draw; a column without values has no mean."""
    table = [[float(i), float(i), np.nan] for i in range(12)]
    sums, sizes = cluster_sums(table, singles(12))
    means = resampled_means(sums, sizes)

    assert np.array_equal(means[:, 0], means[:, 1])
    assert np.isnan(means[:, 2]).all()
    assert means[:, 0].mean() == pytest.approx(5.5, abs=0.1)
