"""Search in chunks of documents: options of `--retriever`, where chunks break, BM25 and vectors."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import regex
from numpy.typing import NDArray

from needlework.core.errors import InputError
from needlework.core.options import whole
from needlework.core.record import RetrievalFacts, RetrievedChunk
from needlework.core.settings import Settings, Suite
from needlework.haystack_fixtures.documents.near_copies import unspaced_pairs, word_runs
from needlework.haystack_fixtures.haystacks.sentences import sentence_ends, splits_grapheme

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

    texts: Texts  # each with its name
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
    """Retrieves for the trials of a run. A question's texts are chunked and indexed once."""

    def __init__(self, settings: Settings, cache_dir: Path, recorded: Sequence[RetrievedChunk] | None = None) -> None:
        """`recorded`: the chunks that a trial's record names, which are given in place of searching."""
        self._recorded = recorded
        self._settings = settings
        self._cache_dir = cache_dir
        self._chunked = lru_cache(_MOST_INDEXES)(_chunks)
        self._indexed = lru_cache(_MOST_INDEXES)(self._index)
        self._embedder = lru_cache(_MOST_INDEXES)(self._load)

    def recipe(self, suite: Suite, retriever: str) -> str:
        """The inputs of retrieval but for the texts, for trial keys. Raises `InputError`."""
        if self._recorded is not None:  # keys of trials are not made then
            return ""
        facts: list[Any] = [_VERSION, retriever, suite.retrieve, *chunk_sizes(suite), _UNIT]
        return json.dumps([*facts, self._embedder_of(suite).identity if retriever == "dense" else None])

    def identity(self, suite: Suite) -> dict[str, str]:
        """The suite's embedder and its identity, for the manifest; empty without one. Raises `InputError`."""
        if "dense" not in suite.retriever or suite.embedder is None:
            return {}
        return {suite.embedder: self._embedder_of(suite).identity}

    def retrieve(self, suite: Suite, search: Search, retriever: str) -> Retrieved:
        """The best chunks of the texts by `bm25` or `dense`; of equal ones the first. Raises `InputError`."""
        if self._recorded is not None:
            if not {hit.document for hit in self._recorded} <= dict(search.texts).keys():
                raise InputError("--retriever", retriever, "the record does not tell which chunks it showed")
            return _retrieved(suite, search, retriever, list(self._recorded), len(self._recorded), 0)
        sizes = chunk_sizes(suite)
        chunks = self._chunked(search.texts, sizes)
        if not chunks:
            raise InputError("--retriever", retriever, "there is no text to search")
        embedder = self._embedder_of(suite) if retriever == "dense" else None
        scores, cut = self._indexed(search.texts, sizes, embedder)
        rounded = np.round(scores(search.query), _DIGITS) + 0.0  # no -0
        best = np.argsort(-rounded, kind="stable")[: suite.retrieve].tolist()
        hits = []
        for at in best:
            name, start, end = chunks[at]
            hits.append(RetrievedChunk(document=name, start=start, end=end, score=float(rounded[at])))
        return _retrieved(suite, search, retriever, hits, len(chunks), cut)

    def _index(self, texts: Texts, sizes: tuple[int, int], embedder: Embedder | None) -> tuple[ChunkScores, int]:
        """The scorer of the chunks, and the number of chunks that the embedder cut."""
        by_name = dict(texts)
        chunks = [by_name[name][start:end].strip() for name, start, end in self._chunked(texts, sizes)]
        if embedder is None:
            return bm25_index(chunks), 0
        from needlework.haystack_fixtures.retrieval.embedders import dense_index

        return dense_index(chunks, embedder, self._cache_dir)

    def _embedder_of(self, suite: Suite) -> Embedder:
        return self._embedder(suite.embedder, suite.embedder_base_url, suite.embedder_api_key_env)

    def _load(self, spec: str | None, base_url: str | None, api_key_env: str) -> Embedder:
        from needlework.haystack_fixtures.retrieval.embedders import load_embedder
        from needlework.models.served.connection import ServerOptions

        connection = ServerOptions(
            base_url=base_url,
            api_key_env=api_key_env,
            timeout_s=self._settings.timeout,
            retries=self._settings.retries,
        )
        return load_embedder(spec, connection, self._cache_dir)


