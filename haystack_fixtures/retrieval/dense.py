"""Chunks by the cosine of their embedding with the question's, in a FAISS index."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.retrieval.bm25 import Scores, missing_packages

Floats = NDArray[np.float32]


def dense_index(vectors: Floats, embed: Callable[[str], Floats]) -> Scores:
    """Index vectors, float32 [chunks, dimensions]; `embed` gives a question's, float32 [1, dimensions].

    Raises `InputError` where FAISS is not installed.
    """
    try:
        import faiss
    except ImportError:
        raise missing_packages("dense") from None
    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(_unit(vectors))

    def scores(query: str) -> NDArray[np.float64]:
        asked = _unit(embed(query))
        if asked.shape[1] != vectors.shape[1]:
            problem = f"gives vectors of {vectors.shape[1]} numbers and of {asked.shape[1]}; use another model"
            raise InputError("--embedder", "", problem)
        near, numbers = index.search(asked, len(vectors))
        found = np.empty(len(vectors))
        found[numbers[0]] = near[0]
        return found

    return scores


def _unit(vectors: Floats) -> Floats:
    """Rows of length 1; a row of zeros stays one."""
    sizes = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.ascontiguousarray(vectors / np.where(sizes == 0, 1, sizes), np.float32)
