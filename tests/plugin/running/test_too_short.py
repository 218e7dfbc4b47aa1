"""Lengths that some tasks of a run cannot be asked at: what fits is run, and what does not is named."""

import json

import pytest

# Of these tasks, icl needs some hundred tokens for its shortest list; niah fits.
SHORT = ("--task=niah,icl", "--preset=families", "--lengths=150,600", "--language=en", "--depths=50")


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_what_fits_is_run_and_the_rest_is_named_in_terminal_and_files(project, workers):
    project.asks("niah", "icl")
    result = project.run(*SHORT, workers)

    assert result.ret == 0
    assert {(record["task"], record["length"]) for record in project.records()} == {
        ("niah", 150),
        ("niah", 600),
        ("icl", 600),
    }
    told = [line for line in result.outlines if "left out, too short: icl at 150 (from " in line]
    assert told
    assert any("left out, too short: icl at 150" in note for note in json.loads(project.file("results.json"))["notes"])
    assert "left out, too short: icl at 150" in project.file("report.html")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--lengths=60,600",), "'60': too short for niah: use at least *, or other tasks (--task)"),
        (
            ("--task=icl,copy", "--preset=families", "--lengths=100"),
            "'100': too short for *icl*: use at least * (*icl at 100 (from *",
        ),
    ],
)
def test_where_nothing_fits_all_tasks_are_named_with_the_least_length_at_once(project, options, said):
    project.asks("niah", "icl", "copy")
    result = project.run(*options)

    assert result.ret == 4
    result.stderr.fnmatch_lines([f"ERROR: --lengths: {said}"])
