"""Simulations: intervals hold, gates, labels and adaptive runs err as seldom as they say.

All tables: `python -m perf.simulations`.
"""

from itertools import product

import pytest
from scipy import stats

from perf.simulations import adaptive, labels
from perf.simulations.coverage import Setting, compared, covered, hits, looks, macro, quarters, relative

TIMES = 600


def least(share, times=TIMES):
    """What a true share of so many data sets falls below in one of a thousand tries."""
    return float(stats.binom.ppf(0.001, times, share)) / times


def most(share, times=TIMES):
    return float(stats.binom.ppf(0.999, times, share)) / times


@pytest.mark.parametrize(("icc", "mean"), [(0.0, 0.8), (0.5, 0.95), (0.99, 0.9)])
def test_ten_samples_of_five_depths_are_covered(icc, mean):
    """The quick one; its slow neighbours have more settings."""
    run = covered(Setting("beta", 10, 5, mean, icc), 150)

    assert run.held >= least(0.95, 150)
    assert run.above <= most(0.03, 150)


GRID = product(("beta", "logit"), (10, 40), (0.8, 0.9, 0.95, 0.99), (0.0, 0.5, 0.99))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("setting", "held", "make", "times"),
    [
        *((Setting(kind, samples, 11, mean, icc), 0.945, hits, TIMES) for kind, samples, mean, icc in GRID),
        # The worst settings are no worse than the docs say.
        (Setting("beta", 5, 11, 0.5, 0.99), 0.933, hits, 2_000),
        (Setting("beta", 8, 5, 0.7, 0.99), 0.933, hits, 2_000),
        (Setting("beta", 15, 3, 0.8, 0.99), 0.933, hits, 2_000),
        # The weak spot of partial credit.
        (Setting("logit", 40, 11, 0.95, 0.3), 0.925, quarters, 1_500),
        (Setting("beta", 40, 11, 0.95, 0.3), 0.95, quarters, TIMES),
        (Setting("logit", 20, 99, 0.95, 0.3), 0.92, hits, TIMES),
    ],
    ids=lambda value: value.words if isinstance(value, Setting) else None,
)
def test_means_are_covered_however_alike_samples_are(setting, held, make, times):
    run = covered(setting, times, make)

    assert run.held >= least(held, times)
    assert held < 0.945 or make is quarters or run.above <= most(0.03)


@pytest.mark.slow
@pytest.mark.parametrize(("limit", "icc"), [*product((0.8, 0.95), (0.0, 0.3, 0.99))])
def test_gates_at_their_limit_err_in_one_of_twenty_runs_over_all_looks(limit, icc):
    run = looks("beta", 5, 5, limit, icc, 400)

    assert run.passed <= most(0.025, 400)
    assert run.passed + run.failed <= most(0.05, 400)


@pytest.mark.slow
@pytest.mark.parametrize(("mean", "icc"), [(0.85, 0.8), (0.9, 0.0), (0.9, 0.8)])
def test_a_lower_bound_seldom_passes_at_its_limit_or_below(mean, icc):
    assert looks("beta", 10, 5, 0.9, icc, TIMES, bound_of=mean).passed <= most(0.015)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("samples", "depths", "score", "spread"), [(10, 5, 0.8, 4.0), (20, 11, 0.95, 4.0), (40, 11, 0.8, 1.5)]
)
def test_runs_of_equal_models_differ_seldom(samples, depths, score, spread):
    run = compared(samples, (score, score), spread, "own", depths, TIMES)

    assert run.held >= least(0.945)
    assert run.verdicts <= most(0.055)
    assert run.significant <= most(0.05)


@pytest.mark.slow
@pytest.mark.parametrize("samples", [20, 40])
def test_a_length_just_at_the_relative_bar_is_seldom_certified(samples):
    assert relative(samples, 0.85, 1.5, 5, TIMES) <= most(0.025)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tasks", "icc", "shared", "low", "high"),
    [(6, 0.3, False, 0.95, 1.0), (6, 0.8, False, 0.95, 1.0), (13, 0.3, True, 0.80, 0.88)],
)
def test_macro_scores_are_covered_where_tasks_have_needles_of_their_own(tasks, icc, shared, low, high):
    assert least(low) <= macro(tasks, 10, 5, icc, TIMES, shared=shared) <= most(high)


@pytest.mark.slow
@pytest.mark.parametrize(("samples", "depths"), [(10, labels.FIVE), (20, labels.ELEVEN)])
def test_flat_data_are_named_in_one_of_twenty_runs(samples, depths):
    assert labels.named(labels.labels(lambda _: 0.9, samples, depths, 300)) <= most(0.05, 300)
    assert labels.luck(samples, depths, 200) <= most(0.05, 200)


@pytest.mark.slow
@pytest.mark.parametrize("name", adaptive.LEAST_FAVOURABLE)
def test_the_statement_holds_whatever_the_curve(name):
    """Nominal: 2.5 % of a wrong pass, and as much of wrong fails; 400 runs are 0.8 points uncertain."""
    assert adaptive.adaptive(adaptive.LEAST_FAVOURABLE[name], 400).wrong <= 0.05


@pytest.mark.slow
def test_it_holds_for_a_bar_that_was_measured():
    just_below = (0.95, *(0.85 * 0.95 - 0.001,) * 8)
    assert adaptive.adaptive_share(just_below, 200).wrong <= 0.05
