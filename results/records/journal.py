"""The journal of a run: records, and answers that wait for their test."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Container, Iterator, Mapping
from io import FileIO
from pathlib import Path
from types import MappingProxyType

from needlework.core.errors import InputError
from needlework.core.files import write_whole
from needlework.core.record import FINAL, WAITING, Record, encode_record, read_record
from needlework.pipeline.exchange import StoredAnswer
from needlework.results.records.run_folder import check_run_file, claim, read_run_file

FSYNC_EVERY_S = 1.0


class Journal:
    """An open journal. Every line is written through (it survives a killed process), and synced at least every second
    while records come (it survives a power cut).

    One process at a time: the file is locked, and a second run into the same folder is refused. `warning`: a line
    where it cannot be locked.
    """

    def __init__(self, path: Path, *, fresh: bool, option: str | None = None) -> None:
        """`option`: the option that named the file, where that is not a run's folder."""
        self._path = path
        self._named = (option, path) if option else ("--run-name", path.parent)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.exists() or path.is_symlink():
                check_run_file(path)
            self._file = FileIO(path, "r+" if path.exists() else "w+")
        except OSError as error:
            named = (option, path) if option else ("--results-dir", path.parent)
            raise InputError(*named, f"cannot be written ({error.strerror})") from None
        try:
            self.warning = claim(self._file, path, self._named)
        except BaseException:
            self._file.close()
            raise
        if fresh:
            self._file.truncate(0)
        else:
            _cut_torn_tail(self._file)
        self._size = self._file.seek(0, os.SEEK_END)
        self._synced = time.monotonic()

    def append(self, line: str) -> None:
        """Write one record's `line_of`. Raises `InputError` when the disk is full; the lines before it stay whole."""
        data = f"{line}\n".encode()
        try:
            written = 0
            while written < len(data):
                written += self._file.write(data[written:])
            if time.monotonic() - self._synced >= FSYNC_EVERY_S:
                os.fsync(self._file.fileno())
                self._synced = time.monotonic()
            self._size += len(data)
        except OSError as error:
            # Half a line must not stay: the next one would be glued to it.
            with contextlib.suppress(OSError):
                self._file.truncate(self._size)
                self._file.seek(self._size)
            problem = f"cannot be written ({error.strerror}); free space and run again"
            raise InputError("journal", self._path, problem) from None

    def close(self) -> None:
        """Sync and let go; once is enough."""
        if self._file.closed:
            return
        try:
            os.fsync(self._file.fileno())
        finally:
            self._file.close()

    def replace(self, content: bytes) -> None:
        """Replace the whole file atomically. Raises `OSError`."""
        write_whole(self._path, content)
        file = FileIO(self._path, "r+")
        claim(file, self._path, self._named)
        self._file.close()
        self._file = file
        self._size = self._file.seek(0, os.SEEK_END)


def line_of(record: Record) -> str:
    """A record as the journal holds it: JSON on one line."""
    return encode_record(record).decode()


def read_journal(path: Path) -> list[Record]:
    """All records in the order written; half a line of a killed process is passed over. Raises `InputError`."""
    return read_and_count(path)[0]


def read_and_count(path: Path) -> tuple[list[Record], int]:
    """The records of `read_journal`, and the number of damaged lines. Half a line at the end does not count."""
    try:
        data = read_run_file(path)
    except FileNotFoundError:
        return [], 0
    except OSError as error:
        raise InputError("journal", path, f"cannot be read ({error.strerror})") from None
    lines = list(_records_in(data))
    records = [record for record in lines if record is not None and record.outcome != WAITING]
    return records, len(lines) - len(records)


def unread_note(lines: int) -> str:
    """The report's note on damaged lines."""
    count = "1 line" if lines == 1 else f"{lines} lines"
    return f"{count} of journal.jsonl could not be read (damaged): trials that stood only there are asked again"


def _records_in(data: bytes) -> Iterator[Record | None]:
    """The record of each line that is not empty, `None` for a damaged one. The rest after the last newline may not be
    whole yet."""
    for line in data.split(b"\n")[:-1]:
        if line.strip():
            try:
                yield read_record(line)
            except ValueError:
                yield None


