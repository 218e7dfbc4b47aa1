"""Agreement and Cohen's kappa against numbers worked out by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.results.statistics.agreement import agreement


def pairs_of(*cells: tuple[str, str, int]) -> tuple[list[tuple[str, str]], list[str]]:
    pairs = [(one, other) for one, other, count in cells for _ in range(count)]
    return pairs, list(map(str, range(len(pairs))))


def test_the_textbook_table() -> None:
    # 50 proposals, two readers: observed 0.7, by chance 0.5.
    both = agreement(*pairs_of(("yes", "yes", 20), ("yes", "no", 5), ("no", "yes", 10), ("no", "no", 15)))

    assert (both.agreement.value, both.kappa.value) == pytest.approx((0.7, 0.4))
    assert (both.labels, both.table) == (("no", "yes"), ((15, 10), (5, 20)))
    # The large-sample error is 0.1262 (Fleiss, Cohen, Everitt 1969): 0.153 to 0.647.
    assert (both.kappa.low, both.kappa.high) == pytest.approx((0.153, 0.647), abs=0.03)


def test_too_little_has_no_kappa_or_no_interval() -> None:
    one_label = agreement(*pairs_of(("win", "win", 12)))
    few = agreement(*pairs_of(("win", "win", 3), ("loss", "win", 1), ("loss", "loss", 2)))
    nothing = agreement([], [])

    assert (one_label.agreement.value, one_label.kappa.value) == (1.0, None)
    assert (few.kappa.value, few.kappa.low) == (pytest.approx(2 / 3), None)
    assert (nothing.agreement.value, nothing.kappa.value, nothing.n) == (None, None, 0)


def test_many_verdicts_on_one_item_say_no_more_than_one() -> None:
    pairs, items = pairs_of(("win", "win", 20), ("loss", "win", 10), ("loss", "loss", 20))
    once, thrice = agreement(pairs, items), agreement(pairs * 3, items * 3)

    assert thrice.kappa == once.kappa
    assert (thrice.n, thrice.items) == (150, 50)
    assert thrice.agreement.low == pytest.approx(once.agreement.low, abs=0.01)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1, max_size=40))
def test_kappa_is_symmetric_and_never_above_agreement(pairs: list[tuple[str, str]]) -> None:
    items = list(map(str, range(len(pairs))))
    one, other = agreement(pairs, items), agreement([(right, left) for left, right in pairs], items)

    assert one.agreement.value is not None
    if one.kappa.value is not None:
        assert other.kappa.value == pytest.approx(one.kappa.value)
        assert -1 <= one.kappa.value <= one.agreement.value + 1e-9
