"""Agreement and Cohen's kappa against numbers worked out by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.results.statistics.agreement import agreement


def _pairs(*cells: tuple[str, str, int]) -> tuple[list[tuple[str, str]], list[str]]:
    pairs = [(one, other) for one, other, count in cells for _ in range(count)]
    return pairs, [str(at) for at in range(len(pairs))]


def test_the_textbook_table() -> None:
    # 50 proposals, two readers: observed 0.7, by chance 0.5.
    found = agreement(*_pairs(("yes", "yes", 20), ("yes", "no", 5), ("no", "yes", 10), ("no", "no", 15)))

    assert found.agreement.value == pytest.approx(0.7)
    assert found.kappa.value == pytest.approx(0.4)
    assert (found.labels, found.table) == (("no", "yes"), ((15, 10), (5, 20)))
    assert found.kappa.low is not None
    assert found.kappa.high is not None
    # The large-sample error is 0.1262 (Fleiss, Cohen, Everitt 1969): 0.153 to 0.647.
    assert found.kappa.low == pytest.approx(0.153, abs=0.03)
    assert found.kappa.high == pytest.approx(0.647, abs=0.03)


def test_one_label_alone_agrees_by_chance_and_has_no_kappa() -> None:
    found = agreement(*_pairs(("win", "win", 12)))

    assert found.agreement.value == 1.0
    assert found.kappa.value is None


def test_few_items_have_a_kappa_and_no_interval() -> None:
    found = agreement(*_pairs(("win", "win", 3), ("loss", "win", 1), ("loss", "loss", 2)))

    assert found.kappa.value == pytest.approx(2 / 3)
    assert found.kappa.low is None


def test_many_verdicts_on_one_item_say_no_more_than_one() -> None:
    pairs, items = _pairs(("win", "win", 20), ("loss", "win", 10), ("loss", "loss", 20))
    once = agreement(pairs, items)
    thrice = agreement(pairs * 3, items * 3)

    assert thrice.kappa == once.kappa
    assert (thrice.n, thrice.items) == (150, 50)
    assert thrice.agreement.low == pytest.approx(once.agreement.low, abs=0.01)


def test_nothing_to_compare() -> None:
    found = agreement([], [])

    assert (found.agreement.value, found.kappa.value, found.n) == (None, None, 0)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1, max_size=40))
def test_kappa_is_symmetric_and_never_above_agreement(pairs: list[tuple[str, str]]) -> None:
    items = [str(at) for at in range(len(pairs))]
    one = agreement(pairs, items)
    other = agreement([(right, left) for left, right in pairs], items)

    assert one.agreement.value is not None
    if one.kappa.value is not None:
        assert other.kappa.value == pytest.approx(one.kappa.value)
        assert -1 <= one.kappa.value <= one.agreement.value + 1e-9
