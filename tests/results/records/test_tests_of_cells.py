"""Records of several tests over the same cells: kept apart, and named only where that is needed."""

import pytest

from needlework.core.grid import parse_id
from needlework.results.records.samples import by_test, latest_of_each, name_of_test

CELL = "niah-len1000-depth50-code-r0"


@pytest.mark.parametrize(
    ("nodeid", "name"),
    [
        (f"tests/test_own.py::test_needle[{CELL}]", "test_own.py::test_needle"),
        (f"test_own.py::test_needle[{CELL}]", "test_own.py::test_needle"),
        (f"test_own.py::TestIt::test_needle[{CELL}]", "test_own.py::TestIt::test_needle"),
        (f"test_own.py::test_needle[{CELL}-strict]", "test_own.py::test_needle[strict]"),
        (f"test_own.py::test_needle[strict-{CELL}]", "test_own.py::test_needle[strict]"),
        ("", "::"),
    ],
)
def test_a_test_has_one_name_wherever_pytest_runs(nodeid, name):
    assert name_of_test(nodeid, CELL) == name


def of(make_record, test: str, **fields):
    return make_record(id=CELL, nodeid=f"{test}[{CELL}]", depth=50.0, **fields)


def later(make_record, outcome="error", key="k", flags=(), replayed=False):
    timing = {"replayed": replayed}
    return of(make_record, "test_own.py::test_a", outcome=outcome, key=key, details={"flags": [*flags]}, timing=timing)


@pytest.mark.parametrize("outcome", ["error", "invalid", "skipped"])
@pytest.mark.parametrize("key", ["k", ""])
def test_a_failure_that_comes_later_hides_no_answer(make_record, outcome, key):
    answer = later(make_record, "wrong")

    assert latest_of_each([answer, later(make_record, outcome, key)]) == [answer]


@pytest.mark.parametrize(
    "says", [{"key": "another prompt's"}, {"flags": ["server_changed"]}, {"replayed": True}, {"outcome": "found"}]
)
def test_a_later_record_of_something_else_counts(make_record, says):
    record = later(make_record, **says)

    assert latest_of_each([later(make_record, "wrong"), record]) == [record]


def test_two_tests_of_a_cell_are_told_apart(make_record):
    found = latest_of_each([of(make_record, f"test_own.py::test_{name}") for name in "ab"])

    assert [record.task_label for record in found] == ["niah@test_a", "niah@test_b"]
    assert [record.id for record in found] == [f"niah@test_a{CELL[4:]}", f"niah@test_b{CELL[4:]}"]
    assert {parse_id(record.id) for record in found} == {parse_id(CELL)}


def test_tests_of_one_name_are_told_apart_by_their_files(make_record):
    found = latest_of_each([of(make_record, f"test_{name}.py::test_it") for name in "ab"])

    assert [record.task_label for record in found] == ["niah@test_a.test_it", "niah@test_b.test_it"]


def test_each_test_has_all_that_it_asked_under_plain_names(make_record):
    records = [make_record(task=task) for task in ("niah@test_a", "niah@test_b", "ruler_vt")]

    found = by_test(records)

    assert {label: [record.task for record in own] for label, own in found.items()} == {
        "test_a": ["niah", "ruler_vt"],
        "test_b": ["niah", "ruler_vt"],
    }
    assert by_test(records[2:]) == {"": records[2:]}
