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


class NotWrittenError(InputError):
    """A change that could not be written: the disk is full, or the folder may not be written to."""


class StaleError(InputError):
    """A change to something that has changed since the page was loaded."""

    def __init__(self, what: object) -> None:
        super().__init__("not saved", what, "it has changed since you opened it: open it in another tab, and compare")


def read_record(path: Path, option: str = "PATH") -> bytes:
    """Return a file's content; empty where there is none. `option`: what errors name. Raises `InputError`."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise InputError(option, path, f"cannot be read ({error.strerror})") from None


def change_record(path: Path, edit: Callable[[bytes], bytes], option: str = "PATH") -> None:
    """Replace a file's content by what `edit` makes of it; it is on the disk when this returns. Raises `InputError`."""
    with _ONE_WRITER, _locked(path.parent):
        before = read_record(path, option)
        after = edit(before)
        if after != before:
            try:
                write_whole(path, after)
            except OSError as error:
                raise NotWrittenError(option, path, f"cannot be written ({error.strerror})") from None


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
