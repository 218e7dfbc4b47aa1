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


def test_the_order_of_records_changes_nothing(make_record: Make) -> None:
    records = [make_record(length=length, repeat=i) for length in (4000, 500) for i in range(3)]

    assert run_report(records) == run_report(records[::-1])
    assert [record.length for record in run_report(records).records] == [500] * 3 + [4000] * 3


def test_a_note_is_told_wherever_the_run_is(make_record: Make) -> None:
    report = run_report([make_record()], notes=["every answer is from the journal"])

    assert report.notes == ("every answer is from the journal",)
    assert report.notes[0] in run_lines(report, color=False, encoding="utf-8", width=80)
    assert f"- {report.notes[0]}" in markdown_lines(report)
    assert json.loads(json_text(report))["notes"] == list(report.notes)


def test_the_next_step_names_a_trial_that_was_missed(make_record: Make) -> None:
    found, missed = make_record(id="a"), make_record(id="b", repeat=1, outcome="wrong")

    assert next_line(run_report([found]), "runs/x") == (
        "next: open runs/x/report.html (a click on a cell shows its answers)"
    )
    assert next_line(run_report([found, missed]), "runs/x").endswith(
        "needlework prompt runs/x b prints what the model saw"
    )


def test_trials_that_failed_are_the_first_next_step(make_record: Make) -> None:
    def failed(repeat: int, kind: str) -> Record:
        return make_record(repeat=repeat, outcome="error", error={"kind": kind, "message": "HTTP 500: boom"})

    facts = run_facts({"run": "r"}, "r")
    reasons = ("uncalibrated", "token_mismatch")
    invalid = [make_record(repeat=4, outcome="invalid", needle=each, details={"invalid": [each]}) for each in reasons]
    errors = [failed(1, "server"), failed(2, "timeout"), failed(3, "client")]
    report = run_report([make_record(), *errors, *invalid], facts=facts)
    told = "the same command with --run-name r asks the 3 failed trials again"
    assert next_line(report, "runs/r").startswith(f"next: {told}; open runs/r/report.html")
    assert headline_of(report).next_run == NextRun(told)

    lasting = run_report([make_record(), failed(1, "client"), failed(2, "oom")], facts=facts)
    assert next_line(lasting, "runs/r").startswith("next: open runs/r/report.html")
    assert headline_of(lasting).next_run != NextRun(told)


@pytest.mark.parametrize("outcome", ["error", "skipped"])
def test_the_next_step_names_no_trial_that_no_model_answered(make_record: Make, outcome: str) -> None:
    unasked = make_record(id="a", outcome=outcome)

    assert next_line(run_report([unasked]), "runs/x").endswith("(a click on a cell shows its answers)")
    assert " b prints" in next_line(run_report([unasked, make_record(id="b", repeat=1, outcome="wrong")]), "runs/x")
