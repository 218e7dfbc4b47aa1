"""Search in chunks of documents: BM25 and vectors."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import regex
from numpy.typing import NDArray

from needlework.core.errors import InputError
from needlework.core.record import RetrievalFacts
from needlework.core.settings import Settings, Suite, family_options
from needlework.haystack_fixtures.documents.text_files import is_unspaced, pairs_of, word_runs
from needlework.haystack_fixtures.haystacks.sentences import sentence_ends, splits_grapheme
from needlework.haystack_fixtures.retrieval.options import RetrievalOptions
from needlework.models.served.connection import ServerOptions
from needlework.models.tokenizers.tokenizer import Tokenizer

if TYPE_CHECKING:
    from needlework.haystack_fixtures.retrieval.embedders import Embedded, Embedder


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
        own = family_options(suite, RetrievalOptions)
        rule = chunking(own.chunk_size, own.chunk_overlap)
        facts: list[Any] = [_VERSION, retriever, own.retrieve, rule.size, rule.overlap, rule.unit]
        return json.dumps([*facts, self._embedder(own).identity if retriever == "dense" else None])

    def identity(self, suite: Suite) -> dict[str, str]:
        """The suite's embedder and what it is, for the manifest; empty where none is used. Raises `InputError`."""
        own = family_options(suite, RetrievalOptions)
        if "dense" not in own.retriever or own.embedder is None:
            return {}
        return {own.embedder: self._embedder(own).identity}

    def retrieve(self, suite: Suite, search: Search, retriever: str) -> Retrieved:
        """The best chunks of the texts by `bm25` or `dense`; of equal ones the first. Raises `InputError`."""
        own = family_options(suite, RetrievalOptions)
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
            return bm25_index(chunks), 0

        model = self._embedder(dense)
        embedded = self._embedded(chunks, f"{model.identity} text", model.texts)

        def asked(query: str) -> Floats:
            return _stacked(self._embedded([query], f"{model.identity} query", model.queries), model)

        return dense_index(_stacked(embedded, model), asked), sum(each.cut for each in embedded)

    def _embedded(
        self, texts: Sequence[str], identity: str, embed: Callable[[Sequence[str]], list[Embedded]]
    ) -> list[Embedded]:
        from needlework.haystack_fixtures.retrieval.embedders import embedded_once

        return embedded_once(self._cache_dir, texts, identity, embed)

    def _load(self, own: RetrievalOptions) -> Embedder:
        from needlework.haystack_fixtures.retrieval.embedders import load_embedder

        return load_embedder(own.embedder, to_embedder(own, self._settings), self._cache_dir)


def context_of(chunks: Sequence[str]) -> str:
    """The context that chunks make."""
    return _BETWEEN.join(chunk.strip() for chunk in chunks)


def to_embedder(own: RetrievalOptions, settings: Settings) -> ServerOptions:
    """How the embedder's server is reached."""
    return ServerOptions(
        base_url=own.embedder_base_url,
        api_key_env=own.embedder_api_key_env,
        timeout_s=settings.timeout,
        retries=settings.retries,
    )


def _stacked(embedded: Sequence[Embedded], model: Embedder) -> Floats:
    if len({each.vector.shape for each in embedded}) != 1:
        raise InputError("--embedder", model.name, "its vectors are of several lengths; use another model")
    return np.stack([each.vector for each in embedded])


SIZE, OVERLAP = "--chunk-size", "--chunk-overlap"
Span = tuple[int, int]
Unit = Literal["characters", "tokens"]
_Breaks = Sequence[NDArray[np.int64]]
_PARAGRAPH = regex.compile(r"\n[^\S\n]*+\n\s*+")
_LINE = regex.compile(r"\n\s*+")
_VISIBLE = regex.compile(r"\S")
_WORD = regex.compile(r"\s++")


@dataclass(frozen=True, slots=True)
class Chunking:
    """How long chunks are and by how much they overlap, at most, in `unit`."""

    size: int
    overlap: int
    unit: Unit


@dataclass(frozen=True, slots=True)
class _Ruler:
    """Distances in a text. `forward(start, n)`: the farthest end of n units from `start` on. `back(end, n)`: the
    earliest start of n units before `end`."""

    forward: Callable[[int, int], int]
    back: Callable[[int, int], int]


def chunking(size: str, overlap: str) -> Chunking:
    """Read `--chunk-size` and `--chunk-overlap`: `1000` characters, `1024t` tokens. An overlap without a unit has the
    size's. Raises `InputError`."""
    length, unit = _measure(SIZE, size, least=1)
    shared, own = _measure(OVERLAP, overlap, least=0)
    if own == "tokens" and unit == "characters":
        raise InputError(OVERLAP, overlap, f"is in tokens, {SIZE} {size} in characters: give both in one unit")
    if shared >= length:
        raise InputError(OVERLAP, overlap, f"must be below {SIZE} {size}: use at most {length - 1}")
    return Chunking(length, shared, unit)


