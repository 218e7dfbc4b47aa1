"""Generated documents on disk: written whole or not at all, and checked when read."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path


def cached_documents(file: Path, make: Callable[[], tuple[str, ...]]) -> tuple[str, ...]:
    """What `file` holds, or else what `make` returns, which is then put there.

    A file that is cut short or changed does not match its own hash and is made again. Workers may race: each writes a
    file of its own and renames it, so that nobody reads half a file.
    """
    documents = _read(file)
    if documents is None:
        documents = make()
        # A cache that cannot be written (read-only, full disk) costs seconds; it must not cost the run.
        with suppress(OSError):
            _write(file, documents)
    return documents


def _read(file: Path) -> tuple[str, ...] | None:
    try:
        head, _, body = file.read_bytes().partition(b"\n")
        if head.decode("ascii") != hashlib.sha256(body).hexdigest():
            return None
        return tuple(json.loads(body))
    except (OSError, ValueError):
        return None


def _write(file: Path, documents: tuple[str, ...]) -> None:
    body = json.dumps(documents, ensure_ascii=False).encode()
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=file.parent, suffix=".tmp")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(hashlib.sha256(body).hexdigest().encode() + b"\n" + body)
        temporary.replace(file)
    except OSError:
        temporary.unlink()
        raise
