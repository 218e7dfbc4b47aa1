"""The statistics of a whole run, in lines and as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable

from needlework.core.record import Record
from needlework.results.report.section import section_lines
from needlework.results.report.tasks import panel_findings, panel_sections
from needlework.results.statistics.panels import asked_of
from needlework.results.statistics.tasks import run_statistics, statistics_object

Make = Callable[..., Record]


def records(make_record: Make) -> list[Record]:
    """Twelve repeats that fail in the middle of the longer length; one error; a second panel without depths."""
    made = [
        make_record(length=length, depth=depth, repeat=i, outcome="wrong" if length > 1000 and depth == 50 else "found")
        for length in (1000, 8000)
        for depth in (0.0, 50.0, 100.0)
        for i in range(12)
    ]
    made.append(make_record(length=16000, depth=0.0, repeat=0, outcome="error"))
    return [*made, *(make_record(task="qa", depth=None, repeat=i) for i in range(3))]


def test_lines_of_every_panel(make_record: Make) -> None:
    lines = section_lines(panel_sections(run_statistics(asked_of(records(make_record)), threshold=0.7)))
    start = "  effective length (score >= 70.0 %):"

    assert lines[:2] == [
        "mock · niah · code",
        f"{start} undetermined at 8k, 95 % interval 1k to 8k or more, by the scores alone 1k",
    ]
    assert lines[2].startswith("  effective length (score >= 85.0 %, 85 % of the base at 1k): 1k in the 12 samples")
    assert lines[3:5] == [
        "  trend: area 83.3 %, 33.3 % below the base at the longest length, half-life not reached",
        "  depth effect: lost in the middle (12 samples, 1 left out), p <0.001",
    ]
    assert lines[5] == "    best and worst depth: 0 % (100) and 50 % (50), p (Holm) <0.001"
    assert lines[6:] == ["", "mock · qa · code"], "one length has no effective length"


def test_every_row_says_what_its_words_mean(make_record: Make) -> None:
    for panel in run_statistics(asked_of(records(make_record))):
        for row in panel_findings(panel):
            assert row.meaning.endswith(".")


def test_the_object_is_json_and_independent_of_order(make_record: Make) -> None:
    made = records(make_record)
    text = json.dumps(statistics_object(run_statistics(asked_of(made))), allow_nan=False)

    assert text == json.dumps(statistics_object(run_statistics(asked_of(made[::-1]))), allow_nan=False)
    first, second = json.loads(text)
    assert (first["task"], second["task"]) == ("niah", "qa")
    assert first["depth_effect"]["label"] == "lost in the middle"
    assert first["depth_effect"]["extremes"]["worst"] == [50.0, 50.0]
    assert [rule["rule"] for rule in first["effective_length"]] == ["absolute", "relative"]
    assert (first["effective_length"][0]["conservative"], first["effective_length"][0]["optimistic"]) == (None, 1000)
    assert first["effective_length"][1]["base"] == 1.0
    assert second["depth_effect"]["label"] == "undetermined"
    assert second["effective_length"] == []


def test_a_run_without_records_has_none() -> None:
    assert run_statistics(asked_of([])) == ()
    assert panel_sections(()) == []
