"""Whole files or none: a reader, or a killed run, never sees half a report."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path


def drop_halves(folder: Path) -> None:
    """Remove what killed runs have left half written."""
    for half in folder.glob(".*.tmp"):
        half.unlink()


def write_atomic(path: Path, content: bytes) -> None:
    """Write `content` to `path` through a temporary file beside it. Makes the folder when it is missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.parent / f".{secrets.token_hex(8)}.tmp"
    try:
        with temporary.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
