"""sha256 of large files, computed once per file and remembered."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from needlework.haystack_fixtures.cache import cache_key, keep, kept


def file_sha256(path: Path) -> str:
    """The sha256 of a file's bytes, in hex."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def remembered_sha256(path: Path, cache_dir: Path) -> str:
    """`file_sha256`, remembered in the cache for as long as the file keeps its place, size and time of change."""
    path = path.resolve()
    stat = path.stat()
    memory = cache_dir / "checksums" / cache_key(str(path), str(stat.st_size), str(stat.st_mtime_ns))
    found = kept(memory)
    if found is not None:
        return str(found, "ascii")
    digest = file_sha256(path)
    keep(memory, digest.encode())
    return digest


def joint_sha256(paths: Sequence[Path], cache_dir: Path) -> str:
    """One sha256 for several files: their own for one file, else that of the sorted names and digests."""
    if len(paths) == 1:
        return remembered_sha256(paths[0], cache_dir)
    lines = [f"{path.name} {remembered_sha256(path, cache_dir)}\n" for path in sorted(paths)]
    return hashlib.sha256("".join(lines).encode()).hexdigest()