def _measure(option: str, value: str, *, least: int) -> tuple[int, Unit]:
    match = re.fullmatch(r"([0-9]{1,9})(t?)", value.strip())
    if match is None or int(match[1]) < least:
        raise InputError(option, value, f"give {least} or more characters, such as 1000, or tokens, such as 1024t")
    return int(match[1]), "tokens" if match[2] else "characters"


def chunk_spans(text: str, rule: Chunking, starts: NDArray[np.int64] | None = None) -> list[Span]:
    """The spans (characters) of a text's chunks, in order; together they are all of it.

    A chunk ends behind the last paragraph that ends in its second half; without one behind the last line, sentence or
    word; without any between two characters as people see them. The next one begins in the same way within what may
    overlap. `starts`: where each token of the whole text begins, for sizes in tokens; a token that stands partly in a
    chunk counts as one of its tokens. Only a single character of more tokens than the size makes a longer chunk.
    """
    ruler = _characters(len(text)) if starts is None else _tokens(len(text), starts)
    breaks = _breaks(text)
    spans: list[Span] = []
    start = done = 0
    while done < len(text):
        limit = max(ruler.forward(start, rule.size), done + 1)
        if limit >= len(text):
            end = len(text)
        else:
            least = max(ruler.forward(start, rule.size // 2), done)
            end = _last_break(breaks, least, limit) or _between_graphemes(text, limit, done)
        spans.append((start, end))
        done = end
        if rule.overlap:
            lowest = max(ruler.back(end, rule.overlap), ruler.forward(start, 1), start + 1)
            start = _first_break(text, breaks, min(lowest, end), end)
        else:
            start = end
        while start < end and ruler.forward(start, rule.size) <= end:  # a character of several tokens stands there
            start = min(end, max(start + 1, ruler.forward(start, 1)))
    return spans


def _characters(length: int) -> _Ruler:
    return _Ruler(lambda start, n: min(start + n, length), lambda end, n: max(end - n, 0))


def _tokens(length: int, starts: NDArray[np.int64]) -> _Ruler:
    def first(at: int) -> int:
        """The token that `at` stands in, the first of those that share a character."""
        token = int(starts.searchsorted(at))
        return token if token < len(starts) and starts[token] == at else max(0, token - 1)

    def forward(start: int, n: int) -> int:
        token = first(start) + n
        return int(starts[token]) if token < len(starts) else length

    def back(end: int, n: int) -> int:
        token = int(starts.searchsorted(end)) - n
        if token > 0 and starts[token - 1] == starts[token]:  # in the middle of a character: behind it
            token = int(starts.searchsorted(starts[token], "right"))
        return 0 if token <= 0 else int(starts[token]) if token < len(starts) else length

    return _Ruler(forward, back)


def _breaks(text: str) -> _Breaks:
    """Where a chunk may end, by how good a place it is: behind paragraphs, lines, sentences, words, white space and
    all, so that the next one begins with what can be seen."""
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
    """Where the chunk after `end` begins: at the first break of the best kind in the first half of what may overlap,
    of words in all of it."""
    half = lowest + (end - lowest) // 2
    for places, most in zip(breaks, (half, half, half, end), strict=True):
        at = int(places.searchsorted(lowest))
        if at < len(places) and places[at] <= most:
            return int(places[at])
    while lowest < end and splits_grapheme(text, lowest):
        lowest += 1
    return lowest


def _between_graphemes(text: str, limit: int, done: int) -> int:
    """The last place up to `limit` that splits no grapheme; `limit` itself where there is none behind `done`."""
    end = limit
    while end > done and splits_grapheme(text, end):
        end -= 1
    return end if end > done else limit


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


class RecordedRetrieval(Retrieval):
    """Gives the chunks that one trial's record names."""

    def __init__(
        self, settings: Settings, tokenizer: Tokenizer, cache_dir: Path, recorded: RetrievalFacts | None
    ) -> None:
        """`recorded`: what the record says of its retrieval."""
        super().__init__(settings, tokenizer, cache_dir)
        self._recorded = recorded

    def recipe(self, suite: Suite, retriever: str) -> str:  # noqa: ARG002 - that of the base class
        """Nothing: keys of trials are not made here."""
        return ""

    def retrieve(self, suite: Suite, search: Search, retriever: str) -> Retrieved:
        """The chunks of the record, cut from the texts as they are now. Raises `InputError`."""
        texts, own = dict(search.texts), family_options(suite, RetrievalOptions)
        try:
            recorded = self._recorded.hits if self._recorded else []
            hits = tuple(Hit(chunk.document, chunk.start, chunk.end, 0.0) for chunk in recorded)
            found = [texts[hit.document][hit.start : hit.end] for hit in hits]
        except KeyError:
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
