"""How far a run is, from the files that its processes are writing."""

import json
import os
from datetime import UTC, datetime

import pytest

from needlework.core.devices import Division, Shard
from needlework.results.merge.status import main, progress_of_run, time_left
from needlework.results.records.journal import line_of
from needlework.results.records.run_folder import write_shard_file
from needlework.results.style import clock
from tests.results.changed import changed

BEGUN = 1_700_000_000.0


def name_of(length, repeat):
    return f"t.py::test[niah-len{length}-depth50-code-r{repeat}]"


def write(folder, records, *, ended=False, before=0, planned=4, **more):
    """A run's folder that began at `BEGUN` with `before` records, and has written last 60 seconds later."""
    folder.mkdir(parents=True, exist_ok=True)
    started = datetime.fromtimestamp(BEGUN, UTC).isoformat()
    manifest = {"started": started, "ended": started if ended else None, "planned": planned, "recorded": before}
    if "started" in more:
        manifest |= {"session_started": started, **more}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (folder / "journal.jsonl").write_text("".join(f"{line_of(record)}\n" for record in records))
    for path in folder.iterdir():
        os.utime(path, (BEGUN + 60, BEGUN + 60))
    return folder


@pytest.fixture
def record(make_record):
    def of(repeat=0, length=1000, outcome="found"):
        cell = name_of(length, repeat)
        return make_record(
            id=cell[11:-1], nodeid=cell, repeat=repeat, length=length, outcome=outcome, key=f"k{length} {repeat}"
        )

    return of


def only(run):
    (found,) = progress_of_run(run, BEGUN + 70)
    return found


@pytest.mark.parametrize("more", [{}, {"started": "2001-01-01T00:00:00+00:00"}], ids=["first session", "resumed"])
def test_a_run_that_writes_has_a_rate_and_a_time_left(tmp_path, record, more):
    part = only(write(tmp_path / "r", [record(0), record(1), record(2)], before=1, **more))

    assert (part.name, part.state, part.done, part.expected, part.errors) == ("r", "writing", 3, 4, 0)
    assert part.per_minute == pytest.approx(2), "one of the three is of an earlier session"
    assert (part.left_s, part.quiet_s) == (pytest.approx(30), pytest.approx(10))


def test_the_time_left_is_estimated_by_tokens(tmp_path, record):
    run, cells = tmp_path / "r", [(1000, 0), (1000, 1), (1000, 2), (9000, 0)]
    write(run / "shards/1-of-1", [record(repeat, length) for length, repeat in cells[:3]])
    names = [name_of(length, repeat) for length, repeat in cells]
    write_shard_file(run / "shards/1-of-1", Division(Shard(1, 1), (4,), "all"), names)

    assert only(run).left_s == pytest.approx(180)


def test_failures_and_answers_that_wait_for_their_test_are_done(tmp_path, record):
    run = write(tmp_path / "r", [record(0), record(1, outcome="error"), record(1), record(2, outcome="error")])
    lines = [changed(record(0), key=f"k1000 {repeat}", outcome="unscored", score=None) for repeat in (0, 3)]
    (run / "answers-1.jsonl").write_text("".join(f"{line_of(line)}\n" for line in lines))

    assert (only(run).done, only(run).errors) == (4, 1)


@pytest.mark.parametrize(("records", "state", "left"), [(4, "ended", 0), (1, "interrupted", None)])
def test_a_run_that_ended_is_whole_or_interrupted(tmp_path, record, records, state, left):
    part = only(write(tmp_path / "r", [record(repeat) for repeat in range(records)], ended=True))

    assert (part.state, part.left_s) == (state, left)


def test_shards_without_a_folder_have_a_line(tmp_path, record, capsys):
    shard = write(tmp_path / "r/shards/2-of-3", [record(0), record(1)], ended=True, planned=2)
    write_shard_file(shard, Division(Shard(2, 3), (2, 2, 0), "all"), [name_of(1000, 0), name_of(1000, 1)])

    assert time_left(progress_of_run(tmp_path / "r", BEGUN)) is None
    assert main([str(tmp_path / "r")]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "part           done            errors  a minute  left  state",
        "shards/2-of-3  2 of 2 (100 %)  0                       ended",
        "shards/1-of-3  0 of 2 (0 %)    0                       not begun",
        "all            2 of 4 (50 %)   0",
    ]


def test_the_command_prints_lines_or_json_and_refuses_other_folders(tmp_path, record, capsys):
    run = str(write(tmp_path / "r", [record(0)]))
    assert main([run]) == 0
    assert "killed? the same command goes on" in capsys.readouterr().out, "silent for long"
    assert main([run, "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert (content["done"], content["expected"], content["parts"][0]["name"]) == (1, 4, "r")
    assert main([str(tmp_path)]) == 2
    assert "has no journal.jsonl and no shards" in capsys.readouterr().err


def test_times_are_short():
    assert [clock(seconds) for seconds in (None, 9, 309, 3909)] == ["", "0:09", "5:09", "1:05:09"]
