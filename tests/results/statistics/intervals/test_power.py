"""Planning: Connor's formula by hand, the exact test's power by simulation, and the inverse."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from needlework.core.errors import InputError
from needlework.results.statistics.intervals import (
    assumed_discordance,
    connor,
    detectable_drop,
    drop_power,
    samples_needed,
)
from needlework.results.statistics.paired import pairs_of, sign_flip_p


def test_connors_formula_by_hand():
    """(1.95996 sqrt(0.2) + 0.84162 sqrt(0.19))2 / 0.01 = (0.87652 + 0.36685)2 / 0.01 = 154.6."""
    assert connor(0.1, 0.2) == 155


def test_discordance_of_runs_that_know_nothing_of_each_other():
    assert assumed_discordance(0.1, 0.9) == pytest.approx(0.9 * 0.2 + 0.8 * 0.1)


@pytest.mark.parametrize(("drop", "discordance"), [(0.1, 0.2), (0.2, 0.3), (0.3, 0.3), (0.05, 0.1)])
def test_the_planned_number_has_80_percent_power(drop, discordance):
    """On simulated runs: lost pairs with chance (q + d) / 2, gained ones with (q - d) / 2."""
    n = samples_needed(drop, discordance=discordance)
    rng = np.random.default_rng(6)
    counts = rng.multinomial(n, [(discordance + drop) / 2, (discordance - drop) / 2, 1 - discordance], size=300)
    found = [
        lost > gained and (sign_flip_p(pairs_of([-1.0] * lost + [1.0] * gained + [0.0] * same, range(n))) or 1) < 0.05
        for lost, gained, same in counts
    ]

    assert np.mean(found) == pytest.approx(drop_power(n, drop, discordance), abs=0.07)
    assert 0.80 <= drop_power(n, drop, discordance) < 0.90
    assert connor(drop, discordance) <= n <= 1.35 * connor(drop, discordance) + 5


def test_the_fewest_pairs_that_show_the_largest_drop():
    """Of five pairs that are all lost two flips of 32 are as far from 0: p is 0.0625."""
    assert drop_power(5, 1.0, 1.0) == 0.0
    assert drop_power(6, 1.0, 1.0) == pytest.approx(1.0)


@settings(max_examples=15)
@given(st.floats(0.03, 0.5))
def test_the_inverse_undoes_it(drop):
    found = detectable_drop(samples_needed(drop))

    assert found <= drop + 2e-4
    assert found >= 0.9 * drop


def test_too_few_samples_detect_nothing():
    assert detectable_drop(5) is None


@pytest.mark.parametrize(
    ("drop", "options"),
    [(0.0, {}), (0.95, {}), (0.1, {"base": 1.5}), (0.1, {"discordance": 0.05})],
    ids=["no drop", "more than the base", "base above 1", "less discordance than drop"],
)
def test_impossible_plans_are_refused(drop, options):
    with pytest.raises(InputError):
        samples_needed(drop, **options)


def test_no_samples_are_refused():
    with pytest.raises(InputError, match="at least 1"):
        detectable_drop(0)
