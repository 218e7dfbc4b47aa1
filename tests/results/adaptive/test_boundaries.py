"""Boundaries at which a length is decided: equal to the specification's, and exact."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.results.adaptive.design import SearchDesign, absolute, boundaries, boundaries_at, looks_of, unit_of
from tests.parity.cases import cases


@pytest.mark.parametrize(
    "case", cases("field/adaptive_boundaries"), ids=lambda case: f"{case['bar']}-{case['rho']}-{case['lengths']}"
)
def test_boundaries_equal_the_specification(case):
    found = boundaries(case["bar"], tuple(case["looks"]), 0.025, 0.025 / case["lengths"], case["rho"])

    assert (list(found.pass_at_least), list(found.fail_at_most)) == (case["pass_at_least"], case["fail_at_most"])


def test_the_first_looks_of_the_usual_bar():
    design = absolute("normal", tuple(4_000 * 2**k for k in range(9)), 11, 0.856)
    short, longest = boundaries_at(design, 0), boundaries_at(design, 8)

    assert short.looks[:5] == longest.looks[:5] == (11, 22, 33, 44, 66)
    assert (longest.pass_at_least[:4], longest.fail_at_most[:4]) == ((12, 23, 33, 43), (4, 12, 20, 28))
    # More looks, and each may err less.
    assert (short.pass_at_least[:4], short.fail_at_most[:4]) == ((12, 23, 34, 44), (3, 11, 20, 27))


def test_a_share_of_a_hit_counts_for_the_safe_side():
    found = boundaries(0.856, looks_of("normal", 11))
    most = found.fail_at_most[0]
    verdicts = [
        found.verdict(2, [1.0] * 33),
        found.verdict(2, [1 / 3] * 3 + [1.0] * 32),  # 33, but for the last binary digit
        found.verdict(2, [1.0] * 32 + [0.99]),
        found.verdict(0, [1.0] * most + [0.0] * (11 - most)),
        found.verdict(0, [1.0] * most + [0.1] + [0.0] * (10 - most)),
    ]

    assert verdicts == ["pass", "pass", "", "fail", ""]


@given(st.floats(0.05, 0.95), st.integers(1, 12), st.integers(1, 9))
def test_a_length_at_the_bar_errs_no_more_than_allowed(bar, unit, lengths):
    """Walks every path of hits and misses exactly, in another order than the boundaries were computed."""
    looks = looks_of("quick", unit)
    found = boundaries(bar, looks, 0.025, 0.025 / lengths)
    alive, passed, failed = {0: 1.0}, 0.0, 0.0
    for trial in range(1, looks[-1] + 1):
        after = {}
        for hits, chance in alive.items():
            after[hits + 1] = after.get(hits + 1, 0.0) + chance * bar
            after[hits] = after.get(hits, 0.0) + chance * (1 - bar)
        alive = after
        if trial in looks:
            low, high = (ends[looks.index(trial)] for ends in (found.fail_at_most, found.pass_at_least))
            passed += sum(chance for hits, chance in alive.items() if hits >= high)
            failed += sum(chance for hits, chance in alive.items() if hits <= low)
            alive = {hits: chance for hits, chance in alive.items() if low < hits < high}
    assert passed <= 0.025 + 1e-9
    assert failed <= 0.025 / lengths + 1e-9


def test_a_bar_that_was_measured_passes_above_and_fails_below():
    apart, high, low = (
        boundaries_at(SearchDesign("normal", (4_000, 8_000), 11, *bars, 0.02), 1)
        for bars in ((0.84, 0.78), (0.84, 0.84), (0.78, 0.78))
    )

    assert (apart.pass_at_least, apart.fail_at_most) == (high.pass_at_least, low.fail_at_most)


@pytest.mark.parametrize(("depths", "unit"), [(11, 11), (5, 10), (1, 10), (3, 12), (21, 21)])
def test_a_look_is_whole_rounds_of_the_depths(depths, unit):
    assert unit_of(depths) == unit


def test_a_look_of_many_trials_is_no_overflow():
    found = boundaries(0.856, looks_of("careful", 101))

    assert np.isfinite(found.pass_at_least).all()
    assert found.pass_at_least[-1] > found.fail_at_most[-1]
