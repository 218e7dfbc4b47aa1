"""`--vote-by embeddings`: the vectors of a run's answers, by the embedder of `--embedder`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from needlework.haystack_fixtures.cache import default_cache_dir
from needlework.haystack_fixtures.retrieval.embedded import embedded_once
from needlework.haystack_fixtures.retrieval.embedders import Embedder, load_embedder
from needlework.haystack_fixtures.retrieval.options import RetrievalOptions
from needlework.haystack_fixtures.retrieval.retrieve import to_embedder
from needlework.haystack_fixtures.settings.own import own_of
from needlework.haystack_fixtures.settings.settings import Settings
from needlework.haystack_fixtures.tasks.documents.votes import votes_by_embeddings


def voting_embedder(settings: Settings) -> Embedder | None:
    """What embeds the answers that vote; `None` where they vote by words. Nothing is loaded. Raises `InputError`."""
    suite = votes_by_embeddings(settings.suites)
    if suite is None:
        return None
    own = own_of(suite, RetrievalOptions)
    return load_embedder(own.embedder, to_embedder(own, settings), default_cache_dir())


def answer_vectors(embedder: Embedder, answers: Sequence[str]) -> dict[str, NDArray[np.float32]]:
    """The vector of each answer that is not blank. Raises `InputError`, or whatever the embedder raises."""
    texts = list(dict.fromkeys(answer for answer in answers if answer.strip()))
    found = embedded_once(default_cache_dir(), texts, f"{embedder.identity} text", embedder.texts)
    return {text: each.vector for text, each in zip(texts, found, strict=True)}
