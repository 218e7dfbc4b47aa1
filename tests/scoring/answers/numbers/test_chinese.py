"""Chinese numerals as numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.scoring.folding import read_han

DIGITS = "零一二三四五六七八九"


def said(number: int) -> str:
    """A number below a million million as a Chinese reader says it."""
    for size, sign in ((10**8, "亿"), (10**4, "万")):
        if number >= size:
            rest = number % size
            return said(number // size) + sign + ("零" if 0 < rest < size // 10 else "") + (said(rest) if rest else "")
    for size, sign in ((1000, "千"), (100, "百"), (10, "十")):
        if number >= size:
            rest = number % size
            gap = "零" if 0 < rest < size // 10 else ""
            return DIGITS[number // size] + sign + gap + (said(rest) if rest else "")
    return DIGITS[number]


@given(st.integers(0, 10**12 - 1))
def test_every_number_is_read_as_it_is_said(number: int) -> None:
    assert read_han(said(number)) == str(number)
    assert read_han(said(number).removeprefix("一") if 10 <= number < 20 else said(number)) == str(number)


@pytest.mark.parametrize(
    ("run", "number"),
    [
        ("两", 2),
        ("两千零三", 2003),
        ("二〇二四", 2024),
        ("一億", 10**8),
        ("两万二百", 20200),
    ],
)
def test_other_spellings_are_read(run: str, number: int) -> None:
    assert read_han(run) == str(number)


@pytest.mark.parametrize("run", ["", "三四", "一百五", "三万五", "百", "万", "十十", "三十百", "廿三", "个"])
def test_what_may_say_several_numbers_or_none_is_not_read(run: str) -> None:
    assert read_han(run) is None


@given(st.text("〇零一二三四五六七八九十百千万亿两", max_size=9))
def test_no_run_makes_it_raise(run: str) -> None:
    assert int(read_han(run) or 0) >= 0
