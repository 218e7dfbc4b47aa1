"""The filter: an address says it, it says its address, and it shows what it asks for."""

from __future__ import annotations

from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.haystack_fixtures.errors import InputError
from needlework.results.statistics.panels import OUTCOMES
from needlework.results.web.browsing.filters import (
    SORTS,
    Filter,
    choices,
    counted,
    filter_of,
    in_question,
    shown,
    with_any_outcome,
)
from needlework.results.web.browsing.rows import Row, rows_of
from tests.results.web.browsing_runs import record

ROWS = rows_of(
    [
        record(0, length=900, depth=0.0),
        record(1, length=1000, depth=12.5, outcome="wrong", score=0.0, why="another city", needle="town"),
        record(2, length=9000, depth=None, outcome="partial", score=0.29, task="chain"),
        record(3, length=9000, depth=100.0, outcome="censored", score=None, question="Где код?"),
        record(4, length=1000, depth=50.0, prompt={"flags": ["truncated"]}, details={"flags": ["no_usage"]}),
        record(5, length=1000, depth=50.0, reference={"control": "absent", "absent": True}, needle="code_absent"),
    ]
)
ROW = {row.record["repeat"]: row for row in ROWS}
words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
filters = st.builds(
    Filter,
    task=words | st.just(""),
    needle=words | st.just(""),
    depth=st.sampled_from(["", "0", "12.5", "all"]),
    q=words | st.just(""),
    low=st.none() | st.integers(0, 100).map(float),
    high=st.none() | st.integers(0, 100).map(float),
    outcome=st.lists(st.sampled_from(OUTCOMES), unique=True).map(
        lambda names: tuple(name for name in OUTCOMES if name in names)
    ),
    sort=st.sampled_from(["", *SORTS, "-score"]),
    beside=st.none() | st.integers(0, 9),
    differ=st.booleans(),
    page=st.integers(1, 99),
)


def found(**wanted: object) -> list[int]:
    """The repeats of the rows that a filter shows; they are the rows' numbers here."""
    asked = Filter(**wanted)  # type: ignore[arg-type]
    return [row.record["repeat"] for row in shown(with_any_outcome(in_question(ROWS, asked), asked), asked)]


@given(filters)
def test_an_address_says_the_filter_again(wanted: Filter) -> None:
    assert filter_of(parse_qsl(wanted.address())) == wanted


def test_an_address_says_no_more_than_is_asked_for() -> None:
    assert Filter().address() == ""
    assert Filter(task="niah", outcome=("wrong", "empty"), page=3).address() == (
        "task=niah&outcome=wrong&outcome=empty&page=3"
    )
    assert Filter(task="niah", page=3).address(depth="50") == "task=niah&depth=50"


@pytest.mark.parametrize(
    ("wanted", "numbers"),
    [
        ({"task": "chain"}, [2]),
        ({"needle": "town"}, [1]),
        ({"length": "1000", "depth": "50"}, [4, 5]),
        ({"depth": "all"}, [2]),
        ({"context": "whole", "length": "1000"}, [4, 1]),
        ({"flag": "truncated"}, [4]),
        ({"flag": "no_usage"}, [4]),
        ({"low": 0.0}, [0, 4, 1, 5, 2]),
        ({"low": 29.0, "high": 29.0}, [2]),
        ({"high": 50.0, "sort": "score"}, [1, 2]),
        ({"q": "CITY another"}, [1]),
        ({"q": "код"}, [3]),
        ({"outcome": ("censored", "wrong")}, [3, 1]),
        ({"sort": "-score"}, [0, 4, 5, 2, 1, 3]),
        ({"sort": "depth"}, [0, 1, 4, 5, 3, 2]),
        ({"sort": "-length", "context": "whole", "task": "niah"}, [3, 4, 1, 0]),
    ],
)
def test_what_is_shown(wanted: dict[str, object], numbers: list[int]) -> None:
    assert found(**wanted) == numbers


def test_counts_of_outcomes_follow_the_rest_of_the_filter() -> None:
    wanted = Filter(length="1000", outcome=("wrong",))
    counts = counted(with_any_outcome(in_question(ROWS, wanted), wanted))

    assert {name: count for name, count in counts.items() if count} == {"found": 2, "wrong": 1}


def test_only_trials_that_differ_from_the_other_run() -> None:
    others = {0: ROW[0], 1: ROW[0], 4: None}

    def beside(row: Row) -> Row | None:
        return others.get(row.record["repeat"], row)

    wanted = Filter(beside=1, differ=True)
    rows = with_any_outcome(in_question(ROWS, wanted), wanted, beside)
    assert {row.record["repeat"] for row in rows} == {1, 4}


def test_what_there_is_to_choose_from() -> None:
    offered = choices(ROWS)

    assert offered["length"] == ("900", "1000", "9000")
    assert offered["depth"] == ("0", "12.5", "50", "100", "all")
    assert offered["flag"] == ("no_usage", "truncated")
    assert "model" not in offered, "all trials have the same one"


@pytest.mark.parametrize(
    "pair", [("low", "abc"), ("high", "101"), ("low", "nan"), ("page", "-1"), ("beside", "x"), ("sort", "taste")]
)
def test_what_no_filter_can_be_is_refused(pair: tuple[str, str]) -> None:
    with pytest.raises(InputError, match=pair[0]):
        filter_of([pair])


def test_names_that_no_filter_has_are_passed_over() -> None:
    assert filter_of([("id", "x"), ("utm", "y"), ("outcome", "nonsense")]) == Filter()
