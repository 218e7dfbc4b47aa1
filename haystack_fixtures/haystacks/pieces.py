"""Pieces of a text, and the tokens of one that is made of pieces."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from needlework.models.tokenizers.tokenizer import Encoded, Tokenizer, counting, words_apart

_WORDS_KEPT = 100_000
_UNKNOWN = -(10**9)
_SPACE = re.compile("(?<=[!-~]) ")  # that begins a word, where words stand apart


class Range(NamedTuple):
    """Characters start..end of an encoded text."""

    source: Encoded
    start: int
    end: int


class Counted:
    """A text whose tokens are counted at once, and made when they themselves are asked for (see `Encoded`)."""

    def __init__(self, text: str, count: int, encode: Callable[[str], Encoded]) -> None:
        self.text = text
        self.count = count
        self._encode = encode

    @property
    def ids(self) -> NDArray[np.int32]:
        """See `Encoded`."""
        return self._encoded.ids

    @property
    def starts(self) -> NDArray[np.int64]:
        """See `Encoded`."""
        return self._encoded.starts

    @cached_property
    def _encoded(self) -> Encoded:
        return self._encode(self.text)


Piece = str | Range
Segment = tuple[Encoded | Counted, int, int, int]
"""Tokens low..high of an encoded text whose character 0 stands at a place of the whole text."""


@dataclass(frozen=True, slots=True)
class Spliced:
    """The tokens of a whole text: runs out of encoded texts."""

    segments: tuple[Segment, ...]

    @property
    def count(self) -> int:
        """Tokens in all."""
        return sum(high - low for _, low, high, _ in self.segments)

    def ids(self, head: Sequence[int] = ()) -> NDArray[np.int32]:
        """All ids in one piece, behind those of `head`."""
        return np.concatenate(
            (np.asarray(head, np.int32), *(source.ids[low:high] for source, low, high, _ in self.segments))
        )

    def encoded(self, text: str) -> Encoded:
        """Ids and starts in one piece; `text` is the whole text."""
        starts = [source.starts[low:high] + shift for source, low, high, shift in self.segments]
        return Encoded(text, self.ids(), np.concatenate((np.empty(0, np.int64), *starts)))

    def tokens_before(self, place: int) -> int:
        """How many tokens begin before a place."""
        count = 0
        for source, low, high, shift in self.segments:
            if low < high and (at := place - shift) < len(source.text):
                if at <= 0:
                    return count
                if source.starts[high - 1] >= at:
                    return count + max(int(source.starts.searchsorted(at)) - low, 0)
            count += high - low
        return count

    def start(self, token: int) -> int | None:
        """Where a token begins; `None` behind the last."""
        for source, low, high, shift in self.segments:
            if token < high - low:
                return (int(source.starts[low + token]) if low + token else 0) + shift
            token -= high - low
        return None


def text_of(pieces: Sequence[Piece]) -> str:
    """The concatenation of the pieces."""
    return "".join(piece if isinstance(piece, str) else piece.source.text[piece.start : piece.end] for piece in pieces)


class WindowMemo:
    """Remembers encodings of short texts, the least recently used go first. May be shared by threads."""

    def __init__(self, tokenizer: Tokenizer, capacity: int = 4096) -> None:
        self._tokenizer = tokenizer
        self.encode = lru_cache(capacity)(tokenizer.encode)
        """`Tokenizer.encode`, or its earlier result."""
        self.counted = lru_cache(capacity)(self._counted)
        """The same text with its tokens counted; for a tokenizer whose words stand apart."""
        self._count = _WordCounts(counting(tokenizer), capacity).of

    @property
    def words_apart(self) -> bool:
        """See `tokenizer.words_apart`."""
        return words_apart(self._tokenizer)

    def _counted(self, text: str) -> Counted:
        return Counted(text, self._count(text), self.encode)


class _WordCounts(dict[str, int]):
    """How many tokens words have together with the space before them, where words stand apart."""

    def __init__(self, count: Callable[[str], int], capacity: int) -> None:
        """`capacity`: how many other texts are remembered, which begin or end one."""
        super().__init__()
        self._count = count
        self._count_edge = lru_cache(capacity)(count)

    def __missing__(self, word: str) -> int:
        if len(self) > _WORDS_KEPT:
            self.clear()
        count = self[word] = self._count(f" {word}") if ends_word(word) else _UNKNOWN
        return count

    def of(self, text: str) -> int:
        """The tokens of a text."""
        first, *words = text.split(" ")
        if not words or (first and not ends_word(first)):
            return self._count_edge(text)
        count = self._count_edge(first) if first else 0
        last = words.pop()
        among = sum(map(self.__getitem__, words))
        if among < 0:  # a space behind one of them begins no word
            *words, last = _SPACE.split(" ".join([*words, last]))
            among = sum(map(self.__getitem__, words))
        return count + among + (self[last] if ends_word(last) else self._count_edge(f" {last}"))


def ends_word(text: str) -> bool:
    """Whether a space behind a text begins a word, where words stand apart."""
    return "!" <= text[-1:] <= "~"
