"""Agreement of raters and judges, against published examples and the definitions."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.results.statistics.agreement import agreement, ordinal_alpha, weighted_kappa

# Four observers, twelve units, marks missing: Krippendorff (2011), part C; the ordinal alpha is 0.815.
_PUBLISHED = (
    "1 2 3 3 2 1 4 1 2 . . .",
    "1 2 3 3 2 2 4 1 2 5 . 3",
    ". 3 3 3 2 3 4 2 2 5 1 .",
    "1 2 3 3 2 4 4 1 2 5 1 .",
)
UNITS = [[int(mark) for mark in column if mark != "."] for column in zip(*map(str.split, _PUBLISHED), strict=True)]
marks = st.integers(1, 5)


def test_krippendorffs_own_example():
    assert ordinal_alpha(UNITS, range(12), 5).value == pytest.approx(0.815, abs=0.0005)


def test_the_interval_holds_the_value_and_needs_ten_units():
    found = ordinal_alpha(UNITS, range(12), 5)
    assert -1 <= found.low <= found.value <= found.high <= 1
    assert ordinal_alpha(UNITS[:6], range(6), 5).low is None


@pytest.mark.parametrize("units", [[], [[3]], [[4, 4], [4, 4]]])
def test_no_value_where_nothing_could_disagree(units):
    assert ordinal_alpha(units, range(len(units)), 5).value is None


@given(st.lists(st.lists(marks, max_size=4), max_size=9))
def test_alpha_is_what_its_definition_says(units):
    """Observed over expected disagreement, pair by pair, with the distance of the paper."""
    pairable = [unit for unit in units if len(unit) > 1]
    every = [mark for unit in pairable for mark in unit]

    def distance(one, other):
        low, high = min(one, other), max(one, other)
        return (sum(low <= mark <= high for mark in every) - (every.count(low) + every.count(high)) / 2) ** 2

    n = len(every)
    observed = sum(distance(*pair) / (len(unit) - 1) for unit in pairable for pair in permutations(unit, 2)) / max(n, 1)
    expected = sum(distance(*pair) for pair in permutations(every, 2)) / max(n * (n - 1), 1)
    found = ordinal_alpha(units, range(len(units)), 5).value
    if expected == 0:
        assert found is None
    else:
        assert found == pytest.approx(1 - observed / expected)


def test_weighted_kappa_by_hand():
    # Marks 1..3, ten things. Weighted disagreement: (2 * 1 + 1 * 4) / 10 = 0.6; by chance 1.34, from the margins
    # 5, 3, 2 and 4, 3, 3.
    table = {(1, 1): 4, (2, 2): 2, (3, 3): 1, (2, 3): 1, (1, 3): 1, (3, 2): 1}
    pairs = [pair for pair, count in table.items() for _ in range(count)]

    assert weighted_kappa(pairs, range(10), 3).value == pytest.approx(1 - 0.6 / 1.34)


@given(st.lists(st.tuples(marks, marks), min_size=1, max_size=9))
def test_weighted_kappa_is_lins_concordance(pairs):
    """With squared weights: 2 cov / (var + var + (mean - mean)²), with n below (Lin 1989; King, Chinchilli 2001)."""
    n = len(pairs)
    one, other = zip(*pairs, strict=True)
    a, b = sum(one) / n, sum(other) / n
    covariance = sum((x - a) * (y - b) for x, y in pairs) / n
    spread = sum((x - a) ** 2 for x in one) / n + sum((y - b) ** 2 for y in other) / n + (a - b) ** 2
    found = weighted_kappa(pairs, range(n), 5).value
    if spread < 1e-9:
        assert found is None
    else:
        assert found == pytest.approx(2 * covariance / spread, abs=1e-9)


@given(st.lists(st.tuples(marks, marks), min_size=1, max_size=9))
def test_who_is_named_first_does_not_matter(pairs):
    turned = [(other, one) for one, other in pairs]
    clusters = range(len(pairs))

    assert weighted_kappa(pairs, clusters, 5).value == pytest.approx(weighted_kappa(turned, clusters, 5).value)
    assert ordinal_alpha(pairs, clusters, 5).value == pytest.approx(ordinal_alpha(turned, clusters, 5).value)


def pairs_of(*cells):
    pairs = [(one, other) for one, other, count in cells for _ in range(count)]
    return pairs, list(map(str, range(len(pairs))))


def test_the_textbook_table():
    # 50 proposals, two readers: observed 0.7, by chance 0.5.
    both = agreement(*pairs_of(("yes", "yes", 20), ("yes", "no", 5), ("no", "yes", 10), ("no", "no", 15)))

    assert (both.agreement.value, both.kappa.value) == pytest.approx((0.7, 0.4))
    assert (both.labels, both.table) == (("no", "yes"), ((15, 10), (5, 20)))
    # The large-sample error is 0.1262 (Fleiss, Cohen, Everitt 1969): 0.153 to 0.647.
    assert (both.kappa.low, both.kappa.high) == pytest.approx((0.153, 0.647), abs=0.03)


def test_too_little_has_no_kappa_or_no_interval():
    one_label = agreement(*pairs_of(("win", "win", 12)))
    few = agreement(*pairs_of(("win", "win", 3), ("loss", "win", 1), ("loss", "loss", 2)))
    nothing = agreement([], [])

    assert (one_label.agreement.value, one_label.kappa.value) == (1.0, None)
    assert (few.kappa.value, few.kappa.low) == (pytest.approx(2 / 3), None)
    assert (nothing.agreement.value, nothing.kappa.value, nothing.n) == (None, None, 0)


def test_many_verdicts_on_one_item_say_no_more_than_one():
    pairs, items = pairs_of(("win", "win", 20), ("loss", "win", 10), ("loss", "loss", 20))
    once, thrice = agreement(pairs, items), agreement(pairs * 3, items * 3)

    assert thrice.kappa == once.kappa
    assert (thrice.n, thrice.items) == (150, 50)
    assert thrice.agreement.low == pytest.approx(once.agreement.low, abs=0.01)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1, max_size=40))
def test_kappa_is_symmetric_and_never_above_agreement(pairs):
    items = list(map(str, range(len(pairs))))
    one, other = agreement(pairs, items), agreement([(right, left) for left, right in pairs], items)

    assert one.agreement.value is not None
    if one.kappa.value is not None:
        assert other.kappa.value == pytest.approx(one.kappa.value)
        assert -1 <= one.kappa.value <= one.agreement.value + 1e-9
