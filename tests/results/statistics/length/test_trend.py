"""Trend over length: numbers by hand."""

from __future__ import annotations

import pytest

from needlework.results.statistics.effective_length import trend
from tests.results.statistics.length.published_scores import exact_scores


def test_area_drop_and_half_life_by_hand() -> None:
    """Octaves 1000-2000-8000: trapezes 0.9 x 1 and 0.5 x 2, over 3."""
    found = trend(exact_scores([(1000, 1.0), (2000, 0.8), (8000, 0.2)]))

    assert found.base == 1.0
    assert found.area == pytest.approx((0.9 + 2 * 0.5) / 3)
    assert found.drop == pytest.approx(0.8)
    assert found.half_life == 8000


def test_half_is_not_below_half() -> None:
    assert trend(exact_scores([(1000, 0.6), (2000, 0.3)])).half_life is None


def test_a_rise_is_a_drop_below_0() -> None:
    assert trend(exact_scores([(1000, 0.5), (2000, 0.75)])).drop == pytest.approx(-0.5)


def test_one_length_has_no_area_and_none_nothing() -> None:
    one, gap = trend(exact_scores([(1000, 0.5)])), trend(exact_scores([(1000, None)]))

    assert (one.base, one.area, one.drop, one.half_life) == (0.5, None, None, None)
    assert (gap.base, gap.area, gap.drop, gap.half_life) == (None, None, None, None)


def test_a_base_of_0_has_no_drop() -> None:
    assert trend(exact_scores([(1000, 0.0), (2000, 0.0)])).drop is None
