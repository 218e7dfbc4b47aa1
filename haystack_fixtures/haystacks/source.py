"""Seeded text of a corpus, encoded once."""

from __future__ import annotations

import random
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from needlework.core.draws import draws, pick, shuffled
from needlework.core.errors import InputError
from needlework.core.files import cache_key, read_cached, write_cached
from needlework.haystack_fixtures.corpora.corpus import Corpus
from needlework.haystack_fixtures.haystacks.sentences import sentence_ends
from needlework.haystack_fixtures.haystacks.splice import Piece, Range, remembering, splice, text_of
from needlework.models.tokenizers.tokenizer import Encoded, Tokenizer

JOINER = "\n\n"
# Text that a search for the exact length may use beyond it.
_MARGIN = 512
_SENTENCES_BEYOND = 32  # more than a patched cut leaves out
# Fewer paragraphs than this leave little choice: then a document may begin at any sentence.
_PARAGRAPHS = 8
_REMEMBERED = 512  # results that a source keeps; the oldest go first
_TOKENS_KEPT = 2_000_000  # of all texts in one cache together, about 40 bytes each

Made = TypeVar("Made")
Held = TypeVar("Held", bound="EncodedDocument | HaystackSource")


class TokenCache(Generic[Held]):
    """A cache of encoded texts, limited by their tokens; evicts the least recently used. May be shared by threads."""

    def __init__(self, fewest: int) -> None:
        """`fewest`: how many are kept at least, whatever their tokens."""
        self._fewest = fewest
        self._kept: OrderedDict[Hashable, Held] = OrderedDict()
        self._tokens = 0
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], Held]) -> Held:
        """The cached text of a key, else a new one by `make`."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        made = make()
        with self._lock:
            if key not in self._kept:
                self._kept[key] = made
                self._tokens += len(made.encoded.ids)
            while self._tokens > _TOKENS_KEPT and len(self._kept) > self._fewest:
                self._tokens -= len(self._kept.popitem(last=False)[1].encoded.ids)
        return made


@dataclass(frozen=True, slots=True)
class Closing:
    """The text that closes every document of a source, each needle, and the document that is cut."""

    text: str
    tokens: int  # its own
    shortest: int  # characters of the shortest haystack, a beginning of the first document


@dataclass(frozen=True, eq=False)
class HaystackSource:
    """Text that haystacks are cut from, always from its start."""

    text: str = field(repr=False)
    encoded: Encoded = field(repr=False)
    ends: NDArray[np.int64] = field(repr=False)  # [sentences], character offsets of sentence ends
    ends_tokens: NDArray[np.int64] = field(repr=False)  # [sentences], tokens before each
    corpus_chars: int  # length of one pass over the whole corpus; text repeats after it
    closing: Closing | None = None  # the units that end at `ends` are documents, not sentences
    _made: OrderedDict[Hashable, Any] = field(default_factory=OrderedDict, init=False, repr=False)

    @property
    def closes(self) -> str:
        """The text after every unit: nothing after a sentence."""
        return self.closing.text if self.closing else ""

    @property
    def shortest(self) -> int:
        """Characters of the shortest haystack: the first sentence."""
        return self.closing.shortest if self.closing else int(self.ends[0])

    @cached_property
    def end_places(self) -> list[int]:
        """`ends`, for looking at one."""
        return cast(list[int], self.ends.tolist())

    @cached_property
    def end_tokens(self) -> list[int]:
        """`ends_tokens`, for looking at one."""
        return cast(list[int], self.ends_tokens.tolist())

    def remember(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """Memoize `make` by this key: haystacks of one source have much in common."""
        value = self._made.get(key)
        if value is None:
            value = self._made[key] = make()
            while len(self._made) > _REMEMBERED:
                self._made.popitem(last=False)
        return cast(Made, value)


class EncodedDocuments:
    """The non-blank documents of a corpus, encoded on first use, in any order. May be shared by threads."""

    def __init__(self, corpus: Corpus, tokenizer: Tokenizer, cache_dir: Path) -> None:
        """Raises `InputError` for a corpus without text."""
        self.texts = [stripped for document in corpus.documents if (stripped := document.strip())]
        if not self.texts:
            raise InputError("--corpus", corpus.name, "has no text")
        self.corpus = corpus
        self.tokenizer = tokenizer
        self._cache_dir = cache_dir
        self._encoded: TokenCache[EncodedDocument] = TokenCache(1)

    def __getitem__(self, number: int) -> EncodedDocument:
        return self._encoded.get(number, lambda: encode_document(self.texts[number], self.tokenizer, self._cache_dir))


def order_source(documents: EncodedDocuments, *, seed: int, repeat: int, min_tokens: int) -> HaystackSource:
    """The corpus as one text of at least min_tokens tokens, in the order that seed and repeat choose.

    They shuffle the documents, and choose where inside the first one the text begins: else two seeds with the same
    first document would have the same short haystacks. Documents are joined by blank lines; nothing comes twice before
    everything has come once, then the same order begins again. The text for fewer tokens is a prefix of that for more.
    Raises `InputError` for a corpus without text.
    """
    draw = draws(f"haystack {seed} {repeat}")
    order = shuffled(draw, range(len(documents.texts)))
    spans = [(number, 0, len(documents.texts[number])) for number in order]
    spans = _begun_inside(spans, documents[order[0]], draw)
    pieces, ends = _collect(spans, documents, min_tokens + _MARGIN)
    if not pieces:
        raise InputError("--corpus", documents.corpus.name, "has no text that the tokenizer can encode")
    text = text_of(pieces)
    joined = splice(pieces, remembering(documents.tokenizer)).encoded(text)
    return HaystackSource(
        text=text,
        encoded=joined,
        ends=ends,
        ends_tokens=joined.starts.searchsorted(ends).astype(np.int64),
        corpus_chars=sum(stop - start + len(JOINER) for _, start, stop in spans),
    )


def _begun_inside(
    spans: list[tuple[int, int, int]], first: EncodedDocument, draw: random.Random
) -> list[tuple[int, int, int]]:
    """Begin the pass at a drawn paragraph (or sentence) of the first document; its start comes last."""
    text = first.encoded.text
    inner = [int(end) for end in first.ends[:-1]]
    paragraphs = [end for end in inner if text[end] in "\r\n"]
    choices = [0, *(paragraphs if len(paragraphs) >= _PARAGRAPHS else inner)]
    end = pick(draw, choices)
    if end == 0:
        return spans
    start = end + len(text[end:]) - len(text[end:].lstrip())
    number = spans[0][0]
    return [(number, start, len(text)), *spans[1:], (number, 0, end)]


def _collect(
    spans: Sequence[tuple[int, int, int]], encoded: EncodedDocuments, enough: int
) -> tuple[list[Piece], NDArray[np.int64]]:
    """Pieces with enough tokens, from as many passes as it takes, and the sentence ends in them."""
    pieces: list[Piece] = []
    ends: list[NDArray[np.int64]] = []
    chars = tokens = 0
    while tokens < enough:
        before = tokens
        for number, start, stop in spans:
            document = encoded[number]
            end = _far_enough(document, start, stop, enough - tokens)
            if pieces:
                pieces.append(JOINER)
                chars += len(JOINER)
            pieces.append(Range(document.encoded, start, end))
            low, high = document.ends.searchsorted((start, end), "right").tolist()
            ends.append(document.ends[low:high] + (chars - start))
            chars += end - start
            low, high = document.encoded.starts.searchsorted((start, end)).tolist()
            tokens += high - low
            if tokens >= enough:
                break
        if tokens == before:
            return [], np.empty(0, np.int64)
    return pieces, np.concatenate(ends)


def _far_enough(document: EncodedDocument, start: int, stop: int, tokens: int) -> int:
    """The end of a stretch of a document with enough tokens: some sentences more, or its end."""
    starts, ends = document.encoded.starts, document.ends
    last = int(starts.searchsorted(start)) + tokens
    number = int(ends.searchsorted(starts[last])) + _SENTENCES_BEYOND if last < len(starts) else len(ends)
    return min(stop, int(ends[number])) if number < len(ends) else stop


# Part of the key: raise it when sentence ends or the file layout change.
_VERSION = 4
# Encoding a shorter document takes no longer than reading a file.
_WORTH_A_FILE = 1500


@dataclass(frozen=True)
class EncodedDocument:
    """A document's tokens and its sentence ends (int64 character offsets)."""

    encoded: Encoded
    ends: NDArray[np.int64]


