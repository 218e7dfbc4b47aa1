"""Embeddings on disk: a text is embedded once per machine and embedder, whatever run or worker wants it.

They are rows of one SQLite file and no files of the cache: there are thousands, and on a busy disk 5,000 small files
take some 10 s to write where 5,000 rows take 0.5 s.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from needlework.haystack_fixtures.cache import cache_key

_FILE = "embeddings.sqlite3"
_WAIT_S = 30.0  # for another worker that writes
_AT_ONCE = 500  # keys in one question; SQLite takes 999


@dataclass(frozen=True, slots=True, eq=False)
class Embedded:
    """A text's vector; `cut`: the embedder took the beginning of the text only."""

    vector: NDArray[np.float32]
    cut: bool = False


def stored(folder: Path, identity: str, texts: Iterable[str]) -> dict[str, Embedded]:
    """What is there of the texts' embeddings. A damaged or unreadable cache costs time only."""
    keys = {_key(identity, text): text for text in texts}
    found: dict[str, Embedded] = {}
    with suppress(sqlite3.Error, OSError), closing(_open(folder)) as cache:
        wanted = list(keys)
        for at in range(0, len(wanted), _AT_ONCE):
            part = wanted[at : at + _AT_ONCE]
            marks = ",".join("?" * len(part))
            for key, data in cache.execute(f"SELECT key, data FROM embedding WHERE key IN ({marks})", part):  # noqa: S608 - question marks alone
                embedded = _read(data)
                if embedded is not None:
                    found[keys[key]] = embedded
    return found


def embedded_once(
    cache_dir: Path, texts: Sequence[str], identity: str, embed: Callable[[Sequence[str]], list[Embedded]]
) -> list[Embedded]:
    """The embeddings of texts, those that were made before from the cache."""
    folder = cache_dir / "embeddings"
    found = stored(folder, identity, texts)
    missing = list(dict.fromkeys(text for text in texts if text not in found))
    if missing:
        made = dict(zip(missing, embed(missing), strict=True))
        store(folder, identity, made)
        found |= made
    return [found[text] for text in texts]


def store(folder: Path, identity: str, embedded: Mapping[str, Embedded]) -> None:
    """Keep embeddings; one that cannot be written will be made again."""
    rows: Sequence[tuple[bytes, bytes]] = [(_key(identity, text), _written(each)) for text, each in embedded.items()]
    with suppress(sqlite3.Error, OSError), closing(_open(folder)) as cache, cache:
        cache.executemany("INSERT OR REPLACE INTO embedding VALUES (?, ?)", rows)


def _open(folder: Path) -> sqlite3.Connection:
    folder.mkdir(parents=True, exist_ok=True)
    cache = sqlite3.connect(folder / _FILE, timeout=_WAIT_S)
    cache.execute("CREATE TABLE IF NOT EXISTS embedding (key BLOB PRIMARY KEY, data BLOB) WITHOUT ROWID")
    return cache


def _key(identity: str, text: str) -> bytes:
    return bytes.fromhex(cache_key(identity, text))


def _written(embedded: Embedded) -> bytes:
    body = bytes([embedded.cut]) + embedded.vector.astype("<f4").tobytes()
    return body + zlib.crc32(body).to_bytes(4, "little")


def _read(data: object) -> Embedded | None:
    if not isinstance(data, bytes) or len(data) < 9 or (len(data) - 5) % 4:
        return None
    body, check = data[:-4], data[-4:]
    if zlib.crc32(body).to_bytes(4, "little") != check:
        return None
    return Embedded(np.frombuffer(body, "<f4", offset=1).astype(np.float32), bool(body[0]))
