"""The canonical tokens of a text put together from pieces, without encoding all of it.

Tokens depend on their neighbourhood only. So tokens of an already encoded source are right again wherever the text
around them is the same, and only a window around every seam has to be encoded. A window is trusted where its tokens
and the source's have run in step; until they do, it grows, in the end to the whole text.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from haystack_fixtures.tokenizers.tokenizer import Encoded, Tokenizer

_WINDOW = 32
_IN_STEP = 8
# A longer text is encoded once by itself and then a source too, so that searches do not encode it again and again.
_LONG = 1000


@dataclass(frozen=True, slots=True)
class Range:
    """Characters start..end of an encoded text."""

    source: Encoded
    start: int
    end: int


Piece = str | Range


@dataclass(frozen=True, slots=True)
class Segment:
    """Tokens low..high of an encoded text, whose character 0 is character `shift` of the whole."""

    encoded: Encoded
    low: int
    high: int
    shift: int


@dataclass(frozen=True, slots=True)
class Spliced:
    """The tokens of a whole text as runs of tokens from its parts."""

    segments: tuple[Segment, ...]

    @property
    def count(self) -> int:
        """Tokens in all."""
        return sum(segment.high - segment.low for segment in self.segments)

    def encoded(self, text: str) -> Encoded:
        """Ids and starts in one piece; `text` is the whole text."""
        if not self.segments:
            return Encoded(text, np.empty(0, np.int32), np.empty(0, np.int64))
        ids = np.concatenate([part.encoded.ids[part.low : part.high] for part in self.segments])
        starts = np.concatenate([part.encoded.starts[part.low : part.high] + part.shift for part in self.segments])
        return Encoded(text, ids, starts)


class WindowMemo:
    """Remembers the encodings of short texts, least recently used out first. Belongs to one caller and thread."""

    def __init__(self, tokenizer: Tokenizer, capacity: int = 4096) -> None:
        self._tokenizer = tokenizer
        self._capacity = capacity
        self._kept: OrderedDict[str, Encoded] = OrderedDict()

    def encode(self, text: str) -> Encoded:
        """`Tokenizer.encode`, or its earlier result."""
        found = self._kept.get(text)
        if found is not None:
            self._kept.move_to_end(text)
            return found
        found = self._tokenizer.encode(text)
        self._kept[text] = found
        if len(self._kept) > self._capacity:
            self._kept.popitem(last=False)
        return found


@dataclass(frozen=True, slots=True)
class _Placed:
    """A source range and the place of its source's character 0 in the whole text."""

    source: Encoded
    start: int
    end: int
    shift: int

    def text(self, start: int, end: int) -> str:
        return self.source.text[start - self.shift : end - self.shift]

    def index(self, place: int) -> int:
        """The first token that begins at or after a place of the whole text."""
        return int(self.source.starts.searchsorted(place - self.shift))

    def before(self, place: int, tokens: int) -> int:
        """A token start that many tokens before a place; this range's start when there are too few."""
        index = self.index(place) - tokens
        return max(self.start, int(self.source.starts[index]) + self.shift) if index > 0 else self.start

    def after(self, place: int, tokens: int) -> int:
        """A token start that many tokens after a place; this range's end when there are too few."""
        index = self.index(place) + tokens
        starts = self.source.starts
        return min(self.end, int(starts[index]) + self.shift) if index < len(starts) else self.end


@dataclass(frozen=True, slots=True)
class _Zone:
    """Text start..end that no source vouches for (a seam, a short text), with the window's reach in tokens."""

    start: int
    end: int
    reach: int = _WINDOW


def splice(pieces: Sequence[Piece], memo: WindowMemo) -> Spliced:
    """The canonical tokens of the pieces' concatenation: equal to encoding that text at once."""
    ranges, texts, zones, length = _lay_out(pieces, memo)
    while True:
        windows = _windows(zones, ranges, length)
        segments = _join(windows, ranges, texts, length, memo)
        if isinstance(segments, tuple):
            return Spliced(segments)
        # One window never came into step: it has to see more.
        zones = [
            replace(zone, reach=2 * zone.reach) if segments.start <= zone.start and zone.end <= segments.end else zone
            for zone in zones
        ]


def text_of(pieces: Sequence[Piece]) -> str:
    """The concatenation of the pieces."""
    return "".join(piece if isinstance(piece, str) else piece.source.text[piece.start : piece.end] for piece in pieces)


def _lay_out(
    pieces: Sequence[Piece], memo: WindowMemo
) -> tuple[list[_Placed], list[tuple[int, str]], list[_Zone], int]:
    """Source ranges, short texts with their places, and the zones between the ranges, in order."""
    ranges: list[_Placed] = []
    texts: list[tuple[int, str]] = []
    place = 0
    for piece in pieces:
        if isinstance(piece, str) and len(piece) > _LONG:
            piece = Range(memo.encode(piece), 0, len(piece))
        if isinstance(piece, str):
            if piece:
                texts.append((place, piece))
            place += len(piece)
        elif piece.end > piece.start:
            ranges.append(_Placed(piece.source, place, place + piece.end - piece.start, place - piece.start))
            place += piece.end - piece.start
    edges = [0, *(edge for part in ranges for edge in (part.start, part.end)), place]
    zones = [_Zone(start, end) for start, end in zip(edges[::2], edges[1::2], strict=True)]
    # Nothing changes where the whole text begins or ends as its source does.
    if ranges and zones[0].end == 0 and ranges[0].shift == 0:
        zones = zones[1:]
    if ranges and zones and zones[-1].start == place and ranges[-1].shift + len(ranges[-1].source.text) == place:
        zones = zones[:-1]
    return ranges, texts, zones, place


def _windows(zones: Sequence[_Zone], ranges: Sequence[_Placed], length: int) -> list[_Zone]:
    """What to encode: zones with their neighbourhood, merged where they meet. `reach` is not used any more."""
    wide: list[_Zone] = []
    ends_at = {part.end: part for part in ranges}
    starts_at = {part.start: part for part in ranges}
    for zone in zones:
        left, right = ends_at.get(zone.start), starts_at.get(zone.end)
        start = left.before(zone.start, zone.reach) if left else zone.start
        end = right.after(zone.end, zone.reach) if right else zone.end
        # A window that takes the whole of a range also takes what lies beyond it.
        if wide and (start <= wide[-1].end or (left is not None and start <= left.start)):
            start = wide.pop().start
        elif left is not None and start <= left.start:
            start = 0
        wide.append(_Zone(start, end))
    if wide and wide[-1].end >= length - 1:
        wide[-1] = replace(wide[-1], end=length)
    return _settled(wide, ranges)


def _settled(windows: list[_Zone], ranges: Sequence[_Placed]) -> list[_Zone]:
    """Merge windows that touch after all: one that ends with a range reaches into the next one."""
    del ranges
    merged: list[_Zone] = []
    for window in windows:
        if merged and window.start <= merged[-1].end:
            merged[-1] = replace(merged[-1], end=max(window.end, merged[-1].end))
        else:
            merged.append(window)
    return merged
