"""A run's report is one value, computed once, the same whatever the order of the records."""

import json

import pytest

from needlework.results.files.json_files import results_bytes
from needlework.results.report.section import section_lines
from needlework.results.report.tasks import panel_sections
from needlework.results.statistics.panels import asked_of
from needlework.results.statistics.run_facts import run_facts
from needlework.results.statistics.run_followup import NextRun
from needlework.results.statistics.run_report import run_report
from needlework.results.statistics.summary_sentence import headline_of
from needlework.results.statistics.tasks import run_statistics
from needlework.results.tables.summary import markdown_lines, next_line, run_lines


def test_the_order_of_records_changes_nothing_and_a_note_is_told_wherever_the_run_is(make_record):
    records = [make_record(length=length, repeat=i) for length in (4000, 500) for i in range(3)]
    note = "every answer is from the journal"
    report = run_report(records, notes=[note])

    assert report == run_report(records[::-1], notes=[note])
    assert [record.length for record in report.records] == [500] * 3 + [4000] * 3
    assert note in run_lines(report, color=False, encoding="utf-8", width=80)
    assert f"- {note}" in markdown_lines(report)
    assert json.loads(results_bytes(report))["notes"] == [note]


@pytest.mark.parametrize("outcome", ["found", "error", "skipped"])
def test_the_next_step_names_a_trial_that_was_missed_and_none_that_no_model_answered(make_record, outcome):
    first, missed = make_record(id="a", outcome=outcome), make_record(id="b", repeat=1, outcome="wrong")

    assert next_line(run_report([first]), "runs/x").endswith(
        "open runs/x/report.html (a click on a cell shows its answers)"
    )
    told = next_line(run_report([first, missed]), "runs/x")
    assert told.endswith("needlework prompt runs/x b prints what the model saw")


def test_trials_that_failed_are_the_first_next_step(make_record):
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


def records(make_record):
    """Twelve repeats that fail in the middle of the longer length; one error; a second panel without depths."""
    made = [
        make_record(length=length, depth=depth, repeat=i, outcome="wrong" if length > 1000 and depth == 50 else "found")
        for length in (1000, 8000)
        for depth in (0.0, 50.0, 100.0)
        for i in range(12)
    ]
    made.append(make_record(length=16000, depth=0.0, repeat=0, outcome="error"))
    return [*made, *(make_record(task="qa", depth=None, repeat=i) for i in range(3))]


def test_lines_of_every_panel(make_record):
    sections = panel_sections(run_statistics(asked_of(records(make_record)), threshold=0.7))
    lines = section_lines(sections)
    bar = "  effective length (score >= 70.0 %)"

    assert lines[0] == "mock · niah · code"
    assert lines[1] == f"{bar}: undetermined at 8k, 95 % interval 1k to 8k or more, by the scores alone 1k"
    assert lines[2].startswith("  effective length (score >= 85.0 %, 85 % of the base at 1k): 1k in the 12 samples")
    assert lines[3:] == [
        "  trend: area 83.3 %, 33.3 % below the base at the longest length, half-life not reached",
        "  depth effect: lost in the middle (12 samples, 1 left out), p <0.001",
        "    best and worst depth: 0 % (100) and 50 % (50), p (Holm) <0.001",
        "",
        "mock · qa · code",  # one length has no effective length
    ]
    assert all(finding.meaning.endswith(".") for section in sections for finding in section.findings)


def test_the_object_is_json_and_independent_of_order(make_record):
    made = records(make_record)
    first, second = (json.loads(results_bytes(run_report(each)))["statistics"] for each in (made, made[::-1]))

    assert first == second
    niah, qa = first
    assert (niah["task"], qa["task"]) == ("niah", "qa")
    assert (niah["depth_effect"]["label"], qa["depth_effect"]["label"]) == ("lost in the middle", "undetermined")
    assert niah["depth_effect"]["extremes"]["worst"] == [50.0, 50.0]
    absolute, relative = niah["effective_length"]
    assert (absolute["rule"], absolute["conservative"], absolute["optimistic"]) == ("absolute", None, 1000)
    assert (relative["rule"], relative["base"]) == ("relative", 1.0)
    assert qa["effective_length"] == []
