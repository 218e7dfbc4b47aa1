"""BM25 over chunks, by the library bm25s."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from needlework.haystack_fixtures.documents.words import is_unspaced, pairs_of, word_runs
from needlework.haystack_fixtures.errors import InputError

Scores = Callable[[str], NDArray[np.float64]]
"""The score of each chunk for a question, in the order of the chunks; more is better."""

# Lucene's usual values. S. Robertson, H. Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009).
K1, B = 1.5, 0.75


def words(text: str) -> list[str]:
    """The words of a text, case and compatibility forms folded.

    Text without spaces between words (Chinese, Japanese) counts by characters and by pairs of neighbours.
    """
    found: list[str] = []
    for run in word_runs(text):
        if is_unspaced(run):
            found += [*run, *pairs_of(run)]
        else:
            found.append(run)
    return found


def bm25_index(texts: Sequence[str]) -> Scores:
    """Index texts. Raises `InputError` where the library is not installed."""
    try:
        import bm25s
    except ImportError:
        raise missing_packages("bm25") from None
    corpus = [words(text) for text in texts]
    if not any(corpus):
        return lambda _query: np.zeros(len(texts))
    index = bm25s.BM25(k1=K1, b=B, method="lucene")
    index.index(corpus, show_progress=False)

    def scores(query: str) -> NDArray[np.float64]:
        known = [word for word in words(query) if word in index.vocab_dict]
        return np.asarray(index.get_scores(known), np.float64) if known else np.zeros(len(texts))

    return scores


def missing_packages(retriever: str) -> InputError:
    """What to say where the packages of the extra are not there."""
    return InputError("--retriever", retriever, "its packages are not installed: pip install 'needlework[retrieval]'")
