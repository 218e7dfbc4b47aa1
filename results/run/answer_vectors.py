"""Vectors of answers, for votes of repeats."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from needlework.core.errors import printable
from needlework.core.files import default_cache_dir
from needlework.core.labels import OWN_DOCUMENTS
from needlework.core.record import Record
from needlework.core.settings import Settings, family_options
from needlework.haystack_fixtures.retrieval.embedders import Embedder, embed_once, embedder_of
from needlework.haystack_fixtures.retrieval.options import RetrievalOptions
from needlework.haystack_fixtures.tasks.own_documents import votes_by_embeddings
from needlework.results.records.journal import write_vectors


def voting_embedder(settings: Settings) -> Embedder | None:
    """What embeds the answers that vote; `None` where they vote by words. Nothing is loaded. Raises `InputError`."""
    suite = votes_by_embeddings(settings.suites)
    if suite is None:
        return None
    return embedder_of(family_options(suite, RetrievalOptions), settings, default_cache_dir())


def answer_vectors(embedder: Embedder, answers: Sequence[str]) -> dict[str, NDArray[np.float32]]:
    """The vector of each answer that is not blank. Raises `InputError`, or whatever the embedder raises."""
    texts = list(dict.fromkeys(answer for answer in answers if answer.strip()))
    found = embed_once(embedder, texts, default_cache_dir())
    return {text: each.vector for text, each in zip(texts, found, strict=True)}


def write_answer_vectors(folder: Path, settings: Settings, records: Sequence[Record]) -> list[str]:
    """Write the vectors of a run's answers into its folder, where they vote by them. Returns why there are none, if so:
    the answers are there, and vote by words.
    """
    try:
        if (embedder := voting_embedder(settings)) is not None:
            voting = (record for record in records if record.task_label in OWN_DOCUMENTS)
            texts = [text for record in voting if isinstance(text := record.response.text, str)]
            write_vectors(folder, embedder.name, answer_vectors(embedder, texts))
    except Exception as error:  # noqa: BLE001 - whatever a library or a server raises
        return [f"votes are by words, for want of vectors: {printable(error)}"]
    return []
