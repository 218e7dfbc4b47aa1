"""Search in chunks of documents: BM25 and vectors."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from needlework.core.errors import InputError
from needlework.core.record import RetrievalFacts, RetrievedChunk
from needlework.core.settings import Settings, Suite, family_options
from needlework.haystack_fixtures.documents.near_copies import unspaced_pairs, word_runs
from needlework.haystack_fixtures.retrieval.chunks import Chunking, chunk_spans, chunking
from needlework.haystack_fixtures.retrieval.options import RetrievalOptions
from needlework.models.tokenizers.tokenizer import Tokenizer

if TYPE_CHECKING:
    from needlework.haystack_fixtures.retrieval.embedders import Embedder

# Part of trial keys: raise it when the same options find other chunks.
_VERSION = 2
_MOST_INDEXES = 8  # indexes; all questions of a document use the same one
_DIGITS = 6  # of a score: what stands behind them differs between machines, and must not decide
_BETWEEN = "\n\n"
# The values of bm25s. S. Robertson, H. Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009).
_K1, _B = 1.5, 0.75
Texts = tuple[tuple[str, str], ...]
ChunkScores = Callable[[str], NDArray[np.float64]]
"""The score of each chunk for a question, in the order of the chunks; more is better."""


@dataclass(frozen=True, slots=True)
class Search:
    """The texts that a trial's context is retrieved from, and the query."""

    texts: Texts  # with their names
    query: str  # the question as it is searched for
    gold: str | None = None  # the name of the text that has the answer
    answer: str = ""  # the reference in words; empty for a letter or a number


@dataclass(frozen=True, slots=True)
class Retrieved:
    """The context that a retriever made for a question, and its facts for the record."""

    search: Search
    text: str
    facts: RetrievalFacts


class Retrieval:
    """Retrieves for the trials of one tokenizer. A question's texts are chunked and indexed once."""

    def __init__(self, settings: Settings, tokenizer: Tokenizer, cache_dir: Path) -> None:
        self._settings = settings
        self._tokenizer = tokenizer
        self._cache_dir = cache_dir
        self._chunked = lru_cache(_MOST_INDEXES)(self._chunk)
        self._indexed = lru_cache(_MOST_INDEXES)(self._index)
        self._embedder = lru_cache(_MOST_INDEXES)(self._load)

    def recipe(self, suite: Suite, retriever: str) -> str:
        """The inputs of retrieval but for the texts, for trial keys. Raises `InputError`."""
        options = family_options(suite, RetrievalOptions)
        rule = chunking(options.chunk_size, options.chunk_overlap)
        facts: list[Any] = [_VERSION, retriever, options.retrieve, rule.size, rule.overlap, rule.unit]
        return json.dumps([*facts, self._embedder(options).identity if retriever == "dense" else None])

    def identity(self, suite: Suite) -> dict[str, str]:
        """The suite's embedder and its identity, for the manifest; empty without one. Raises `InputError`."""
        options = family_options(suite, RetrievalOptions)
        if "dense" not in options.retriever or options.embedder is None:
            return {}
        return {options.embedder: self._embedder(options).identity}

    def retrieve(self, suite: Suite, search: Search, retriever: str) -> Retrieved:
        """The best chunks of the texts by `bm25` or `dense`; of equal ones the first. Raises `InputError`."""
        options = family_options(suite, RetrievalOptions)
        rule = chunking(options.chunk_size, options.chunk_overlap)
        chunks = self._chunked(search.texts, rule)
        if not chunks:
            raise InputError("--retriever", retriever, "there is no text to search")
        dense = options if retriever == "dense" else None
        scores, cut = self._indexed(search.texts, rule, dense)
        rounded = np.round(scores(search.query), _DIGITS) + 0.0  # no -0
        best = np.argsort(-rounded, kind="stable")[: options.retrieve].tolist()
        hits = []
        for at in best:
            name, start, end = chunks[at]
            hits.append(RetrievedChunk(document=name, start=start, end=end, score=float(rounded[at])))
        return _retrieved(suite, search, retriever, hits, len(chunks), cut)

    def _chunk(self, texts: Texts, rule: Chunking) -> list[tuple[str, int, int]]:
        """Name, start and end of each chunk that can be seen."""
        chunks = []
        for name, text in texts:
            starts = self._tokenizer.encode(text).starts if rule.unit == "tokens" else None
            spans = chunk_spans(text, rule, starts)
            chunks += [(name, start, end) for start, end in spans if text[start:end].strip()]
        return chunks

    def _index(self, texts: Texts, rule: Chunking, dense: RetrievalOptions | None) -> tuple[ChunkScores, int]:
        """The scorer of the chunks, and the number of chunks that the embedder cut."""
        by_name = dict(texts)
        chunks = [by_name[name][start:end].strip() for name, start, end in self._chunked(texts, rule)]
        if dense is None:
            return bm25_index(chunks), 0
        from needlework.haystack_fixtures.retrieval.embedders import dense_index

        return dense_index(chunks, self._embedder(dense), self._cache_dir)

    def _load(self, options: RetrievalOptions) -> Embedder:
        from needlework.haystack_fixtures.retrieval.embedders import embedder_of

        return embedder_of(options, self._settings, self._cache_dir)


