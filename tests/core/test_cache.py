"""The cache gives back what was put there or nothing, and processes that need the same thing make it once."""

import errno
import fcntl
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.core import files
from needlework.core.files import (
    drop_halves,
    folder_of_run,
    learnt_once,
    locked,
    read_cached,
    write_cached,
    write_whole,
)


@given(content=st.binary(), more=st.binary(), cut=st.integers(0), flip=st.integers(0))
def test_content_comes_back_whole_or_not_at_all(tmp_path_factory, content, more, cut, flip):
    file = tmp_path_factory.mktemp("cache") / "new folder" / "file"
    assert read_cached(file) is None
    write_cached(file, more)
    write_cached(file, content)
    assert read_cached(file) == content
    whole = file.read_bytes()
    file.write_bytes(whole[: cut % len(whole)])
    assert read_cached(file) is None
    place = flip % len(whole)
    file.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
    assert read_cached(file) is None


def test_what_cannot_be_kept_costs_nothing_and_leaves_nothing(tmp_path):
    (tmp_path / "target").mkdir()  # a folder cannot be replaced by a file
    write_cached(tmp_path / "target", b"content")
    (tmp_path / "file").write_text("in the way")
    write_cached(tmp_path / "file" / "below", b"content")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "target"]


def test_a_write_that_fails_leaves_the_old_file_and_no_half(tmp_path, monkeypatch):
    write_whole(tmp_path / "report", b"old")
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError("no space left")))
    with pytest.raises(OSError, match="no space left"):
        write_whole(tmp_path / "report", b"new")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("report", b"old")]


def test_halves_of_killed_runs_are_dropped(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path(".0123456789abcdef.tmp").write_bytes(b"half")
    write_whole("report", b"whole")
    drop_halves(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["report"]


def test_facts_are_learnt_once_and_again_when_they_were_not_worth_keeping(tmp_path):
    file = tmp_path / "run" / "window"
    asked = [({"tokens": None}, False), ({"tokens": 4096}, True)]
    assert learnt_once(file, lambda: asked.pop(0)) == {"tokens": None}
    assert learnt_once(file, lambda: asked.pop(0)) == {"tokens": 4096}
    assert learnt_once(file, lambda: asked.pop(0)) == {"tokens": 4096}


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP])
def test_where_there_are_no_locks_nobody_waits(tmp_path, monkeypatch, number):
    def flock(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", flock)
    with locked(tmp_path / "a.lock"), locked(tmp_path / "a.lock"):
        pass


def test_a_lock_goes_when_its_holder_is_killed(tmp_path):
    code = (
        "import sys, time; from pathlib import Path; from needlework.core.files import locked\n"
        "with locked(Path(sys.argv[1])): print('held', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code, tmp_path / "a.lock"], stdout=subprocess.PIPE) as holder:
        holder.stdout.readline()
        holder.kill()
    with locked(tmp_path / "a.lock"):
        pass


def test_what_runs_of_earlier_days_left_is_dropped(tmp_path):
    old, young = folder_of_run(tmp_path, "old"), folder_of_run(tmp_path, "young")
    for folder in (old, young):
        write_cached(folder / "window", b"{}")
    day = time.time() - files._RUN_S - 1
    os.utime(old, (day, day))
    assert folder_of_run(tmp_path, "young") == young
    assert list(tmp_path.iterdir()) == [young]
