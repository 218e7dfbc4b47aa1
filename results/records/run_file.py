"""Files of a run folder that may be somebody else's: what is no regular file, or has no end, is refused in one line."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

from needlework.haystack_fixtures.errors import InputError

LARGEST = 2 * 2**30
"""Bytes. A record has about 5 KB: results.json of 100,000 trials has 0.5 GB."""


def check_run_file(path: Path) -> None:
    """Refuse a link out of its folder, a FIFO, a device, and what is too large. Raises `InputError`, and `OSError` for
    what is not there."""
    if path.is_symlink() and not path.resolve().is_relative_to(path.parent.resolve()):
        raise InputError("run", path, "is a link that leads out of its folder: give the file itself")
    found = path.stat()
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(21, "Is a directory", str(path))
    if not stat.S_ISREG(found.st_mode):
        raise InputError("run", path, "is no regular file: remove it")
    if found.st_size > LARGEST:
        raise InputError("run", path, f"is larger than {LARGEST >> 30} GiB")


def check_links(folder: Path) -> None:
    """Refuse a run's folder with a link out of it: what a command writes would go there. Raises `InputError`."""
    inside = folder.resolve()
    for path in folder.iterdir():
        if path.is_symlink() and not path.resolve().is_relative_to(inside):
            raise InputError("run", path, "is a link that leads out of the run's folder: remove it")


def read_run_file(path: Path) -> bytes:
    """The whole file. Raises as `check_run_file` does."""
    check_run_file(path)
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(descriptor, "rb") as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise InputError("run", path, f"is larger than {LARGEST >> 30} GiB")
    return data


def read_run_json(path: Path) -> Any:
    """The JSON of a whole file. Raises as `read_run_file` does, and `ValueError` or `RecursionError` for no JSON."""
    return json.loads(read_run_file(path).decode("utf-8-sig"))
