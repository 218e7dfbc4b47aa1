"""What a task has searched for its question, and what was found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from needlework.haystack_fixtures.retrieval.chunks import Chunking


@dataclass(frozen=True, slots=True)
class Search:
    """What a trial's context is retrieved from: texts with their names.

    `query`: the question as it is searched for. `gold`: the name of the text that has the answer, where that is known.
    `answer`: the reference in words, where words of it can be looked for in the texts; empty for a letter or a number.
    """

    texts: tuple[tuple[str, str], ...]
    query: str
    gold: str | None = None
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk that was retrieved: characters `start` to `end` of a text."""

    document: str
    start: int
    end: int
    score: float


@dataclass(frozen=True, slots=True)
class Retrieved:
    """The chunks that a retriever found for a question, best first; `chunks`: how many it had to choose from.

    `text`: the context that they make. `cut`: chunks of which the embedder took the beginning only.
    """

    search: Search
    retriever: str
    embedder: str | None
    k: int
    rule: Chunking
    chunks: int
    hits: tuple[Hit, ...]
    text: str
    cut: int = 0

    @property
    def rank(self) -> int | None:
        """The place, from 1, of the first chunk of the text that has the answer."""
        places = (place for place, hit in enumerate(self.hits, 1) if hit.document == self.search.gold)
        return None if self.search.gold is None else next(places, None)

    @property
    def facts(self) -> dict[str, Any]:
        """What a record tells of it."""
        return {
            "retriever": self.retriever,
            "embedder": self.embedder,
            "k": self.k,
            "chunk_size": self.rule.size,
            "chunk_overlap": self.rule.overlap,
            "unit": self.rule.unit,
            "chunks": self.chunks,
            "hits": [
                {"document": hit.document, "start": hit.start, "end": hit.end, "score": hit.score} for hit in self.hits
            ],
            "gold": self.search.gold,
            "rank": self.rank,
            **({"cut_chunks": self.cut} if self.cut else {}),
        }
