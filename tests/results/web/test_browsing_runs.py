"""A run's records as they are now, while it goes on and after it has ended."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from needlework.haystack_fixtures.errors import InputError
from needlework.results.files.json_file import write_json
from needlework.results.records import journal
from needlework.results.records.journal import line_of
from needlework.results.records.record import Record
from needlework.results.statistics.run_report import run_report
from needlework.results.web.browsing.runs import OpenRun
from tests.results.web.browsing_runs import record, write_journal


def append(folder: Path, *lines: str) -> None:
    with (folder / "journal.jsonl").open("a", encoding="ascii") as file:
        file.writelines(lines)


def ids(run: OpenRun) -> list[str]:
    return [row.key.rpartition("-")[2] for row in run.reading().rows]


def test_a_run_that_goes_on_is_shown_as_far_as_its_journal_is(tmp_path: Path) -> None:
    run = OpenRun(write_journal(tmp_path / "r", [record(0)]))
    assert (ids(run), run.reading().ended) == (["r0"], False)

    half = f"{line_of(record(2))}\n"
    append(tmp_path / "r", f"{line_of(record(1))}\n", half[:50])
    assert ids(run) == ["r0", "r1"]
    append(tmp_path / "r", half[50:])
    assert ids(run) == ["r0", "r1", "r2"]


def test_each_line_is_parsed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    parse = journal._decode
    monkeypatch.setattr(journal, "_decode", lambda line: seen.append(line) or parse(line))
    run = OpenRun(write_journal(tmp_path / "r", map(record, range(5))))
    run.reading()
    run.reading()
    before = len(seen)
    append(tmp_path / "r", f"{line_of(record(9))}\n")

    assert len(run.reading().rows) == 6
    assert before == 5
    assert len(seen) == 6


def test_the_last_record_of_a_trial_counts_and_other_recipes_are_other_runs(tmp_path: Path) -> None:
    other: Record = record(3, details={"flags": [], "recipe": "b"})
    again = record(0, outcome="wrong", score=0.0)
    run = OpenRun(write_journal(tmp_path / "r", [other, record(0), record(1), again]))

    assert [(row.outcome, row.record["repeat"]) for row in run.reading().rows] == [("wrong", 0), ("found", 1)]


def test_a_run_that_begins_afresh_is_read_afresh(tmp_path: Path) -> None:
    run = OpenRun(write_journal(tmp_path / "r", [record(0), record(1)]))
    assert ids(run) == ["r0", "r1"]
    write_journal(tmp_path / "r", [record(n) for n in range(5, 9)])

    assert ids(run) == ["r5", "r6", "r7", "r8"]


def test_results_count_once_the_run_has_ended(tmp_path: Path) -> None:
    folder = write_journal(tmp_path / "r", [record(0)], ended="2030-01-01T00:00:00+00:00")
    write_json(folder / "results.json", run_report([record(0), record(1)]))
    run = OpenRun(folder)
    assert (len(run.reading().rows), run.reading().ended) == (2, True)

    write_journal(folder, [record(0), record(1), record(2)])  # resumed
    assert (len(run.reading().rows), run.reading().ended) == (3, False)


def test_results_alone_are_a_run(tmp_path: Path) -> None:
    write_json(tmp_path / "results.json", run_report([record(0)]))
    assert OpenRun(tmp_path).reading().ended


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text("[]")
    with pytest.raises(InputError, match=r"results file.*list of records"):
        OpenRun(tmp_path).reading()


def test_every_row_has_a_name_of_its_own(tmp_path: Path) -> None:
    write_json(
        tmp_path / "results.json",
        run_report(
            [record(0), record(0, model="other"), record(0, model="third", id=""), record(0, model="x", id="\ud800")]
        ),
    )
    rows = OpenRun(tmp_path).reading().rows

    assert [row.key for row in rows] == ["niah-len2000-depth50-code-r0", "#1", "#2", "#3"]


def test_the_trial_beside_is_that_of_the_same_model_if_there_is_one(tmp_path: Path) -> None:
    folder = tmp_path / "b"
    folder.mkdir()
    write_json(
        folder / "results.json", run_report([record(0, model="one", id="x-one"), record(0, model="two", id="x-two")])
    )
    reading = OpenRun(folder).reading()
    by_model = {row.same["model"]: row for row in reading.rows}
    alone = OpenRun(write_journal(tmp_path / "c", [record(0), record(7)])).reading()

    assert reading.beside(by_model["two"]) is by_model["two"]
    assert reading.beside(alone.rows[0]) is by_model["one"]
    assert reading.beside(alone.rows[1]) is None


def test_a_run_is_read_before_somebody_asks_and_what_is_wrong_is_told_to_who_does(tmp_path: Path) -> None:
    run = OpenRun(write_journal(tmp_path / "r", [record(0)]))
    run.warm()
    assert gc.isenabled()
    found = run.reading()
    assert found.parts is found.parts
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "results.json").write_text("[", encoding="ascii")
    broken = OpenRun(tmp_path / "s")
    broken.warm()
    assert gc.isenabled()
    with pytest.raises(InputError):
        broken.reading()
