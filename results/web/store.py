"""Files that are the record of what people enter: written whole, by one at a time."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from threading import Lock

from needlework.core.errors import InputError
from needlework.core.files import write_whole

_ONE_WRITER = Lock()


class StaleError(InputError):
    """A change to something that has changed since the page was loaded."""

    def __init__(self, what: object) -> None:
        super().__init__("not saved", what, "it has changed since you opened it: open it in another tab, and compare")


def read_record(path: Path) -> bytes:
    """Return a file's content; empty where there is none. Raises `OSError`."""
    return path.read_bytes() if path.exists() else b""


def change_record(path: Path, edit: Callable[[bytes], bytes]) -> None:
    """Replace a file's content by what `edit` makes of it; it is on the disk when this returns. Raises `OSError`."""
    with _ONE_WRITER, _locked(path.parent):
        before = read_record(path)
        after = edit(before)
        if after != before:
            write_whole(path, after)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep other processes out while a file of this folder is changed, where the file system has locks."""
    number = -1
    try:
        with suppress(OSError):
            number = os.open(folder, os.O_RDONLY)
            fcntl.flock(number, fcntl.LOCK_EX)
        yield
    finally:
        if number >= 0:
            os.close(number)


def digest_of(content: bytes) -> str:
    """Return a short hash, by which a form says what it was filled from."""
    return sha256(content).hexdigest()[:24]


def utc_now() -> str:
    """Return the time in UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