class RecordedRetrieval(Retrieval):
    """Gives the chunks that one trial's record names."""

    def __init__(
        self, settings: Settings, tokenizer: Tokenizer, cache_dir: Path, recorded: RetrievalFacts | None
    ) -> None:
        """`recorded`: what the record says of its retrieval."""
        super().__init__(settings, tokenizer, cache_dir)
        self._hits = recorded.hits if recorded else []

    def recipe(self, suite: Suite, retriever: str) -> str:  # noqa: ARG002 - that of the base class
        """Nothing: keys of trials are not made here."""
        return ""

    def retrieve(self, suite: Suite, search: Search, retriever: str) -> Retrieved:
        """The chunks of the record, cut from the texts as they are now. Raises `InputError`."""
        if not {hit.document for hit in self._hits} <= dict(search.texts).keys():
            raise InputError("--retriever", retriever, "the record does not tell which chunks it showed")
        return _retrieved(suite, search, retriever, self._hits, len(self._hits), 0)


def _retrieved(
    suite: Suite, search: Search, retriever: str, hits: list[RetrievedChunk], chunks: int, cut: int
) -> Retrieved:
    """The context of chunks, best first. `chunks`: of how many; `cut`: those embedded in part."""
    texts, options = dict(search.texts), family_options(suite, RetrievalOptions)
    rule = chunking(options.chunk_size, options.chunk_overlap)
    places = (rank for rank, hit in enumerate(hits, 1) if search.gold is not None and hit.document == search.gold)
    facts = RetrievalFacts(
        retriever=retriever,
        embedder=options.embedder if retriever == "dense" else None,
        k=options.retrieve,
        chunk_size=rule.size,
        chunk_overlap=rule.overlap,
        unit=rule.unit,
        chunks=chunks,
        hits=hits,
        gold=search.gold,
        rank=next(places, None),
        cut_chunks=cut,
    )
    return Retrieved(search, _BETWEEN.join(texts[hit.document][hit.start : hit.end].strip() for hit in hits), facts)


def search_words(text: str) -> list[str]:
    """The words of a text, case and compatibility forms folded.

    Text without spaces between words (Chinese, Japanese) counts by characters and by pairs of neighbours.
    """
    words: list[str] = []
    for run in word_runs(text):
        words += [*run, *pairs] if (pairs := unspaced_pairs(run)) else [run]
    return words


def bm25_index(texts: Sequence[str]) -> ChunkScores:
    """Index texts. Raises `InputError` where the library is not installed."""
    try:
        import bm25s
    except ImportError:
        raise missing_packages("bm25") from None
    corpus = [search_words(text) for text in texts]
    if not any(corpus):
        return lambda _query: np.zeros(len(texts))
    index = bm25s.BM25(k1=_K1, b=_B, method="lucene")
    index.index(corpus, show_progress=False)

    def scores(query: str) -> NDArray[np.float64]:
        known = [word for word in search_words(query) if word in index.vocab_dict]
        return np.asarray(index.get_scores(known), np.float64) if known else np.zeros(len(texts))

    return scores


def missing_packages(retriever: str) -> InputError:
    """The error for missing packages of the extra."""
    return InputError("--retriever", retriever, "its packages are not installed: pip install 'needlework[retrieval]'")
