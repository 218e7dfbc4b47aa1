"""Whole files or none: a reader, another process or a killed run never sees half a file."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path


def drop_halves(folder: Path) -> None:
    """Remove what killed runs have left half written."""
    for half in folder.glob(".*.tmp"):
        half.unlink()


def write_whole(path: Path | str, content: bytes, *, durable: bool = True) -> None:
    """Write `content` to `path` through a temporary file beside it. Makes the folder when it is missing.

    `durable`: on the disk before this returns, so that it outlives a power cut; caches do without. Raises `OSError`.
    """
    # os.path: the cache of encoded documents writes hundreds in a run, and a Path is slow.
    folder = os.path.dirname(path)  # noqa: PTH120
    half = os.path.join(folder, f".{secrets.token_hex(8)}.tmp")  # noqa: PTH118
    try:
        try:
            file = open(half, "xb")  # noqa: PTH123, SIM115 - closed by the `with` below
        except FileNotFoundError:
            os.makedirs(folder, exist_ok=True)  # noqa: PTH103
            file = open(half, "xb")  # noqa: PTH123, SIM115
        with file:
            file.write(content)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        os.replace(half, path)  # noqa: PTH105
    except BaseException:
        with suppress(OSError):
            os.unlink(half)  # noqa: PTH108
        raise
