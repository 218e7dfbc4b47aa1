"""From the texts that a question is asked of to the chunks that make its context."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.models.served.connection import Connection
from needlework.haystack_fixtures.retrieval.chunks import Chunking, chunk_spans, chunking
from needlework.haystack_fixtures.retrieval.found import Hit, Retrieved, Search
from needlework.haystack_fixtures.retrieval.options import RetrievalOptions
from needlework.haystack_fixtures.settings.own import own_of
from needlework.haystack_fixtures.settings.settings import Settings, Suite
from needlework.haystack_fixtures.tokenizers.tokenizer import Tokenizer

if TYPE_CHECKING:
    from needlework.haystack_fixtures.retrieval.bm25 import Scores
    from needlework.haystack_fixtures.retrieval.dense import Floats
    from needlework.haystack_fixtures.retrieval.embedded import Embedded
    from needlework.haystack_fixtures.retrieval.embedders import Embedder

# Part of trial keys: raise it when the same options find other chunks.
_VERSION = 2
_KEPT = 8  # indexes; all questions of a document use the same one
_DIGITS = 6  # of a score: what stands behind them differs between machines, and must not decide
_BETWEEN = "\n\n"
Texts = tuple[tuple[str, str], ...]


class Retrieval:
    """Retrieves for the trials of one tokenizer. The texts of a question are chunked, embedded and indexed once."""

    def __init__(self, settings: Settings, tokenizer: Tokenizer, cache_dir: Path) -> None:
        self._settings = settings
        self._tokenizer = tokenizer
        self._cache_dir = cache_dir
        self._chunked = lru_cache(_KEPT)(self._chunk)
        self._indexed = lru_cache(_KEPT)(self._index)
        self._embedder = lru_cache(_KEPT)(self._load)

    def recipe(self, suite: Suite, retriever: str) -> str:
        """Everything but the texts that decides what is retrieved, for trial keys. Raises `InputError`."""
        own = own_of(suite, RetrievalOptions)
        rule = chunking(own.chunk_size, own.chunk_overlap)
        facts: list[Any] = [_VERSION, retriever, own.retrieve, rule.size, rule.overlap, rule.unit]
        return json.dumps([*facts, self._embedder(own).identity if retriever == "dense" else None])

    def identity(self, suite: Suite) -> dict[str, str]:
        """The suite's embedder and what it is, for the manifest; empty where none is used. Raises `InputError`."""
        own = own_of(suite, RetrievalOptions)
        if "dense" not in own.retriever or own.embedder is None:
            return {}
        return {own.embedder: self._embedder(own).identity}

    def retrieve(self, suite: Suite, search: Search, retriever: str) -> Retrieved:
        """The best chunks of the texts by `bm25` or `dense`; of equal ones the first. Raises `InputError`."""
        own = own_of(suite, RetrievalOptions)
        rule = chunking(own.chunk_size, own.chunk_overlap)
        chunks = self._chunked(search.texts, rule)
        if not chunks:
            raise InputError("--retriever", retriever, "there is no text to search")
        dense = own if retriever == "dense" else None
        scores, cut = self._indexed(search.texts, rule, dense)
        rounded = np.round(scores(search.query), _DIGITS) + 0.0  # no -0
        best = np.argsort(-rounded, kind="stable")[: own.retrieve].tolist()
        hits = tuple(Hit(name, start, end, float(rounded[at])) for at in best for name, start, end, _ in [chunks[at]])
        return Retrieved(
            search=search,
            retriever=retriever,
            embedder=dense.embedder if dense else None,
            k=own.retrieve,
            rule=rule,
            chunks=len(chunks),
            hits=hits,
            text=context_of([chunks[at][3] for at in best]),
            cut=cut,
        )

    def _chunk(self, texts: Texts, rule: Chunking) -> list[tuple[str, int, int, str]]:
        """Name, start, end and text of each chunk that can be seen."""
        found = []
        for name, text in texts:
            starts = self._tokenizer.encode(text).starts if rule.unit == "tokens" else None
            spans = chunk_spans(text, rule, starts)
            found += [(name, start, end, text[start:end]) for start, end in spans if text[start:end].strip()]
        return found

    def _index(self, texts: Texts, rule: Chunking, dense: RetrievalOptions | None) -> tuple[Scores, int]:
        """What scores the chunks, and of how many chunks the embedder took the beginning only."""
        chunks = [text.strip() for *_, text in self._chunked(texts, rule)]
        if dense is None:
            from needlework.haystack_fixtures.retrieval.bm25 import bm25_index

            return bm25_index(chunks), 0
        from needlework.haystack_fixtures.retrieval.dense import dense_index

        model = self._embedder(dense)
        embedded = self._embedded(chunks, f"{model.identity} text", model.texts)

        def asked(query: str) -> Floats:
            return _stacked(self._embedded([query], f"{model.identity} query", model.queries), model)

        return dense_index(_stacked(embedded, model), asked), sum(each.cut for each in embedded)

    def _embedded(
        self, texts: Sequence[str], identity: str, embed: Callable[[Sequence[str]], list[Embedded]]
    ) -> list[Embedded]:
        from needlework.haystack_fixtures.retrieval.embedded import embedded_once

        return embedded_once(self._cache_dir, texts, identity, embed)

    def _load(self, own: RetrievalOptions) -> Embedder:
        from needlework.haystack_fixtures.retrieval.embedders import load_embedder

        return load_embedder(own.embedder, to_embedder(own, self._settings), self._cache_dir)


def context_of(chunks: Sequence[str]) -> str:
    """The context that chunks make."""
    return _BETWEEN.join(chunk.strip() for chunk in chunks)


def to_embedder(own: RetrievalOptions, settings: Settings) -> Connection:
    """How the embedder's server is reached."""
    return Connection(
        base_url=own.embedder_base_url,
        api_key_env=own.embedder_api_key_env,
        timeout_s=settings.timeout,
        retries=settings.retries,
    )


def _stacked(embedded: Sequence[Embedded], model: Embedder) -> Floats:
    if len({each.vector.shape for each in embedded}) != 1:
        raise InputError("--embedder", model.name, "its vectors are of several lengths; use another model")
    return np.stack([each.vector for each in embedded])
