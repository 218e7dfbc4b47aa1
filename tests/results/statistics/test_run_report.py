"""A run's report is one value, computed once, the same whatever the order of the records."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from needlework.core.record import Record
from needlework.results.files.json_files import json_text
from needlework.results.statistics.run_facts import run_facts
from needlework.results.statistics.run_followup import NextRun
from needlework.results.statistics.run_report import run_report
from needlework.results.statistics.summary_sentence import headline_of
from needlework.results.tables.summary import markdown_lines, next_line, run_lines

Make = Callable[..., Record]


def test_the_order_of_records_changes_nothing_and_a_note_is_told_wherever_the_run_is(make_record: Make) -> None:
    records = [make_record(length=length, repeat=i) for length in (4000, 500) for i in range(3)]
    note = "every answer is from the journal"
    report = run_report(records, notes=[note])

    assert report == run_report(records[::-1], notes=[note])
    assert [record.length for record in report.records] == [500] * 3 + [4000] * 3
    assert note in run_lines(report, color=False, encoding="utf-8", width=80)
    assert f"- {note}" in markdown_lines(report)
    assert json.loads(json_text(report))["notes"] == [note]


@pytest.mark.parametrize("outcome", ["found", "error", "skipped"])
def test_the_next_step_names_a_trial_that_was_missed_and_none_that_no_model_answered(
    make_record: Make, outcome: str
) -> None:
    first, missed = make_record(id="a", outcome=outcome), make_record(id="b", repeat=1, outcome="wrong")

    assert next_line(run_report([first]), "runs/x").endswith(
        "open runs/x/report.html (a click on a cell shows its answers)"
    )
    told = next_line(run_report([first, missed]), "runs/x")
    assert told.endswith("needlework prompt runs/x b prints what the model saw")


def test_trials_that_failed_are_the_first_next_step(make_record: Make) -> None:
    facts = run_facts({"run": "r"}, "r")
    kinds = ("server", "timeout", "client")
    errors = [make_record(repeat=1 + at, outcome="error", error={"kind": kind}) for at, kind in enumerate(kinds)]
    reasons = ("uncalibrated", "token_mismatch")
    invalid = [make_record(repeat=4, outcome="invalid", needle=each, details={"invalid": [each]}) for each in reasons]
    report = run_report([make_record(), *errors, *invalid], facts=facts)
    again = "the same command with --run-name r asks the 3 failed trials again"

    assert next_line(report, "runs/r").startswith(f"next: {again}; open runs/r/report.html")
    assert headline_of(report).next_run == NextRun(again)
    lasting = run_report([make_record(), errors[2]], facts=facts)
    assert next_line(lasting, "runs/r").startswith("next: open runs/r/report.html")
    assert headline_of(lasting).next_run != NextRun(again)
