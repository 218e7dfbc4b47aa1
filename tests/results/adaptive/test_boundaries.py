"""Boundaries at which a length is decided: equal to the specification's, and exact."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.results.adaptive.design import SearchDesign, absolute, boundaries, boundaries_at, looks_of, unit_of
from tests.parity.cases import cases


def _name(case):
    return f"{case['bar']}-{case['rho']}-{case['lengths']}"


@pytest.mark.parametrize("case", cases("field/adaptive_boundaries"), ids=_name)
def test_boundaries_equal_the_specification(case):
    found = boundaries(case["bar"], tuple(case["looks"]), 0.025, 0.025 / case["lengths"], case["rho"])
    assert list(found.pass_at_least) == case["pass_at_least"]
    assert list(found.fail_at_most) == case["fail_at_most"]


def test_the_first_looks_of_the_usual_bar():
    design = absolute("normal", tuple(4_000 * 2**k for k in range(9)), 11, 0.856)
    short, longest = boundaries_at(design, 0), boundaries_at(design, 8)
    assert short.looks[:5] == longest.looks[:5] == (11, 22, 33, 44, 66)
    assert longest.pass_at_least[:4] == (12, 23, 33, 43)  # nothing passes before 33 of 33
    assert longest.fail_at_most[:4] == (4, 12, 20, 28)
    assert short.pass_at_least[:4] == (12, 23, 34, 44)  # more looks, and each may err less
    assert short.fail_at_most[:4] == (3, 11, 20, 27)


def test_a_share_of_a_hit_counts_for_what_is_safe():
    found = boundaries(0.856, looks_of("normal", 11))
    assert found.verdict(2, [1.0] * 33) == "pass"
    assert found.verdict(2, [1.0] * 32 + [0.99]) == ""
    most = found.fail_at_most[0]
    assert found.verdict(0, [1.0] * most + [0.0] * (11 - most)) == "fail"
    assert found.verdict(0, [1.0] * most + [0.1] + [0.0] * (10 - most)) == ""
    assert found.verdict(2, [1 / 3] * 3 + [1.0] * 32) == "pass"  # 33, but for the last binary digit


@given(st.floats(0.05, 0.95), st.integers(1, 12), st.integers(1, 9))
def test_a_length_at_the_bar_errs_no_more_than_was_allowed(bar, unit, lengths):
    """Walks every path of hits and misses exactly, by another way than the boundaries were made."""
    looks = looks_of("quick", unit)
    found = boundaries(bar, looks, 0.025, 0.025 / lengths)
    alive, passed, failed = {0: 1.0}, 0.0, 0.0
    for trial in range(1, looks[-1] + 1):
        after: dict[int, float] = {}
        for hits, chance in alive.items():
            after[hits + 1] = after.get(hits + 1, 0.0) + chance * bar
            after[hits] = after.get(hits, 0.0) + chance * (1 - bar)
        alive = after
        if trial in looks:
            look = looks.index(trial)
            passed += sum(chance for hits, chance in alive.items() if hits >= found.pass_at_least[look])
            failed += sum(chance for hits, chance in alive.items() if hits <= found.fail_at_most[look])
            alive = {
                hits: chance
                for hits, chance in alive.items()
                if found.fail_at_most[look] < hits < found.pass_at_least[look]
            }
    assert passed <= 0.025 + 1e-9
    assert failed <= 0.025 / lengths + 1e-9


def test_a_bar_that_was_measured_passes_above_and_fails_below():
    design = SearchDesign("normal", (4_000, 8_000), 11, 0.84, 0.78, 0.02)
    apart, high, low = (boundaries_at(each, 1) for each in (design, _at(design, 0.84), _at(design, 0.78)))
    assert apart.pass_at_least == high.pass_at_least
    assert apart.fail_at_most == low.fail_at_most


def _at(design, bar):
    return SearchDesign(design.mode, design.lengths, design.unit, bar, bar, design.alpha)


@pytest.mark.parametrize(("depths", "unit"), [(11, 11), (5, 10), (1, 10), (3, 12), (21, 21)])
def test_a_look_is_whole_rounds_of_the_depths(depths, unit):
    assert unit_of(depths) == unit


def test_a_look_of_many_trials_is_no_overflow():
    found = boundaries(0.856, looks_of("careful", 101))
    assert np.isfinite(found.pass_at_least).all()
    assert found.pass_at_least[-1] > found.fail_at_most[-1]