def encode_document(text: str, tokenizer: Tokenizer, folder: Path) -> EncodedDocument:
    """Encode a document without outer white space, or read its encoding from the cache.

    A damaged or unwritable cache costs time only.
    """
    if len(text) < _WORTH_A_FILE:
        return EncodedDocument(tokenizer.encode(text), sentence_ends(text))
    # The file, four bytes each: the number of tokens, their ids, the steps between their starts, the sentence ends.
    key = cache_key(f"encoded {_VERSION}", tokenizer.fingerprint, text)
    path = folder / "encoded" / f"{key}.tokens"
    if (content := read_cached(path)) is not None:
        numbers = np.frombuffer(content, "<i4")
        count, body = int(numbers[0]), numbers[1:]
        starts = body[count : 2 * count].cumsum(dtype=np.int64)
        encoded = Encoded(text, body[:count].astype(np.int32, copy=False), starts)
        return EncodedDocument(encoded, body[2 * count :].astype(np.int64))
    document = EncodedDocument(tokenizer.encode(text), sentence_ends(text))
    ids, steps = document.encoded.ids, np.diff(document.encoded.starts, prepend=0)
    write_cached(path, np.concatenate(([len(ids)], ids, steps, document.ends), dtype="<i4", casting="unsafe").tobytes())
    return document
