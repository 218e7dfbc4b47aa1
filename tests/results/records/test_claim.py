"""One process writes a journal, also where the file system has no locks. Real processes; `flock` alone is planted."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from needlework.core.errors import InputError
from needlework.results.records import run_folder
from needlework.results.records.journal import Journal

_HOLDER = """
import errno, fcntl, os, sys
from pathlib import Path
from needlework.core.errors import InputError
from needlework.results.records import run_folder as claim
from needlework.results.records.journal import Journal

def flock(file, how):
    raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

fcntl.flock, claim.LEASE_S = flock, 1.0
journal = Journal(Path(sys.argv[1]), fresh=False)
print("held", flush=True)
for line in sys.stdin:
    try:
        journal.append(line.strip())
        print("written", flush=True)
    except InputError as error:
        print(error, flush=True)
journal.close()
"""


@pytest.fixture
def no_flock(monkeypatch: pytest.MonkeyPatch) -> None:
    refuse(monkeypatch, errno.ENOSYS)
    monkeypatch.setattr(run_folder, "LEASE_S", 1.0)


def refuse(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def flock(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", flock)


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that writes the journal, and appends what it is told."""
    with subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(tmp_path / "journal.jsonl")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


def say(holder: subprocess.Popen[str], line: str) -> str:
    assert holder.stdin is not None
    assert holder.stdout is not None
    holder.stdin.write(f"{line}\n")
    holder.stdin.flush()
    return holder.stdout.readline()


@pytest.mark.parametrize("number", [errno.EWOULDBLOCK, errno.EACCES])
def test_a_lock_that_is_held_means_another_run(tmp_path, monkeypatch, number):
    refuse(monkeypatch, number)

    with pytest.raises(InputError, match="another run is writing there"):
        Journal(tmp_path / "journal.jsonl", fresh=False)


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP])
def test_without_locks_an_owner_file_stands_for_one(tmp_path, monkeypatch, number):
    refuse(monkeypatch, number)
    journal = Journal(tmp_path / "journal.jsonl", fresh=False)
    owner = (tmp_path / "journal.jsonl.owner").read_text()

    assert str(os.getpid()) in owner
    assert os.uname().nodename in owner
    assert f"the file system has no locks ({os.strerror(number)})" in journal.warning
    journal.append("{}")
    journal.replace(b"{}\n{}\n")
    journal.append("{}")
    journal.close()
    assert (tmp_path / "journal.jsonl").read_text() == "{}\n{}\n{}\n"
    assert not (tmp_path / "journal.jsonl.owner").exists()


def test_where_there_are_locks_nothing_is_said(tmp_path):
    journal = Journal(tmp_path / "journal.jsonl", fresh=False)
    journal.close()

    assert journal.warning == ""
    assert [path.name for path in tmp_path.iterdir()] == ["journal.jsonl"]


def test_a_second_run_is_refused_and_told_whose_it_is(tmp_path, no_flock, holder):
    with pytest.raises(InputError, match=rf"another run is writing there; .*\(process {holder.pid} on "):
        Journal(tmp_path / "journal.jsonl", fresh=False)
    assert say(holder, "{}") == "written\n"


def test_what_a_killed_run_held_is_free(tmp_path, no_flock, holder):
    say(holder, "{}")
    holder.kill()
    holder.wait()
    Journal(tmp_path / "journal.jsonl", fresh=False).close()

    assert (tmp_path / "journal.jsonl").read_text() == "{}\n"


def test_a_run_that_was_taken_for_dead_writes_no_more(tmp_path, no_flock, holder):
    os.kill(holder.pid, signal.SIGSTOP)
    journal = Journal(tmp_path / "journal.jsonl", fresh=False)  # after a second without a sign
    os.kill(holder.pid, signal.SIGCONT)
    told, until = "written\n", time.monotonic() + 20
    while told == "written\n" and time.monotonic() < until:  # its next heartbeat finds out
        time.sleep(0.05)
        told = say(holder, "")
    journal.close()

    assert "another run has taken this one for dead" in told
