"""Vectors of answers, for votes of repeats by embeddings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from needlework.core.errors import printable
from needlework.core.files import default_cache_dir
from needlework.core.labels import OWN_DOCUMENTS
from needlework.core.prompts import text_sha256
from needlework.core.record import Record
from needlework.core.settings import Settings, family_options
from needlework.results.records.run_folder import SHARDS, check_run_file

if TYPE_CHECKING:
    from needlework.haystack_fixtures.retrieval.embedders import Embedder

FILE = "answer-vectors.npz"
Vector = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class AnswerVectors:
    """Vectors of answers."""

    embedder: str  # its name in the options
    by_hash: Mapping[str, Vector]  # float32 [size], by the sha256 of the text

    def of(self, texts: Sequence[str]) -> NDArray[np.float32] | None:
        """The vectors of texts, float32 [texts, size]; `None` where one is missing."""
        vectors = [self.by_hash[key] for text in texts if (key := text_sha256(text)) in self.by_hash]
        return np.stack(vectors) if len(vectors) == len(texts) else None


def write_vectors(folder: Path, embedder: str, vectors: Mapping[str, Vector]) -> None:
    """Write the vectors of answers by their texts. Raises `OSError`."""
    if vectors:
        hashes = np.array([text_sha256(text) for text in vectors])
        np.savez(folder / FILE, embedder=np.array(embedder), hashes=hashes, vectors=np.stack(list(vectors.values())))


def read_vectors(folder: Path) -> AnswerVectors | None:
    """The vectors of a run and of its shards; `None` where there are none, or none that can be read."""
    vectors: dict[str, Vector] = {}
    embedders: set[str] = set()
    for path in (folder / FILE, *sorted(folder.glob(f"{SHARDS}/*/{FILE}"))):
        try:
            check_run_file(path)
            with np.load(path, allow_pickle=False) as stored:
                embedders.add(str(stored["embedder"]))
                vectors |= zip(stored["hashes"].tolist(), stored["vectors"], strict=True)
        except (OSError, ValueError, KeyError, EOFError):
            continue
    return AnswerVectors(embedders.pop(), vectors) if len(embedders) == 1 else None


def voting_embedder(settings: Settings) -> Embedder | None:
    """The embedder of answers that vote; `None` where they vote by words. Nothing is loaded. Raises `InputError`."""
    from needlework.haystack_fixtures.retrieval.embedders import embedder_of
    from needlework.haystack_fixtures.retrieval.options import RetrievalOptions
    from needlework.haystack_fixtures.tasks.own_documents import votes_by_embeddings

    suite = votes_by_embeddings(settings.suites)
    if suite is None:
        return None
    return embedder_of(family_options(suite, RetrievalOptions), settings, default_cache_dir())


def write_answer_vectors(folder: Path, settings: Settings, records: Sequence[Record]) -> list[str]:
    """Write the vectors of a run's answers into its folder, where they vote by them. Returns a note where that fails:
    they vote by words then."""
    from needlework.haystack_fixtures.retrieval.embedders import embed_once

    try:
        if (embedder := voting_embedder(settings)) is not None:
            answers = [record.response.text for record in records if record.task_label in OWN_DOCUMENTS]
            texts = list(dict.fromkeys(text for text in answers if text.strip()))
            vectors = [embedded.vector for embedded in embed_once(embedder, texts, default_cache_dir())]
            write_vectors(folder, embedder.name, dict(zip(texts, vectors, strict=True)))
    except Exception as error:  # noqa: BLE001 - whatever a library or a server raises
        return [f"votes are by words, for want of vectors: {printable(error)}"]
    return []
