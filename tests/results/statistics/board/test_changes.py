"""Changes in a series: where they are, and that there are none where nothing changed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.results.statistics.leaderboard.boards import changes, changes_needed_samples, windows_of
from perf.simulations.history import told


def series(*levels: float, samples: int = 12) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Runs whose samples all score the same."""
    return np.array([[level] * samples for level in levels])


def test_a_fall_is_told_with_the_runs_between_which_it_lies() -> None:
    (change,) = changes(series(5, 5, 5, 2, 2), 60)

    assert (change.first, change.last, change.at) == (2, 3, 3)
    assert (change.before, change.after, change.is_fall) == (1.0, 0.4, True)
    assert change.p < 0.01


def test_one_bad_night_is_two_changes() -> None:
    found = changes(series(5, 5, 0, 5, 5), 60)

    assert [(each.first, each.last, each.is_fall) for each in found] == [(1, 2, True), (2, 3, False)]


def test_what_two_runs_cannot_show_several_can_between_wider_ends() -> None:
    rng = np.random.default_rng(3)
    sums = rng.binomial(5, np.repeat([0.75, 0.6], 8)[:, None], size=(16, 12)).astype(float)
    (change,) = changes(sums, 60)

    assert change.first < 8 <= change.last
    assert change.last - change.first > 1


@given(st.integers(2, 9), st.integers(1, 30), st.floats(0, 5))
def test_runs_that_are_alike_have_no_change(runs: int, samples: int, level: float) -> None:
    assert changes(series(*[level] * runs, samples=samples), 5 * samples) == ()


def test_few_samples_show_nothing() -> None:
    assert changes(series(5, 0, samples=5), 25) == ()
    assert len(changes(series(5, 0, samples=6), 30)) == 1
    assert [changes_needed_samples(runs) for runs in (2, 4, 10, 30)] == [6, 8, 10, 12]
    assert windows_of(4) == [(1, 1), (2, 1), (3, 1), (2, 2)]


@pytest.mark.slow
@pytest.mark.parametrize(("runs", "samples"), [(4, 10), (10, 20), (30, 20)])
def test_false_changes_are_rare_and_true_ones_are_found(runs: int, samples: int) -> None:
    found = told(runs, samples, 0.9, 5, 100)

    assert found.false <= 0.05 + 0.05
    assert found.misplaced <= 0.05 + 0.05
    assert found.found >= (0.3 if samples == 10 else 0.9)
