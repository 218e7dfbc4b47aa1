"""The statistics of a whole run, in lines and as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable

from needlework.core.record import Record
from needlework.results.files.json_files import json_text
from needlework.results.report.section import section_lines
from needlework.results.report.tasks import panel_sections
from needlework.results.statistics.panels import asked_of
from needlework.results.statistics.run_report import run_report
from needlework.results.statistics.tasks import run_statistics


def records(make_record: Callable[..., Record]) -> list[Record]:
    """Twelve repeats that fail in the middle of the longer length; one error; a second panel without depths."""
    made = [
        make_record(length=length, depth=depth, repeat=i, outcome="wrong" if length > 1000 and depth == 50 else "found")
        for length in (1000, 8000)
        for depth in (0.0, 50.0, 100.0)
        for i in range(12)
    ]
    made.append(make_record(length=16000, depth=0.0, repeat=0, outcome="error"))
    return [*made, *(make_record(task="qa", depth=None, repeat=i) for i in range(3))]


def test_lines_of_every_panel(make_record: Callable[..., Record]) -> None:
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


def test_the_object_is_json_and_independent_of_order(make_record: Callable[..., Record]) -> None:
    made = records(make_record)
    first, second = (json.loads(json_text(run_report(each)))["statistics"] for each in (made, made[::-1]))

    assert first == second
    niah, qa = first
    assert (niah["task"], qa["task"]) == ("niah", "qa")
    assert (niah["depth_effect"]["label"], qa["depth_effect"]["label"]) == ("lost in the middle", "undetermined")
    assert niah["depth_effect"]["extremes"]["worst"] == [50.0, 50.0]
    absolute, relative = niah["effective_length"]
    assert (absolute["rule"], absolute["conservative"], absolute["optimistic"]) == ("absolute", None, 1000)
    assert (relative["rule"], relative["base"]) == ("relative", 1.0)
    assert qa["effective_length"] == []
