"""The journal: one JSON line for each record, appended as cells end. What is in it survives the process."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator, Mapping
from io import FileIO
from math import isfinite
from pathlib import Path
from typing import Any, cast

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.writing.json_encoder import encoder_of
from needlework.haystack_fixtures.writing.whole_files import write_whole
from needlework.results.records.checks import completed, fault_of
from needlework.results.records.claim import Claim
from needlework.results.records.record import Record, WaitingAnswer, WaitingRuling
from needlework.results.records.run_file import check_run_file, read_run_file

FSYNC_EVERY_S = 1.0
_encode = encoder_of(json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":")))


class Journal:
    """An open journal. Every line is written through (it survives a killed process), and synced at least every second
    while records come (it survives a power cut).

    One process at a time: the file is locked, and a second run into the same folder is refused. `warning`: what to
    tell where it cannot be locked.
    """

    def __init__(self, path: Path, *, fresh: bool, option: str | None = None) -> None:
        """`option`: what named the file, where that is not a run's folder."""
        self._path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.exists() or path.is_symlink():
                check_run_file(path)
            self._file = FileIO(path, "r+" if path.exists() else "w+")
        except OSError as error:
            named = (option, path) if option else ("--results-dir", path.parent)
            raise InputError(*named, f"cannot be written ({error.strerror})") from None
        try:
            self._claim = Claim(self._file, path, (option, path) if option else ("--run-name", path.parent))
        except BaseException:
            self._file.close()
            raise
        self.warning = self._claim.warning
        if fresh:
            self._file.truncate(0)
        else:
            _cut_torn_tail(self._file)
        self._size = self._file.seek(0, os.SEEK_END)
        self._synced = time.monotonic()

    def append(self, line: str) -> None:
        """Write one record's `line_of`. Raises `InputError` when the disk is full; the lines before it stay whole."""
        self._claim.check()
        data = f"{line}\n".encode("ascii")
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
            raise InputError(
                "journal", self._path, f"cannot be written ({error.strerror}); free space and run again"
            ) from None

    def close(self) -> None:
        """Sync and let go; once is enough."""
        if self._file.closed:
            return
        try:
            os.fsync(self._file.fileno())
        finally:
            self._file.close()
            self._claim.release()

    def replace(self, content: bytes) -> None:
        """Put other lines in the place of all, whole or not at all. Raises `OSError`."""
        self._claim.check()
        write_whole(self._path, content)
        file = FileIO(self._path, "r+")
        self._claim.move(file)
        self._file.close()
        self._file = file
        self._size = self._file.seek(0, os.SEEK_END)


def line_of(record: Record | WaitingAnswer | WaitingRuling) -> str:
    """A record as the journal holds it: JSON in ASCII, on one line."""
    return _encode(record)


def read_journal(path: Path) -> list[Record]:
    """All records in the order written; a line that a killed process left half is passed over."""
    return read_and_count(path)[0]


def read_and_count(path: Path) -> tuple[list[Record], int]:
    """The records as `read_journal` gives them, and how many lines are none. Half a line at the end is not counted."""
    try:
        data = read_run_file(path)
    except FileNotFoundError:
        return [], 0
    except OSError as error:
        raise InputError("journal", path, f"cannot be read ({error.strerror})") from None
    found = [_record(line) for line in lines_of(data)]
    return [record for record in found if record is not None], found.count(None)


def unread_note(lines: int) -> str:
    """What is said of lines that are no records."""
    told = "1 line" if lines == 1 else f"{lines} lines"
    return f"{told} of journal.jsonl could not be read (damaged): trials that stood only there are asked again"


def _record(line: object) -> Record | None:
    if fault_of(line) or cast("Mapping[str, Any]", line).get("key") is None:
        return None
    return completed(cast("Mapping[str, Any]", line))


def lines_of(data: bytes) -> Iterator[object]:
    """What stands on each line that is not empty, `None` where that is not JSON; what follows the last newline is left
    out, it may not be whole yet."""
    return (_json_of(line) for line in data.split(b"\n")[:-1] if line.strip())


def _json_of(line: bytes) -> object:
    try:
        return _decode(line.decode("utf-8", "surrogatepass").removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return None


def _finite(text: str) -> float:
    """A number that JSON has; we write no other, and could not write this one again."""
    value = float(text)
    if not isfinite(value):
        raise ValueError(text)
    return value


_decode = json.JSONDecoder(parse_float=_finite, parse_constant=_finite).decode


def _cut_torn_tail(file: FileIO) -> None:
    """Cut back to the last newline: the next record would be glued to half a line, and lost with it."""
    size = file.seek(0, os.SEEK_END)
    while size > 0:
        step = min(size, 65_536)
        file.seek(size - step)
        newline = file.read(step).rfind(b"\n")
        if newline >= 0:
            _cut_to(file, size - step + newline + 1)
            return
        size -= step
    _cut_to(file, 0)


def _cut_to(file: FileIO, size: int) -> None:
    if file.seek(0, os.SEEK_END) > size:  # a cut that cuts nothing would still count as written now
        file.truncate(size)
