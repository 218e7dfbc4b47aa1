"""A run that is started again goes on; other options do not mix in."""

import json
import os
from datetime import UTC, datetime

import pytest


def test_a_named_run_goes_on_where_it_stopped_and_tries_errors_again(project):
    project.run("-k", "depth50")
    assert len(project.journal()) == 2
    project.run()
    assert len(project.journal()) == len(project.records()) == 6, "the two answered cells are not asked again"

    path = project.runs / "r" / "journal.jsonl"
    path.write_text(path.read_text().replace('"outcome":"found"', '"outcome":"error"', 2))
    project.run()
    assert len(project.journal()) == 8


@pytest.mark.parametrize(
    ("options", "lines", "field", "value"),
    [
        (("--fresh", "-k", "depth50"), 2, "depth", 50),
        (("--seed=7", "-k", "depth50"), 8, "seed", 7),  # the files hold one recipe, the journal all
        (("--scorer=exact_match",), 6, "scorer", "exact_match"),  # of the stored answers
    ],
)
def test_other_options_do_not_mix_in(project, options, lines, field, value):
    project.run()
    project.run(*options)

    assert len(project.journal()) == lines
    assert {record[field] for record in project.records()} == {value}


def test_the_time_that_is_told_is_of_the_last_session_that_asked(project):
    project.run("-k", "depth50")
    path = project.runs / "r" / "journal.jsonl"
    at = datetime(2026, 1, 2, 3, 4, tzinfo=UTC).astimezone()
    os.utime(path, (at.timestamp(), at.timestamp()))
    told = f"journal, written {at.replace(tzinfo=None).isoformat(' ', timespec='minutes')}; "

    assert f"{told}none was asked now" in project.run("-k", "depth50").stdout.str()
    with path.open("a") as file:
        file.write('{"key": "half of a killed run')
    os.utime(path, (at.timestamp(), at.timestamp()))
    assert f"{told}4 were asked now" in project.run().stdout.str()


def test_a_damaged_journal_is_told_once_with_its_lines(project):
    project.run()
    path = project.runs / "r" / "journal.jsonl"
    first, second, *rest = path.read_text().splitlines(keepends=True)
    path.write_text("".join([first[:99] + "\n", second.replace('"', "?"), *rest]) + '{"key": "half of a killed run')

    told = project.run().stdout.str()
    line = "2 lines of journal.jsonl could not be read (damaged): trials that stood only there are asked again"
    assert told.count(line) == 1
    assert "4 of 6 answers are from this run's journal" in told
    assert line in json.loads(project.file("summary.json"))["notes"]
    assert "could not be read" not in project.run("--fresh").stdout.str()


def test_a_name_that_has_a_run_of_another_model_is_told_before_anything_is_asked(project):
    told = "needlework: r has a run of mock:perfect: this one replaces its files"
    assert told not in project.run().stdout.str()
    assert told in project.run("--lengths=400", model="mock:wrong").stdout.str()
