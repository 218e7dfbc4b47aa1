"""Every planted fault, classified by real runs of the harness against a real server."""

import re
from dataclasses import replace

import pytest

from tests.faults.bench import Row, finish, markdown, naive, pending, plain, start
from tests.faults.catalogue import CATALOGUE
from tests.faults.grid import ROOT
from tests.faults.judge import complaints, summary
from tests.faults.naive import Told


@pytest.fixture(scope="module")
def run(request, desk, harness):
    """The run against a fault. Those of all tests are begun at once: a server that hangs keeps no other waiting."""
    chosen = [
        item.callspec.params.get("name")
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.path == request.path and hasattr(item, "callspec")
    ]
    begun = {name: start(CATALOGUE[name], desk, harness) for name in chosen if name and not pending(CATALOGUE[name])}

    def once(fault):
        if fault.name not in begun:
            begun[fault.name] = start(fault, desk, harness)
        return begun[fault.name].result(timeout=600)

    return once


def one_of_each_class():
    """Every fault; those that have to be told in the same words as one before them are slow."""
    told = {fault.expect.words: fault.name for fault in reversed(CATALOGUE.values())}
    quick = set(told.values())
    return [pytest.param(name, marks=[] if name in quick else pytest.mark.slow) for name in CATALOGUE]


@pytest.mark.parametrize("name", one_of_each_class())
def test_is_classified_right_in_every_cell(name, desk, run):
    fault = CATALOGUE[name]
    if pending(fault):
        pytest.skip(f"needs --{fault.needs}")
    ran = run(fault)
    wrong = finish(fault, desk, ran)
    assert not wrong, "\n".join([summary(ran), *wrong])


def test_the_first_list_is_complete_and_names_are_numbered_once():
    numbers = [fault.number for fault in CATALOGUE.values() if fault.number]

    assert sorted(numbers) == list(range(1, len(numbers) + 1))
    assert len(numbers) >= 38


def test_the_rows_of_the_docs_are_faults_of_the_catalogue():
    page = (ROOT / "docs" / "faults.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| [\d ]*\| `(\w+)` \| (.*?) \|", page, re.MULTILINE))

    assert len(rows) > 10
    assert rows.items() <= {fault.name: fault.met for fault in CATALOGUE.values()}.items()


def test_the_naive_harness_scores_what_it_is_told_and_sees_nothing_wrong_with_a_truncated_prompt(desk):
    shares = {name: naive(CATALOGUE[name], desk) for name in ("honest", "longer_number", "refuses", "truncates_head")}
    assert {name: told.words for name, told in shares.items()} == {
        "honest": "100 %", "longer_number": "100 %", "refuses": "0 %", "truncates_head": "83 %",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("expected", "server"), [("truncates_head", "honest"), ("honest", "refuses"), ("refuses", "longer_number")]
)
def test_the_judge_complains_of_a_report_that_is_not_of_this_fault(expected, server, desk, run):
    ran = run(CATALOGUE[server])
    seen = desk.session(server, "ours").seen

    assert not complaints(CATALOGUE[server], ran, seen)
    assert complaints(CATALOGUE[expected], ran, seen)


def test_the_judge_complains_of_one_wrong_cell_and_of_the_exit_code(desk, run):
    fault = CATALOGUE["refuses"]
    ran, seen = run(fault), desk.session("refuses", "ours").seen
    first, *others = ran.records

    wrong_cell = replace(ran, records=[first | {"outcome": "wrong"}, *others])
    assert complaints(fault, wrong_cell, seen) == [f"{first['id']}: wrong, not refused"]
    assert complaints(fault, replace(ran, status=11), seen) == ["exit code 11, not 0"]
    assert "a traceback" in complaints(fault, replace(ran, output="Traceback (most recent call last)"), seen)
    assert "no records: ERROR: x" in complaints(fault, replace(ran, records=[], output="ERROR: x\n"), seen)


def test_the_tables_name_fault_and_both_reports():
    fault = CATALOGUE["truncates_head"]
    right = Row(fault, Told(5, 6), "3 found, 3 invalid server_truncated", ())
    wrong = replace(right, wrong=("a cell: found",))

    assert list(markdown([right]))[2] == (
        f"| 1 | `truncates_head` | {fault.met} | 83 % | 3 found, 3 invalid server_truncated |"
    )
    assert "| **wrong**: 3 found" in list(markdown([wrong]))[2]
    assert "yes" in list(plain([right]))[1]
    assert [line.strip() for line in plain([wrong])][2] == "- a cell: found"
