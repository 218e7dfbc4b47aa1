"""`--plan --power`: from a drop or a score to repeats."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.grid.cells import Cell
from needlework.results.gates.power_plan import Goal, parse_power, power_lines
from needlework.results.statistics.evidence import exact
from needlework.results.statistics.power import detectable_drop, trials_needed, trials_to_show

CELLS = [
    Cell("niah", length, depth, "code", repeat)
    for length in (400, 600)
    for depth in (0.0, 50.0, 100.0)
    for repeat in (0, 1)
]


def test_a_goal_is_a_drop_or_a_score():
    assert parse_power("drop=0.05") == Goal("drop", 0.05, 0.9)
    assert parse_power(" drop = 5 % , base = 0.98 ") == Goal("drop", 0.05, 0.98)
    assert parse_power("score=90%") == Goal("score", 0.9)


@pytest.mark.parametrize("text", ["", "drop", "drop=0", "drop=5", "drop=0.95", "drop=0.1,base=0", "score=1", "score=0",
                                  "score=0.9,base=0.5", "rise=0.1", "drop=0.05 base=0.9"])  # fmt: skip
def test_a_wrong_goal_is_one_line_that_names_the_option(text):
    with pytest.raises(InputError, match=r"^--power: "):
        parse_power(text)


@given(st.text())
def test_no_text_makes_it_stumble(text):
    try:
        parse_power(text)
    except InputError as error:
        assert "\n" not in str(error)  # noqa: PT017 - either outcome is right, a traceback is not


def test_the_repeats_hold_the_trials_that_are_needed():
    """Twelve trials: six a repeat, three a repeat of each length, one a repeat of each cell."""
    needed, text = trials_needed(0.2), "\n".join(power_lines(Goal("drop", 0.2), CELLS))

    assert f"takes {needed} pairs" in text
    assert f"in all:     12 trials planned find a drop of {100 * detectable_drop(12):.3g} points; --repeats" in text
    assert f"per length: 6 trials planned find no drop; --repeats {-(-needed // 3)} finds this one" in text
    assert f"per cell:   2 trials planned find no drop; --repeats {needed} finds this one" in text


def test_a_score_is_planned_for_models_that_are_better_than_it():
    assert list(power_lines(Goal("score", 0.9), CELLS))[1:-1] == [
        "power: score >= 0.9 passes in 80 of 100 runs of a model with the true score",
        "  1      with 36 trials; --repeats: 6 in all, 12 per length, 36 per cell",
        "  0.975  with 85 trials; --repeats: 15 in all, 29 per length, 85 per cell",
        "  0.95   with 231 trials; --repeats: 39 in all, 77 per length, 231 per cell",
    ]


@pytest.mark.parametrize(("limit", "true"), [(0.9, 0.97), (0.8, 0.9), (0.5, 0.7)])
def test_the_planned_trials_pass_in_80_of_100_runs(limit, true):
    n = trials_to_show(limit, true)
    hits = np.random.default_rng(1).binomial(n, true, size=2000)
    passed = np.mean([exact(k / n, n, 0.025)[0] >= limit for k in hits])

    assert 0.77 < passed < 0.87


@pytest.mark.parametrize(("limit", "true"), [(0.9, 0.9), (0.0, 0.5), (1.0, 1.0), (0.5, 1.1)])
def test_what_cannot_be_shown_is_refused(limit, true):
    with pytest.raises(InputError):
        trials_to_show(limit, true)
