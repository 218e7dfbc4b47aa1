"""The journal keeps what was written, whatever happens to the process."""

import json
import os
from io import FileIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import to_builtins

from needlework.core.errors import InputError
from needlework.core.record import record_of
from needlework.results.records.journal import Journal, line_of, read_and_count, read_journal


def record(n, text=""):
    cell = {"model": "mock", "task": "niah", "needle": "code", "length": 400, "depth": 50.0, "repeat": n, "score": 1.0}
    return record_of({"key": f"k{n}", "outcome": "found", "id": str(n), "response": {"text": text}, **cell})


def written(path, records, fresh=False):
    journal = Journal(path, fresh=fresh)
    for each in records:
        journal.append(line_of(each))
    journal.close()


def test_fresh_begins_anew(tmp_path):
    path = tmp_path / "journal.jsonl"
    written(path, [record(1)])
    written(path, [record(2)], fresh=True)

    assert read_journal(path) == [record(2)]


@given(cut=st.integers(1, 60), text=st.text(max_size=30))
def test_a_torn_last_line_costs_that_line_alone(tmp_path_factory, cut, text):
    path = tmp_path_factory.mktemp("j") / "journal.jsonl"
    written(path, [record(1, text), record(2, text)])
    data = path.read_bytes()
    path.write_bytes(data[: -min(cut, len(data.splitlines()[1]))])

    assert read_journal(path) == [record(1, text)]
    written(path, [record(3)])
    assert read_journal(path) == [record(1, text), record(3)]


def test_opening_a_whole_journal_does_not_touch_it(tmp_path):
    path = tmp_path / "journal.jsonl"
    written(path, [record(1)])
    os.utime(path, (1_000_000, 1_000_000))
    written(path, [])

    assert path.stat().st_mtime == 1_000_000


def test_a_file_without_a_single_whole_line_is_emptied(tmp_path):
    path = tmp_path / "journal.jsonl"
    path.write_text('{"key": "half')
    written(path, [record(1)])

    assert read_journal(path) == [record(1)]


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="--results-dir"):
        Journal(tmp_path / "file" / "run" / "journal.jsonl", fresh=False)


def test_a_full_disk_is_one_line_and_leaves_whole_lines(tmp_path):
    path = tmp_path / "journal.jsonl"
    journal = Journal(path, fresh=False)
    journal.append(line_of(record(1)))
    # /dev/full takes the open and refuses the write, as a full disk does.
    whole, journal._file = journal._file, FileIO("/dev/full", "r+")
    with pytest.raises(InputError, match="free space"):
        journal.append(line_of(record(2)))
    journal._file.close()
    journal._file = whole
    journal.append(line_of(record(3)))
    journal.close()

    assert [json.loads(line)["key"] for line in path.read_text().splitlines()] == ["k1", "k3"]


def test_a_spoilt_line_costs_that_line_alone(tmp_path):
    path = tmp_path / "journal.jsonl"
    written(path, [record(1)])
    with path.open("ab") as file:
        file.write(b'\0\0\0\n[1, 2]\n{"key": "k9", "outcome": "found"}\n' + b"[" * 100_000 + b"\n\xff\xfe\n")
        file.write(json.dumps(to_builtins(record(8)) | {"details": []}).encode() + b"\n")
    written(path, [record(2)])

    assert read_journal(path) == [record(1), record(2)]


def test_lines_that_are_no_records_are_counted(tmp_path):
    path = tmp_path / "journal.jsonl"
    written(path, [record(1), record(2)])
    assert read_and_count(path) == ([record(1), record(2)], 0)

    path.write_bytes(b'null\n[1, 2]\n\xff\n\n{"key": "k9"}\n' + path.read_bytes() + b'{"key": "half of a killed run')
    assert read_and_count(path) == ([record(1), record(2)], 4), "an empty line and the torn one are no damage"
    assert read_and_count(tmp_path / "nothing.jsonl") == ([], 0)
