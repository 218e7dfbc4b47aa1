"""The statistics of a whole run, in lines and as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable

from results.records import Record
from results.statistics.summary_rows import run_statistics, statistics_lines, statistics_object

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
    lines = statistics_lines(run_statistics(records(make_record), threshold=0.7))

    assert lines[0] == "mock · niah · code"
    assert lines[1].startswith("  depth effect: lost in the middle · ends - middle +50.0 (")
    assert lines[1].endswith("24 samples, 1 incomplete")
    assert (
        lines[2]
        == "  effective length: score >= 70.0 %: undetermined at 8k, point 1k, conservative 1k, longest passing 1k"
    )
    assert lines[3].startswith("  effective length, relative to the base: score >= 85.0 %: ")
    assert lines[4] == (
        "  trend: area over log2(length) 83.3 %, 33.3 % below the base at the end, half-life beyond the lengths tested"
    )
    assert lines[5:] == [
        "mock · qa · code",
        "  effective length: score >= 70.0 %: undetermined at 1k, point 1k, conservative none, longest passing 1k",
        "  effective length, relative to the base: score >= 85.0 %: >= 1k (longest tested)",
    ]


def test_the_object_is_json_and_independent_of_order(make_record: Make) -> None:
    made = records(make_record)
    text = json.dumps(statistics_object(run_statistics(made)), allow_nan=False)

    assert text == json.dumps(statistics_object(run_statistics(made[::-1])), allow_nan=False)
    first, second = json.loads(text)
    assert (first["task"], second["task"]) == ("niah", "qa")
    assert first["depth_effect"]["label"] == "lost in the middle"
    assert first["depth_effect"]["ends_middle"]["mean"] == 0.5
    assert [rule["rule"] for rule in first["effective_length"]] == ["absolute", "relative"]
    assert [each["length"] for each in first["effective_length"][0]["chances_to_pass"]] == [1000, 8000]
    assert second["depth_effect"]["label"] == "undetermined"


def test_a_run_without_records_has_none() -> None:
    assert run_statistics([]) == ()
    assert statistics_lines(()) == []
