"""Which records belong together: those of several tests, later failures, runs by date and step."""

import pytest

from needlework.core.grid import parse_id
from needlework.results.records.samples import began, by_test, latest_of_each, name_of_test, step_of

CELL = "niah-len1000-depth50-code-r0"


@pytest.mark.parametrize(
    ("nodeid", "name"),
    [
        (f"tests/test_own.py::test_needle[{CELL}]", "test_own.py::test_needle"),
        (f"test_own.py::TestIt::test_needle[{CELL}]", "test_own.py::TestIt::test_needle"),
        (f"test_own.py::test_needle[{CELL}-strict]", "test_own.py::test_needle[strict]"),
        (f"test_own.py::test_needle[strict-{CELL}]", "test_own.py::test_needle[strict]"),
        ("", "::"),
    ],
)
def test_a_test_has_one_name_wherever_pytest_runs(nodeid, name):
    assert name_of_test(nodeid, CELL) == name


def of(make_record, test="test_own.py::test_a", outcome="error", key="k", flags=(), replayed=False):
    return make_record(
        id=CELL, nodeid=f"{test}[{CELL}]", depth=50.0, outcome=outcome, key=key, details={"flags": [*flags]},
        timing={"replayed": replayed},
    )  # fmt: skip


@pytest.mark.parametrize("outcome", ["error", "invalid", "skipped"])
@pytest.mark.parametrize("key", ["k", ""])
def test_a_failure_that_comes_later_hides_no_answer(make_record, outcome, key):
    answer = of(make_record, outcome="wrong")

    assert latest_of_each([answer, of(make_record, outcome=outcome, key=key)]) == [answer]


@pytest.mark.parametrize(
    "fields", [{"key": "another prompt's"}, {"flags": ["server_changed"]}, {"replayed": True}, {"outcome": "found"}]
)
def test_a_later_record_of_something_else_counts(make_record, fields):
    record = of(make_record, **fields)

    assert latest_of_each([of(make_record, outcome="wrong"), record]) == [record]


@pytest.mark.parametrize(
    ("tests", "labels"),
    [
        (("test_own.py::test_a", "test_own.py::test_b"), ("test_a", "test_b")),
        (("test_a.py::test_it", "test_b.py::test_it"), ("test_a.test_it", "test_b.test_it")),
    ],
    ids=["two names", "one name in two files"],
)
def test_tests_of_one_cell_are_told_apart(make_record, tests, labels):
    found = latest_of_each([of(make_record, test, "found") for test in tests])

    assert [(record.task_label, record.id) for record in found] == [
        (f"niah@{label}", f"niah@{label}{CELL[4:]}") for label in labels
    ]
    assert {parse_id(record.id) for record in found} == {parse_id(CELL)}


def test_each_test_has_all_of_its_records_under_plain_names(make_record):
    records = [make_record(task=task) for task in ("niah@test_a", "niah@test_b", "ruler_vt")]
    tasks = {label: [record.task for record in members] for label, members in by_test(records).items()}

    assert tasks == {"test_a": ["niah", "ruler_vt"], "test_b": ["niah", "ruler_vt"]}
    assert by_test(records[2:]) == {"": records[2:]}


@pytest.mark.parametrize(
    ("names", "step"),
    [
        (["nightly", "hf:out/checkpoint-500"], 500),
        (["llama3-step_2k"], 2000),
        (["7b-tokens=1.5B"], 1.5e9),
        (["llama3 epoch 2, step 40"], 40),
        (["run-3-of-7"], 7),
        (["main", "smollm2"], 2),
        (["main", "other"], None),
    ],
)
def test_the_step_of_a_name(names, step):
    assert step_of(names) == step


def test_when_a_run_began():
    assert began({"started": "2026-01-02T03:04:05"}) == began({"started": "2026-01-02T04:04:05+01:00"})
    assert began({"started": "soon"}) is began({}) is None