def _open_for_append(path: Path) -> FileIO:
    """Open a file of lines to append to, without half a line that a killed process left at its end."""
    file = FileIO(path, "a+")
    _cut_torn_tail(file)
    return file


def _cut_torn_tail(file: FileIO) -> None:
    """Cut back to the last newline: the next record would be glued to half a line, and lost with it."""
    size = start = file.seek(0, os.SEEK_END)
    end = 0
    while start > 0 and not end:
        stop, start = start, max(0, start - 65_536)
        file.seek(start)
        newline = file.read(stop - start).rfind(b"\n")
        end = start + newline + 1 if newline >= 0 else 0
    if end < size:  # a cut that cuts nothing would still count as written now
        file.truncate(end)


def stored_answers(
    records: list[Record], waiting: list[Record], rulings: Mapping[str, Record] = MappingProxyType({})
) -> dict[str, StoredAnswer]:
    """The stored answers by key: the last one of a key, and any record before the waiting.

    An error that came after an answer, as in journals that were joined, takes nothing away. Where only the judge failed
    it is asked again, not the model. `rulings`: records with the judges' ruling on these answers, by key, newer than
    `records`.
    """
    final = {
        record.key: record
        for record in records
        if record.outcome in FINAL or (record.outcome == "error" and record.error and record.error.kind == "judge")
    }
    latest = {record.key: record for record in waiting} | final
    return {
        key: StoredAnswer(
            record, rulings.get(key, record if record.score is not None else None), record.outcome != WAITING
        )
        for key, record in latest.items()
    }


def ruling_of(record: Record) -> str | None:
    """The key of the judges' ruling on this answer (`ruling_key`); `None` where no judge ruled."""
    ruling: str | None = record.details.score.get("ruling")
    return ruling


# Cells are asked ahead of pytest, one test at a time, so answers wait for their test. Until then they stand in files of
# the journal's format, one for each process that asks: `answers-PID.jsonl`. Their outcome is `unscored`, until judges
# have ruled ahead: then they stand there once more, with the score. A run that is whole removes these files; after one
# that was interrupted or killed they are read with the journal.
WAITING_FILES = "answers-*.jsonl"


class WaitingAnswers:
    """This process's file of waiting answers, made with the first. `append` may be called from several threads."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / WAITING_FILES.replace("*", str(os.getpid()))
        self._turn = threading.Lock()
        self._file: FileIO | None = None
        self._closed = False

    def append(self, answer: Record) -> None:
        """Write an answer down. A disk that is full is told by the journal, which is written next."""
        line = encode_record(answer) + b"\n"
        with self._turn, contextlib.suppress(OSError):
            if not self._closed:
                self._file = self._file or _open_for_append(self._path)
                # A line that a full disk cut is damaged; the newline keeps the next one apart from it.
                if self._file.write(line) < len(line):
                    self._file.write(b"\n")

    def close(self) -> None:
        """Write no more: requests may still end when the run has."""
        with self._turn:
            self._closed = True
            if self._file is not None:
                self._file.close()


def read_waiting(folder: Path) -> list[Record]:
    """The answers of processes that ended before a test scored them."""
    return [record for record in _waiting_records(folder) if record.outcome == WAITING]


def read_rulings(folder: Path) -> dict[str, Record]:
    """The records that judges scored before their tests' turns, by key."""
    return {record.key: record for record in _waiting_records(folder) if record.score is not None}


def _waiting_records(folder: Path) -> Iterator[Record]:
    for path in sorted(folder.glob(WAITING_FILES)):
        with contextlib.suppress(OSError):
            yield from filter(None, _records_in(read_run_file(path)))


def drop_waiting(folder: Path, *, earlier: Container[Path] = (), answered: Container[str] = ()) -> None:
    """Remove the files of waiting answers: everything in them is in the journal, or of no use.

    Of `earlier` sessions only those whose keys are all `answered`: they may have asked more than this one.
    """
    for path in folder.glob(WAITING_FILES):
        with contextlib.suppress(OSError):
            records = filter(None, _records_in(read_run_file(path)))
            if path not in earlier or all(record.key in answered for record in records):
                path.unlink()