def _retrieved(
    suite: Suite, search: Search, retriever: str, hits: list[RetrievedChunk], chunks: int, cut: int
) -> Retrieved:
    """The context of chunks, best first. `chunks`: of how many; `cut`: those embedded in part."""
    texts, (size, overlap) = dict(search.texts), chunk_sizes(suite)
    places = (rank for rank, hit in enumerate(hits, 1) if search.gold is not None and hit.document == search.gold)
    facts = RetrievalFacts(
        retriever=retriever,
        embedder=suite.embedder if retriever == "dense" else None,
        k=suite.retrieve,
        chunk_size=size,
        chunk_overlap=overlap,
        unit=_UNIT,
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


SIZE, OVERLAP = "--chunk-size", "--chunk-overlap"
_UNIT = "characters"
Span = tuple[int, int]
_Breaks = Sequence[NDArray[np.int64]]
_PARAGRAPH = regex.compile(r"\n[^\S\n]*+\n\s*+")
_LINE = regex.compile(r"\n\s*+")
_VISIBLE = regex.compile(r"\S")
_WORD = regex.compile(r"\s++")


def chunk_sizes(suite: Suite) -> tuple[int, int]:
    """The most characters of a chunk, and of what two neighbours share. Raises `InputError`."""
    size, overlap = whole(1)(SIZE, suite.chunk_size), whole(0)(OVERLAP, suite.chunk_overlap)
    if overlap >= size:
        raise InputError(OVERLAP, overlap, f"must be below {SIZE} {size}: use at most {size - 1}")
    return size, overlap


def _chunks(texts: Texts, sizes: tuple[int, int]) -> list[tuple[str, int, int]]:
    """Name, start and end of each chunk that can be seen."""
    spans = ((name, text, span) for name, text in texts for span in chunk_spans(text, *sizes))
    return [(name, *span) for name, text, span in spans if text[slice(*span)].strip()]


def chunk_spans(text: str, size: int, overlap: int) -> list[Span]:
    """The spans of a text's chunks, in order; together they are all of it.

    A chunk ends behind the last paragraph that ends in its second half; without one behind the last line, sentence or
    word; without any between two characters as people see them. The next one begins in the same way within what may
    overlap.
    """
    breaks = _breaks(text)
    spans: list[Span] = []
    start = done = 0
    while done < len(text):
        limit = start + size
        if limit >= len(text):
            end = len(text)
        else:
            end = _last_break(breaks, max(start + size // 2, done), limit) or _between_graphemes(text, limit, done)
        spans.append((start, end))
        done = end
        start = _first_break(text, breaks, min(max(end - overlap, start + 1), end), end) if overlap else end
    return spans


def _breaks(text: str) -> _Breaks:
    """The places where a chunk may end, best kind first: paragraphs, lines, sentences, words.
    Each stands behind white space, so that the next chunk begins with something visible."""
    sentences = (
        match.start() for end in sentence_ends(text).tolist() if (match := _VISIBLE.search(text, end)) is not None
    )
    kinds: tuple[Iterable[int], ...] = (
        (match.end() for match in _PARAGRAPH.finditer(text)),
        (match.end() for match in _LINE.finditer(text)),
        sentences,
        (match.end() for match in _WORD.finditer(text)),
    )
    return tuple(np.fromiter(kind, np.int64) for kind in kinds)


def _last_break(breaks: _Breaks, least: int, limit: int) -> int | None:
    """The last break of the best kind that has one above `least` and up to `limit`."""
    for places in breaks:
        at = int(places.searchsorted(limit, "right"))
        if at and places[at - 1] > least:
            return int(places[at - 1])
    return None


def _first_break(text: str, breaks: _Breaks, lowest: int, end: int) -> int:
    """The start of the chunk after `end`: the first break of the best kind that the overlap allows.
    Breaks of words may be in all of the overlap, others in its first half."""
    half = lowest + (end - lowest) // 2
    for places, most in zip(breaks, (half, half, half, end), strict=True):
        at = int(places.searchsorted(lowest))
        if at < len(places) and places[at] <= most:
            return int(places[at])
    while lowest < end and splits_grapheme(text, lowest):
        lowest += 1
    return lowest


def _between_graphemes(text: str, limit: int, done: int) -> int:
    """The last place up to `limit` that splits no grapheme; `limit` if there is none behind `done`."""
    end = limit
    while end > done and splits_grapheme(text, end):
        end -= 1
    return end if end > done else limit
