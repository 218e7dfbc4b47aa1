"""How far a run is, from the files that its processes are writing."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from needlework.core.devices import Division, Shard
from needlework.results.merge.status import clock, main, progress_of_run, time_left
from needlework.results.records.journal import line_of
from needlework.results.records.run_folder import write_shard_file
from tests.results.changed import changed

BEGUN = 1_700_000_000.0


def name_of(length: int, repeat: int) -> str:
    return f"t.py::test[niah-len{length}-depth50-code-r{repeat}]"


def write(folder: Path, records, *, ended: bool = False, before: int = 0, planned: int = 4, at: float = 60) -> None:
    """A run's folder that began at `BEGUN` with `before` records, and has written last `at` seconds later."""
    folder.mkdir(parents=True, exist_ok=True)
    started = datetime.fromtimestamp(BEGUN, UTC).isoformat()
    manifest = {"started": started, "ended": started if ended else None, "planned": planned, "recorded": before}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (folder / "journal.jsonl").write_text("".join(f"{line_of(record)}\n" for record in records))
    for path in folder.iterdir():
        os.utime(path, (BEGUN + at, BEGUN + at))


@pytest.fixture
def record(make_record):
    def of(repeat=0, length=1000, outcome="found"):
        cell = name_of(length, repeat)
        return make_record(
            id=cell[11:-1], nodeid=cell, repeat=repeat, length=length, outcome=outcome, key=f"k{length} {repeat}"
        )

    return of


def only(run: Path, seconds: float = 70):
    (found,) = progress_of_run(run, BEGUN + seconds)
    return found


def test_a_run_that_writes_has_a_rate_and_a_time_left(tmp_path, record):
    write(tmp_path / "r", [record(0), record(1), record(2)], before=1)
    found = only(tmp_path / "r")

    assert (found.state, found.done, found.expected, found.errors) == ("writing", 3, 4, 0)
    assert found.per_minute == pytest.approx(2), "one of the three is of an earlier session"
    assert found.left_s == pytest.approx(30)
    assert found.quiet_s == pytest.approx(10)


def test_a_run_that_goes_on_is_timed_from_the_session_that_writes(tmp_path, record):
    write(tmp_path / "r", [record(), record(1)], before=1)
    path = tmp_path / "r" / "manifest.json"
    told = json.loads(path.read_text())
    sign = path.stat().st_mtime
    path.write_text(json.dumps({**told, "started": "2001-01-01T00:00:00+00:00", "session_started": told["started"]}))
    os.utime(path, (sign, sign))

    assert only(tmp_path / "r").per_minute == pytest.approx(1)


def test_what_is_left_is_told_by_tokens(tmp_path, record):
    run, cells = tmp_path / "r", [(1000, 0), (1000, 1), (1000, 2), (9000, 0)]
    write(run / "shards/1-of-1", [record(repeat, length) for length, repeat in cells[:3]])
    division = Division(Shard(1, 1), (4,), "all")
    write_shard_file(run / "shards/1-of-1", division, [name_of(length, repeat) for length, repeat in cells])

    assert only(run).left_s == pytest.approx(180)


def test_answers_that_wait_for_their_test_are_done(tmp_path, record):
    write(tmp_path / "r", [record(0)])
    lines = [changed(record(0), key=f"k1000 {repeat}", outcome="unscored", score=None) for repeat in (0, 1)]
    (tmp_path / "r/answers-1.jsonl").write_text("".join(f"{line_of(line)}\n" for line in lines))

    assert only(tmp_path / "r").done == 2


def test_failures_are_counted_and_done(tmp_path, record):
    write(tmp_path / "r", [record(0), record(1, outcome="error"), record(1), record(2, outcome="error")])

    assert (only(tmp_path / "r").done, only(tmp_path / "r").errors) == (3, 1)


def test_a_run_that_ended_is_whole_or_interrupted(tmp_path, record):
    write(tmp_path / "whole", [record(repeat) for repeat in range(4)], ended=True)
    write(tmp_path / "half", [record(0)], ended=True)

    assert (only(tmp_path / "whole").state, only(tmp_path / "whole").left_s) == ("ended", 0)
    assert (only(tmp_path / "half").state, only(tmp_path / "half").left_s) == ("interrupted", None)


def test_shards_without_a_folder_are_told(tmp_path, record, capsys):
    run = tmp_path / "r"
    write(run / "shards/2-of-3", [record(0), record(1)], ended=True, planned=2)
    write_shard_file(
        run / "shards/2-of-3", Division(Shard(2, 3), (2, 2, 0), "all"), [name_of(1000, 0), name_of(1000, 1)]
    )
    found = progress_of_run(run, BEGUN)

    assert [(each.name, each.state) for each in found] == [
        ("shards/2-of-3", "ended"), ("shards/1-of-3", "not begun"),
    ]  # fmt: skip
    assert time_left(found) is None
    assert main([str(run)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "part           done            errors  a minute  left  state",
        "shards/2-of-3  2 of 2 (100 %)  0                       ended",
        "shards/1-of-3  0 of 2 (0 %)    0                       not begun",
        "all            2 of 4 (50 %)   0",
    ]


def test_a_part_that_is_silent_for_long_may_be_dead(tmp_path, record, capsys):
    write(tmp_path / "r", [record(0)])
    main([str(tmp_path / "r")])

    assert "killed? the same command goes on" in capsys.readouterr().out


def test_json_has_the_parts_and_their_sum(tmp_path, record, capsys):
    write(tmp_path / "r", [record(0)])
    assert main([str(tmp_path / "r"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)

    assert (told["done"], told["expected"], told["parts"][0]["name"]) == (1, 4, "r")


def test_a_folder_that_is_no_run_is_one_line(tmp_path, capsys):
    assert main([str(tmp_path)]) == 2
    assert "has no journal.jsonl and no shards" in capsys.readouterr().err


def test_times_are_short() -> None:
    assert [clock(seconds) for seconds in (None, 9, 309, 3909)] == ["", "0:09", "5:09", "1:05:09"]
