"""sha256 of large files, computed once per file and remembered."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path


def file_sha256(path: Path) -> str:
    """The sha256 of a file's bytes, in hex."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def remembered_sha256(path: Path, cache_dir: Path) -> str:
    """`file_sha256`, remembered in the cache for as long as the file keeps its place, size and time of change."""
    path = path.resolve()
    stat = path.stat()
    facts = {"path": str(path), "size": stat.st_size, "mtime_ns": stat.st_mtime_ns}
    memory = cache_dir / "checksums" / f"{hashlib.sha256(str(path).encode()).hexdigest()[:32]}.json"
    try:
        stored = json.loads(memory.read_text(encoding="utf-8"))
        if isinstance(stored, dict) and stored.items() >= facts.items():
            return str(stored["sha256"])
    except (OSError, ValueError, KeyError):
        pass  # never computed, or a torn file: compute it
    digest = file_sha256(path)
    _write(memory, json.dumps({**facts, "sha256": digest}))
    return digest


def joint_sha256(paths: Sequence[Path], cache_dir: Path) -> str:
    """One sha256 for several files: their own for one file, else that of the sorted names and digests."""
    if len(paths) == 1:
        return remembered_sha256(paths[0], cache_dir)
    lines = [f"{path.name} {remembered_sha256(path, cache_dir)}\n" for path in sorted(paths)]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "w", encoding="utf-8") as stream:
        stream.write(text)
    Path(name).replace(path)  # another process may write the same file now
