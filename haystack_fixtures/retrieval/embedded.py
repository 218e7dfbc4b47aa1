"""Embeddings, kept in the cache: a text is embedded once per machine and embedder, whatever run or worker wants it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from needlework.haystack_fixtures.cache import cache_key, keep, kept


@dataclass(frozen=True, slots=True, eq=False)
class Embedded:
    """A text's vector; `cut`: the embedder took the beginning of the text only."""

    vector: NDArray[np.float32]
    cut: bool = False


def stored(folder: Path, identity: str, texts: Iterable[str]) -> dict[str, Embedded]:
    """What the cache has of the texts' embeddings."""
    found = {}
    for text in texts:
        content = kept(_path(folder, identity, text))
        if content is not None:
            found[text] = Embedded(np.frombuffer(content, "<f4", offset=1).astype(np.float32), bool(content[0]))
    return found


def store(folder: Path, identity: str, embedded: Mapping[str, Embedded]) -> None:
    """Keep embeddings; one that cannot be written will be made again."""
    for text, each in embedded.items():
        keep(_path(folder, identity, text), bytes([each.cut]) + each.vector.astype("<f4").tobytes())


def _path(folder: Path, identity: str, text: str) -> str:
    return os.path.join(folder, cache_key(identity, text))  # noqa: PTH118 - there are many, and a Path is slow
