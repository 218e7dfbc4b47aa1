"""A mock model whose score at each length is known."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.core.errors import InputError
from needlework.models.mock import chance_at, parse_behaviour, parse_curve

CURVE = parse_curve("4k:1, 16k:0.8, 1M:0")


@pytest.mark.parametrize(("length", "chance"), [(1_000, 1), (4_000, 1), (8_000, 0.9), (16_000, 0.8), (2_000_000, 0)])
def test_the_chance_lies_on_a_line_over_doublings(length, chance):
    assert chance_at(CURVE, length) == pytest.approx(chance)


@given(st.integers(1, 10**7))
def test_a_chance_is_a_chance(length):
    assert 0 <= chance_at(CURVE, length) <= 1


@pytest.mark.parametrize("text", ["4k", "4k:2", "4k:x", ":0.5", "4k:0.5,", "-1:0.5"])
def test_what_is_no_curve_is_refused(text):
    with pytest.raises(InputError, match="--model mock:curve"):
        parse_behaviour(f"curve={text}")
