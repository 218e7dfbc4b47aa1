"""`--plan --power`: from a drop or a score to repeats."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.core.errors import InputError
from needlework.core.grid import Cell
from needlework.results.gates.gatekeeper import Goal, parse_power, power_lines
from needlework.results.statistics.intervals import Counts, detectable_drop, exact_ends, samples_needed, samples_to_show

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


def test_the_repeats_hold_the_samples_that_are_needed():
    """Two needles, each asked at six places: two samples in all and of each length, one in each repeat."""
    needed, text = samples_needed(0.2), "\n".join(power_lines(Goal("drop", 0.2), CELLS))

    assert f"takes {needed} samples at one depth each" in text
    assert f"in all:     2 samples planned find no drop; --repeats {needed} finds this one" in text
    assert f"per cell:   2 samples planned find no drop; --repeats {needed} finds this one" in text
    assert "--depths spread asks each at one depth" in text


def test_tasks_have_needles_of_their_own():
    cells = [Cell(task, 400, 50.0, "code", repeat) for task in ("niah", "chain", "copy") for repeat in range(20)]
    lines = list(power_lines(Goal("drop", 0.2), cells))

    found = f"find a drop of {100 * detectable_drop(60):.3g} points"
    assert f"  in all:     60 samples planned {found}; --repeats {-(-samples_needed(0.2) // 3)} finds this one" in lines
    assert not any("--depths spread" in line for line in lines)


def test_a_score_is_planned_for_models_that_are_better_than_it():
    assert list(power_lines(Goal("score", 0.9), CELLS))[1:-2] == [
        "power: score >= 0.9 passes in 80 of 100 runs of a model with the true score",
        "  1      with 36 samples at one depth each; --repeats: 36 in all, 36 per length, 36 per cell",
        "  0.975  with 85 samples at one depth each; --repeats: 85 in all, 85 per length, 85 per cell",
        "  0.95   with 231 samples at one depth each; --repeats: 231 in all, 231 per length, 231 per cell",
    ]


@pytest.mark.parametrize(("limit", "true"), [(0.9, 0.97), (0.8, 0.9), (0.5, 0.7)])
def test_the_planned_samples_pass_in_80_of_100_runs(limit, true):
    n = samples_to_show(limit, true)
    hits = np.random.default_rng(1).binomial(n, true, size=2000)
    passed = np.mean([exact_ends(Counts((1.0,) * k + (0.0,) * (n - k), (1,) * n))[0] >= limit for k in hits])

    assert 0.77 < passed < 0.87


@pytest.mark.parametrize(("limit", "true"), [(0.9, 0.9), (0.0, 0.5), (1.0, 1.0), (0.5, 1.1)])
def test_what_cannot_be_shown_is_refused(limit, true):
    with pytest.raises(InputError):
        samples_to_show(limit, true)
