"""The journal of a run (its records), and the files of answers that no test has scored yet."""

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
from needlework.results.style import counted

FSYNC_EVERY_S = 1.0


class Journal:
    """An open journal. Its lines survive a kill of the process, and after a second a power cut.

    The file is locked: a second run into the same folder is refused. `warning`: a line for the user where the file
    system has no locks.
    """

    def __init__(self, path: Path, *, fresh: bool, option: str | None = None) -> None:
        """`option`: the option that names the file, if it is not in the folder of a run."""
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
        """Append the line of a record. Raises `InputError` when the disk is full; earlier lines stay whole."""
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
            # A torn line must not stay: the next one would continue it.
            with contextlib.suppress(OSError):
                self._file.truncate(self._size)
                self._file.seek(self._size)
            problem = f"cannot be written ({error.strerror}); free space and run again"
            raise InputError("journal", self._path, problem) from None

    def close(self) -> None:
        """Sync and close the file; a second call does nothing."""
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
    """The journal's line of a record: JSON, without a line feed."""
    return encode_record(record).decode()


def read_journal(path: Path) -> list[Record]:
    """All records, in the order written. A torn last line is skipped. Raises `InputError`."""
    return read_counting_damage(path)[0]


def read_counting_damage(path: Path) -> tuple[list[Record], int]:
    """The records of `read_journal`, and the number of damaged lines; a torn last line is not counted."""
    try:
        data = read_run_file(path)
    except FileNotFoundError:
        return [], 0
    except OSError as error:
        raise InputError("journal", path, f"cannot be read ({error.strerror})") from None
    read = list(_records_in(data))
    records = [record for record in read if record is not None and record.outcome != WAITING]
    return records, len(read) - len(records)


def damage_note(lines: int) -> str:
    """The report's note on damaged lines."""
    damaged = f"{counted(lines, 'line')} of journal.jsonl could not be read (damaged)"
    return f"{damaged}: trials that stood only there are asked again"


def _records_in(data: bytes) -> Iterator[Record | None]:
    """Yield the record of each line that is not empty, `None` for a damaged one; skip a torn last line."""
    for line in data.split(b"\n")[:-1]:
        if line.strip():
            try:
                yield read_record(line)
            except ValueError:
                yield None


def _cut_torn_tail(file: FileIO) -> None:
    """Cut off a torn last line: the next record would continue it, and be lost with it."""
    size = start = file.seek(0, os.SEEK_END)
    end = 0
    while start > 0 and not end:
        stop, start = start, max(0, start - 65_536)
        file.seek(start)
        newline = file.read(stop - start).rfind(b"\n")
        end = start + newline + 1 if newline >= 0 else 0
    if end < size:  # truncating by nothing would still change the time of the file
        file.truncate(end)


def stored_answers(
    records: list[Record], waiting: list[Record], rulings: Mapping[str, Record] = MappingProxyType({})
) -> dict[str, StoredAnswer]:
    """The last stored answer of each key; a record of the journal precedes a waiting answer.

    A later error, as in joined journals, does not replace an answer. An answer that only the judge failed on is stored:
    the judge is asked again, not the model. `rulings`: by key, records with the judges' newer rulings.
    """
    final = {
        record.key: record
        for record in records
        if record.outcome in FINAL or (record.outcome == "error" and record.error and record.error.kind == "judge")
    }
    latest = {record.key: record for record in waiting} | final
    scored = {key: record for key, record in latest.items() if record.score is not None} | dict(rulings)
    return {key: StoredAnswer(of, scored.get(key), of.outcome != WAITING) for key, of in latest.items()}


def ruling_of(record: Record) -> str | None:
    """The key of the judges' ruling on this answer (`ruling_key`); `None` where no judge ruled."""
    ruling: str | None = record.details.score.get("ruling")
    return ruling


# Requests are sent ahead of the tests that score their answers. Until then answers wait in files of the journal's
# format, one for each process: `answers-PID.jsonl`. Their outcome is `unscored`; one that judges score before its test
# is written a second time, with the score. A complete run removes these files; a resumed one reads them with the
# journal.
WAITING_FILES = "answers-*.jsonl"


class WaitingAnswers:
    """The waiting answers of this process. The file is made with the first; `append` is thread-safe."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / WAITING_FILES.replace("*", str(os.getpid()))
        self._turn = threading.Lock()
        self._file: FileIO | None = None
        self._is_torn = False
        self._closed = False

    def append(self, answer: Record) -> None:
        """Append an answer. Errors are ignored: the journal, written next, reports a full disk."""
        line = encode_record(answer) + b"\n"
        with self._turn, contextlib.suppress(OSError):
            if not self._closed:
                if self._file is None:
                    self._file = FileIO(self._path, "a+")
                    _cut_torn_tail(self._file)
                # A full disk may tear a line: the next one begins with a line feed, so that it is whole.
                line = b"\n" + line if self._is_torn else line
                self._is_torn = self._file.write(line) < len(line)

    def close(self) -> None:
        """Close the file, and ignore later answers: requests may end after the run."""
        with self._turn:
            self._closed = True
            if self._file is not None:
                self._file.close()


def read_waiting(folder: Path) -> list[Record]:
    """The waiting answers of processes that ended before a test scored them."""
    return [record for record in _waiting_records(folder) if record.outcome == WAITING]


def read_rulings(folder: Path) -> dict[str, Record]:
    """The waiting answers that judges have scored, by key."""
    return {record.key: record for record in _waiting_records(folder) if record.score is not None}


def _waiting_records(folder: Path) -> Iterator[Record]:
    for path in sorted(folder.glob(WAITING_FILES)):
        with contextlib.suppress(OSError):
            yield from filter(None, _records_in(read_run_file(path)))


def drop_waiting(folder: Path, *, earlier: Container[Path] = (), answered: Container[str] = ()) -> None:
    """Remove the files of waiting answers that are no longer needed.

    Files of `earlier` sessions, which may have asked other cells, only if all of their keys are `answered`.
    """
    for path in folder.glob(WAITING_FILES):
        with contextlib.suppress(OSError):
            records = filter(None, _records_in(read_run_file(path)))
            if path not in earlier or all(record.key in answered for record in records):
                path.unlink()
