"""Simulations: intervals hold, gates and labels err as seldom as they say. All tables: `python -m perf.simulations`."""

from __future__ import annotations

import pytest
from scipy import stats

from perf.simulations import labels
from perf.simulations.coverage import Setting, compared, covered, looks, macro, quarters, relative
from perf.simulations.models import Kind

TIMES = 600


def least(share: float, times: int = TIMES) -> float:
    """What a true share of so many data sets falls below in one of a thousand tries."""
    return float(stats.binom.ppf(0.001, times, share)) / times


def most(share: float, times: int = TIMES) -> float:
    return float(stats.binom.ppf(0.999, times, share)) / times


@pytest.mark.parametrize(("icc", "mean"), [(0.0, 0.8), (0.5, 0.95), (0.99, 0.9)])
def test_ten_samples_of_five_depths_are_covered(icc: float, mean: float) -> None:
    """The quick one; its slow neighbours have more settings."""
    found = covered(Setting("beta", 10, 5, mean, icc), 150)

    assert found.held >= least(0.95, 150)
    assert found.above <= most(0.03, 150)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["beta", "logit"])
@pytest.mark.parametrize("icc", [0.0, 0.5, 0.99])
@pytest.mark.parametrize("samples", [10, 40])
@pytest.mark.parametrize("mean", [0.8, 0.9, 0.95, 0.99])
def test_means_are_covered_however_alike_samples_are(kind: Kind, icc: float, samples: int, mean: float) -> None:
    found = covered(Setting(kind, samples, 11, mean, icc), TIMES)

    assert found.held >= least(0.945)
    assert found.above <= most(0.03)
    assert icc < 0.99 or found.held <= 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("samples", "depths", "mean", "icc"), [(5, 11, 0.5, 0.99), (8, 5, 0.7, 0.99), (15, 3, 0.8, 0.99)]
)
def test_the_worst_settings_are_no_worse_than_the_docs_say(samples: int, depths: int, mean: float, icc: float) -> None:
    assert covered(Setting("beta", samples, depths, mean, icc), 2_000).held >= least(0.933, 2_000)


@pytest.mark.slow
def test_the_weak_spot_of_partial_credit_is_where_the_docs_say() -> None:
    assert covered(Setting("logit", 40, 11, 0.95, 0.3), 1_500, quarters).held >= least(0.925, 1_500)
    assert covered(Setting("beta", 40, 11, 0.95, 0.3), TIMES, quarters).held >= least(0.95)
    assert covered(Setting("logit", 20, 99, 0.95, 0.3), TIMES).held >= least(0.92)


@pytest.mark.slow
@pytest.mark.parametrize("icc", [0.0, 0.3, 0.99])
@pytest.mark.parametrize("limit", [0.8, 0.95])
def test_gates_at_their_limit_err_in_one_of_twenty_runs_over_all_looks(limit: float, icc: float) -> None:
    found = looks("beta", 5, 5, limit, icc, 400)

    assert found.passed <= most(0.025, 400)
    assert found.passed + found.failed <= most(0.05, 400)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("samples", "depths", "score", "spread"), [(10, 5, 0.8, 4.0), (20, 11, 0.95, 4.0), (40, 11, 0.8, 1.5)]
)
def test_runs_of_equal_models_differ_seldom(samples: int, depths: int, score: float, spread: float) -> None:
    found = compared(samples, (score, score), spread, "own", depths, TIMES)

    assert found.held >= least(0.945)
    assert found.verdicts <= most(0.055)
    assert found.significant <= most(0.05)


@pytest.mark.slow
@pytest.mark.parametrize(("samples", "depths"), [(10, labels.FIVE), (20, labels.ELEVEN)])
def test_flat_data_are_named_in_one_of_twenty_runs(samples: int, depths: tuple[float, ...]) -> None:
    assert labels.named(labels.labels(lambda _: 0.9, samples, depths, 300)) <= most(0.05, 300)
    assert labels.luck(samples, depths, 200) <= most(0.05, 200)


@pytest.mark.slow
def test_a_hole_at_the_end_is_no_primacy_and_a_step_is_not_lost_in_the_middle() -> None:
    hole = labels.labels(labels.TRUTHS["hole at 100 % (.98 > .4)"], 20, labels.ELEVEN, 200)
    step = labels.labels(labels.TRUTHS["first fifth .95, else .75"], 20, labels.ELEVEN, 200)

    assert hole["primacy"] == hole["recency"] == 0
    assert hole["hole"] >= 180
    assert step["lost in the middle"] <= 24
    assert step["primacy"] >= 110


@pytest.mark.slow
def test_a_length_just_at_the_relative_bar_is_seldom_certified() -> None:
    for samples in (20, 40):
        assert relative(samples, 0.85, 1.5, 5, TIMES) <= most(0.025)


@pytest.mark.slow
@pytest.mark.parametrize("icc", [0.3, 0.8])
def test_macro_scores_are_covered_where_tasks_have_needles_of_their_own(icc: float) -> None:
    assert macro(6, 10, 5, icc, TIMES, shared=False) >= least(0.95)


@pytest.mark.slow
def test_macro_scores_of_tasks_on_the_same_needles_are_as_far_off_as_the_docs_say() -> None:
    assert least(0.80) <= macro(13, 10, 5, 0.3, TIMES, shared=True) <= most(0.88)


@pytest.mark.slow
@pytest.mark.parametrize(("mean", "icc"), [(0.85, 0.8), (0.9, 0.0), (0.9, 0.8)])
def test_a_lower_bound_seldom_passes_at_its_limit_or_below(mean: float, icc: float) -> None:
    assert looks("beta", 10, 5, 0.9, icc, TIMES, bound_of=mean).passed <= most(0.015)
