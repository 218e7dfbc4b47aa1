"""One process writes a journal; where the file system has no locks that is told. `flock` alone is planted."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path

import pytest

from needlework.core.errors import InputError
from needlework.results.records.journal import Journal


def plant(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def flock(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", flock)


@pytest.mark.parametrize("number", [errno.EWOULDBLOCK, errno.EACCES])
def test_a_lock_that_is_held_means_another_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    plant(monkeypatch, number)

    with pytest.raises(InputError, match="another run is writing there"):
        Journal(tmp_path / "journal.jsonl", fresh=False)


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP])
def test_without_locks_it_is_written_and_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    plant(monkeypatch, number)
    journal = Journal(tmp_path / "journal.jsonl", fresh=False)
    journal.append("{}")
    journal.replace(b"{}\n{}\n")
    journal.append("{}")
    journal.close()

    assert f"the file system has no locks ({os.strerror(number)})" in journal.warning
    assert (tmp_path / "journal.jsonl").read_text() == "{}\n{}\n{}\n"


def test_where_there_are_locks_nothing_is_said(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.jsonl", fresh=False)
    journal.close()

    assert journal.warning == ""
    assert [path.name for path in tmp_path.iterdir()] == ["journal.jsonl"]
