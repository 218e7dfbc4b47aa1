"""Waiting answers: what has come, and no test has scored yet; and what judges have said of them meanwhile.

Cells are asked ahead of pytest, one test at a time, so answers wait for their test. Until then they stand in files of
the journal's format, one for each process that asks, and the lines are of two kinds more: `answers-PID.jsonl`. A run
that is whole removes these; after one that was interrupted or killed they are read with the journal.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Container, Iterator, Mapping
from io import FileIO
from pathlib import Path
from typing import Any

from needlework.results.records.checks import is_ruling, is_waiting
from needlework.results.records.journal import line_of, lines_of
from needlework.results.records.record import WaitingAnswer, WaitingRuling
from needlework.results.records.run_file import check_run_file, read_run_file

WAITING_FILES = "answers-*.jsonl"


class WaitingAnswers:
    """This process's file of waiting answers, made with the first. `append` may be called from several threads."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / WAITING_FILES.replace("*", str(os.getpid()))
        self._turn = threading.Lock()
        self._file: FileIO | None = None
        self._closed = False

    def append(self, answer: WaitingAnswer | WaitingRuling) -> None:
        """Write an answer or a ruling down. A disk that is full is told by the journal, which is written next."""
        line = f"{line_of(answer)}\n".encode("ascii")
        with self._turn, contextlib.suppress(OSError):
            if not self._closed:
                self._file = self._file or FileIO(self._path, "a")
                self._file.write(line)

    def close(self) -> None:
        """Write no more: requests may still end when the run has."""
        with self._turn:
            self._closed = True
            if self._file is not None:
                self._file.close()


def read_waiting(folder: Path) -> list[WaitingAnswer]:
    """The answers that processes of a run that ended early had got and that no test of theirs has scored."""
    found = []
    for path in sorted(folder.glob(WAITING_FILES)):
        with contextlib.suppress(OSError):
            found += _waiting_in(path)
    return found


def read_rulings(folder: Path) -> dict[str, Mapping[str, Any]]:
    """What judges made of answers before the tests of these did, by key: scores as in `StoredAnswer.score`."""
    found: dict[str, Mapping[str, Any]] = {}
    for path in sorted(folder.glob(WAITING_FILES)):
        with contextlib.suppress(OSError):
            found |= {line["key"]: line["score"] for line in lines_of(read_run_file(path)) if is_ruling(line)}
    return found


def _waiting_in(path: Path) -> list[WaitingAnswer]:
    return [line for line in lines_of(read_run_file(path)) if is_waiting(line)]


class ArrivingAnswers:
    """The answers that processes of a run write down from now on, whichever they are; those before are left out."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[Path, int] = {}  # bytes, up to the last whole line
        for _ in self.new():
            pass

    def new(self) -> Iterator[WaitingAnswer]:
        """Those that have come since the last look."""
        for path in self._folder.glob(WAITING_FILES):
            with contextlib.suppress(OSError):
                check_run_file(path)
            with contextlib.suppress(OSError), path.open("rb") as file:
                file.seek(self._read.get(path, 0))
                data = file.read()
                self._read[path] = self._read.get(path, 0) + data.rfind(b"\n") + 1
                yield from (line for line in lines_of(data) if is_waiting(line))


def drop_waiting(folder: Path, *, earlier: Container[Path] = (), answered: Container[str] = ()) -> None:
    """Remove the files of waiting answers: everything in them is in the journal, or not wanted.

    Of `earlier` sessions only those whose keys are all `answered`: they may have asked more than this one.
    """
    for path in folder.glob(WAITING_FILES):
        with contextlib.suppress(OSError):
            if path not in earlier or all(answer["key"] in answered for answer in _waiting_in(path)):
                path.unlink()
