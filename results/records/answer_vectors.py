"""The vectors of a run's answers (`--vote-by embeddings`), in a file of its folder: reports need no embedder again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from needlework.results.records.run_file import check_run_file
from needlework.results.records.shard_file import SHARDS

FILE = "answer-vectors.npz"
Vector = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class AnswerVectors:
    """`embedder`: as it was asked for. `by_hash`: float32 [size] of each answer, by the sha256 of its text."""

    embedder: str
    by_hash: Mapping[str, Vector]

    def of(self, texts: Sequence[str]) -> NDArray[np.float32] | None:
        """The vectors of texts, float32 [texts, size]; `None` where one is missing."""
        found = [self.by_hash.get(_hash(text)) for text in texts]
        return None if any(each is None for each in found) else np.stack([each for each in found if each is not None])


def write_vectors(folder: Path, embedder: str, vectors: Mapping[str, Vector]) -> None:
    """Write the vectors of answers by their texts. Raises `OSError`."""
    if vectors:
        hashes = np.array([_hash(text) for text in vectors])
        np.savez(folder / FILE, embedder=np.array(embedder), hashes=hashes, vectors=np.stack(list(vectors.values())))


def read_vectors(folder: Path) -> AnswerVectors | None:
    """The vectors of a run and of its shards; `None` where there are none, or none that can be read."""
    found: dict[str, Vector] = {}
    embedders: set[str] = set()
    for path in (folder / FILE, *sorted(folder.glob(f"{SHARDS}/*/{FILE}"))):
        try:
            check_run_file(path)
            with np.load(path, allow_pickle=False) as stored:
                embedders.add(str(stored["embedder"]))
                found |= zip(stored["hashes"].tolist(), stored["vectors"], strict=True)
        except (OSError, ValueError, KeyError, EOFError):
            continue
    return AnswerVectors(embedders.pop(), found) if len(embedders) == 1 else None


def _hash(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
