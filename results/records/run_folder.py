"""A run's folder: names of its files, its shards, the claim of its writer, safe reading."""

import errno
import fcntl
import json
import stat
from collections.abc import Sequence
from datetime import UTC, datetime
from io import FileIO
from pathlib import Path
from typing import Any

from msgspec import Struct, convert
from msgspec.structs import asdict

from needlework.core.devices import Division, shard_named
from needlework.core.errors import InputError
from needlework.core.files import write_whole
from needlework.core.grid import slug
from needlework.core.settings import Settings

JOURNAL, MANIFEST = "journal.jsonl", "manifest.json"
PICTURES = ("asked-*", "tasks*", "models-*", "documents-*", "heatmap-*", "ruler*")
_LONGEST_NAME = 200


def run_folder(settings: Settings) -> Path:
    """The named run's folder, or a new one by time and model; for a shard `shards/2-of-4` in it."""
    name = settings.run_name
    if name is None:
        models = "+".join(slug(spec) for spec in dict.fromkeys(settings.model))
        name = f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{models[:80]}"
    elif name in (".", "..") or any(mark in name for mark in "/\\\0"):
        raise InputError("--run-name", name, "is a folder's name, without slashes; --results-dir says where it lies")
    elif len(name.encode("utf-8", "surrogatepass")) > _LONGEST_NAME or not name.isprintable():
        raise InputError("--run-name", name, f"give a name that can be shown, up to {_LONGEST_NAME} bytes")
    folder = settings.results_dir / name
    return folder if settings.shard is None else folder / SHARDS / shard_named(settings.shard).name


def drop_written(folder: Path) -> None:
    """Remove the files that a run writes at its end. Raises `OSError`."""
    for pattern in (*PICTURES, "results.*", "summary.json", "cells.csv", "report.html"):
        for file in folder.glob(pattern):
            file.unlink()


SHARDS, SHARD_FILE = "shards", "shard.json"


class Planned(Struct, frozen=True):
    """The content of `shard.json`: a shard's part of the selected tests, as in `Division`."""

    shard: int  # its number, from 1
    of: int
    counts: tuple[int, ...]
    selection: str
    tests: tuple[str, ...]  # node ids of tests with a cell
    schema: int = 1


def write_shard_file(folder: Path, division: Division, tests: Sequence[str]) -> None:
    """Write it, whole or not at all; every worker of a shard writes the same."""
    shard = division.shard
    content = asdict(Planned(shard.number, shard.of, division.counts, division.selection, tuple(tests)))
    write_whole(folder / SHARD_FILE, f"{json.dumps(content, indent=0)}\n".encode())


def read_shard_file(folder: Path) -> Planned | None:
    """The content of that file; `None` where there is none, or where it is damaged."""
    try:
        planned = convert(read_run_json(folder / SHARD_FILE), Planned)
    except (OSError, ValueError, RecursionError):
        return None
    is_shard = 1 <= planned.shard <= planned.of == len(planned.counts)
    return planned if is_shard and planned.counts[planned.shard - 1] == len(planned.tests) else None


_HELD = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES)


def claim(file: FileIO, path: Path, named: tuple[str, Path]) -> str:
    """Lock the open `file` at `path` until it is closed. Returns a warning if there are no locks.

    Raises `InputError` about `named` where another process holds it.
    """
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _HELD:
            raise InputError(*named, "another run is writing there; wait for it or use another name") from None
        reason = error.strerror or "no reason given"
        return f"{path.parent}: the file system has no locks ({reason}): start no second run into this folder"
    return ""


LARGEST = 2 * 2**30
"""Bytes. A record has about 5 KB: results.json of 100,000 trials has 0.5 GB."""


def check_run_file(path: Path) -> None:
    """Refuse a link out of its folder, a FIFO, a device, and large files.
    Raises `InputError`, and `OSError` for a missing file."""
    if path.is_symlink() and not path.resolve().is_relative_to(path.parent.resolve()):
        raise InputError("run", path, "is a link that leads out of its folder: give the file itself")
    status = path.stat()
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(21, "Is a directory", str(path))
    if not stat.S_ISREG(status.st_mode):
        raise InputError("run", path, "is no regular file: remove it")
    if status.st_size > LARGEST:
        raise InputError("run", path, f"is larger than {LARGEST >> 30} GiB")


def check_links(folder: Path) -> None:
    """Refuse links out of a run's folder: a command would write there. Raises `InputError`."""
    inside = folder.resolve()
    for path in folder.iterdir():
        if path.is_symlink() and not path.resolve().is_relative_to(inside):
            raise InputError("run", path, "is a link that leads out of the run's folder: remove it")


def read_run_file(path: Path) -> bytes:
    """The whole file. Raises as `check_run_file` does."""
    check_run_file(path)
    return path.read_bytes()


def read_run_json(path: Path) -> Any:
    """The JSON of a whole file. Raises as `read_run_file` does, and for bad JSON."""
    return json.loads(read_run_file(path).decode("utf-8-sig"))
