"""The journal keeps every line, whatever happens to the process; one process writes it."""

import errno
import fcntl
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


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.jsonl"


def write(path, *records, fresh=False):
    journal = Journal(path, fresh=fresh)
    for each in records:
        journal.append(line_of(each))
    journal.close()
    return journal


def test_opening_a_journal_changes_nothing_and_fresh_begins_anew(path):
    journal = write(path, record(1))
    os.utime(path, (1_000_000, 1_000_000))
    write(path)
    assert (path.stat().st_mtime, journal.warning, [*path.parent.iterdir()]) == (1_000_000, "", [path])

    write(path, record(2), fresh=True)
    assert read_journal(path) == [record(2)]


@given(cut=st.integers(1, 60), text=st.text(max_size=30))
def test_a_torn_last_line_costs_that_line_alone(tmp_path_factory, cut, text):
    path = tmp_path_factory.mktemp("j") / "journal.jsonl"
    write(path, record(1, text), record(2, text))
    data = path.read_bytes()
    path.write_bytes(data[: -min(cut, len(data.splitlines()[1]))])

    assert read_journal(path) == [record(1, text)]
    write(path, record(3))
    assert read_journal(path) == [record(1, text), record(3)]


@pytest.mark.parametrize("size", [1, 65_536, 200_000])
def test_a_file_without_a_single_whole_line_is_emptied(path, size):
    path.write_text('{"key": "half' + "f" * size)
    write(path, record(1))

    assert read_journal(path) == [record(1)]


def test_a_full_disk_is_one_line_and_leaves_whole_lines(path):
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


def test_a_damaged_line_costs_that_line_alone_and_is_counted(path):
    assert read_and_count(path) == ([], 0)
    write(path, record(1))
    with path.open("ab") as file:
        file.write(b'null\n[1, 2]\n\xff\n\n{"key": "k9", "outcome": "found"}\n' + b"[" * 100_000 + b"\n\0\0\0\n")
        file.write(json.dumps(to_builtins(record(8)) | {"details": []}).encode() + b"\n")
        file.write(line_of(record(2)).encode() + b'\n{"key": "half of a killed run')

    assert read_and_count(path) == ([record(1), record(2)], 7), "an empty line and the torn one are no damage"


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="--results-dir"):
        Journal(tmp_path / "file" / "run" / "journal.jsonl", fresh=False)


@pytest.mark.parametrize("number", [errno.EWOULDBLOCK, errno.EACCES, errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_lock_that_is_held_is_refused_and_a_file_system_without_locks_is_a_warning(path, monkeypatch, number):
    def flock(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", flock)
    if number in (errno.EWOULDBLOCK, errno.EACCES):
        with pytest.raises(InputError, match="another run is writing there"):
            Journal(path, fresh=False)
        return
    journal = Journal(path, fresh=False)
    journal.append("{}")
    journal.replace(b"{}\n{}\n")
    journal.append("{}")
    journal.close()

    assert f"the file system has no locks ({os.strerror(number)})" in journal.warning
    assert path.read_text() == "{}\n{}\n{}\n"
