"""Pieces of a text, and the tokens of one that is made of pieces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from needlework.models.tokenizers.tokenizer import Encoded, Tokenizer


class Range(NamedTuple):
    """Characters start..end of an encoded text."""

    source: Encoded
    start: int
    end: int


Piece = str | Range
Segment = tuple[Encoded, int, int, int]
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
        self.encode = lru_cache(capacity)(tokenizer.encode)
        """`Tokenizer.encode`, or its earlier result."""
