"""Retrieval as a record tells of it: its chunks are taken, nothing is searched, and no embedder is asked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.retrieval.chunks import chunking
from needlework.haystack_fixtures.retrieval.found import Hit, Retrieved, Search
from needlework.haystack_fixtures.retrieval.options import RetrievalOptions
from needlework.haystack_fixtures.retrieval.retrieve import Retrieval, context_of
from needlework.haystack_fixtures.settings.own import own_of
from needlework.haystack_fixtures.settings.settings import Settings, Suite
from needlework.haystack_fixtures.tokenizers.tokenizer import Tokenizer


class RecordedRetrieval(Retrieval):
    """Gives the chunks that one trial's record names."""

    def __init__(self, settings: Settings, tokenizer: Tokenizer, cache_dir: Path, recorded: object) -> None:
        """`recorded`: what the record says of its retrieval."""
        super().__init__(settings, tokenizer, cache_dir)
        self._recorded = recorded

    def recipe(self, suite: Suite, retriever: str) -> str:  # noqa: ARG002 - that of the base class
        """Nothing: keys of trials are not made here."""
        return ""

    def retrieve(self, suite: Suite, search: Search, retriever: str) -> Retrieved:
        """The chunks of the record, cut from the texts as they are now. Raises `InputError`."""
        texts, own = dict(search.texts), own_of(suite, RetrievalOptions)
        try:
            told: Mapping[str, Any] = self._recorded  # type: ignore[assignment]  # whatever it is, see below
            hits = tuple(Hit(each["document"], each["start"], each["end"], 0.0) for each in told["hits"])
            found = [texts[hit.document][hit.start : hit.end] for hit in hits]
        except (KeyError, TypeError, AttributeError):
            raise InputError("--retriever", retriever, "the record does not tell which chunks it showed") from None
        return Retrieved(
            search=search,
            retriever=retriever,
            embedder=own.embedder if retriever == "dense" else None,
            k=own.retrieve,
            rule=chunking(own.chunk_size, own.chunk_overlap),
            chunks=len(hits),
            hits=hits,
            text=context_of(found),
        )
