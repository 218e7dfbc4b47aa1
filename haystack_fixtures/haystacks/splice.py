"""The canonical tokens of a text put together from pieces, without encoding all of it.

A token depends on its neighbourhood only. So the tokens of an already encoded source are right again wherever the
text around them is the same, and only a window around every seam has to be encoded. A window is trusted from where
its tokens and the source's run in step; while they do not, it grows, in the end to the whole text.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from haystack_fixtures.tokenizers.tokenizer import Encoded, Tokenizer

_REACH = 32
_IN_STEP = 8
# A longer text is encoded once by itself and is a source then, so that a search does not encode it at every step.
_LONG = 1000


@dataclass(frozen=True, slots=True)
class Range:
    """Characters start..end of an encoded text."""

    source: Encoded
    start: int
    end: int


Piece = str | Range


@dataclass(frozen=True, slots=True)
class Spliced:
    """The tokens of a whole text: runs low..high out of encoded texts whose character 0 stands at `shift`."""

    segments: tuple[tuple[Encoded, int, int, int], ...]

    @property
    def count(self) -> int:
        """Tokens in all."""
        return sum(high - low for _, low, high, _ in self.segments)

    def encoded(self, text: str) -> Encoded:
        """Ids and starts in one piece; `text` is the whole text."""
        if not self.segments:
            return Encoded(text, np.empty(0, np.int32), np.empty(0, np.int64))
        ids = np.concatenate([part.ids[low:high] for part, low, high, _ in self.segments])
        starts = np.concatenate([part.starts[low:high] + shift for part, low, high, shift in self.segments])
        return Encoded(text, ids, starts)


class WindowMemo:
    """Remembers encodings of short texts, the least recently used go first. Belongs to one caller and one thread."""

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
class _Part:
    """Places start..end of the whole text, which are characters start-shift..end-shift of a backing text."""

    start: int
    end: int
    shift: int
    text: str
    source: Encoded | None


@dataclass(frozen=True, slots=True)
class _Core:
    """Tokens low..high of a source that no window covers. `number`: which of the source parts it belongs to."""

    number: int
    start: int
    end: int
    shift: int
    source: Encoded
    low: int
    high: int

    def place(self, token: int) -> int:
        """Where a token of the source begins in the whole text."""
        starts = self.source.starts
        return (int(starts[token]) if token < len(starts) else len(self.source.text)) + self.shift


def splice(pieces: Sequence[Piece], memo: WindowMemo) -> Spliced:
    """The canonical tokens of the pieces' concatenation: those of encoding it at once."""
    parts = _lay_out(pieces, memo)
    length = parts[-1].end if parts else 0
    sources = [part for part in parts if part.source is not None]
    reach = [_REACH] * (len(sources) + 1)
    # Where the whole text begins or ends as its source does, there is no seam.
    if sources and sources[0].start == sources[0].shift == 0:
        reach[0] = 0
    if sources and sources[-1].end == length == sources[-1].shift + len(sources[-1].text):
        reach[-1] = 0
    while True:
        cores = _cores(sources, reach)
        found = _join(cores, parts, length, memo)
        if isinstance(found, Spliced):
            return found
        # The window between two cores did not come into step: everything between them has to see more.
        first, last = found
        reach[first:last] = [2 * each for each in reach[first:last]]


def text_of(pieces: Sequence[Piece]) -> str:
    """The concatenation of the pieces."""
    return "".join(piece if isinstance(piece, str) else piece.source.text[piece.start : piece.end] for piece in pieces)


def _lay_out(pieces: Sequence[Piece], memo: WindowMemo) -> list[_Part]:
    parts: list[_Part] = []
    place = 0
    for piece in pieces:
        if isinstance(piece, str) and len(piece) > _LONG:
            piece = Range(memo.encode(piece), 0, len(piece))
        if isinstance(piece, str):
            part = _Part(place, place + len(piece), place, piece, None)
        else:
            part = _Part(place, place + piece.end - piece.start, place - piece.start, piece.source.text, piece.source)
        if part.end > part.start:
            parts.append(part)
            place = part.end
    return parts


def _cores(sources: Sequence[_Part], reach: Sequence[int]) -> list[_Core]:
    """What is left of each source when `reach` tokens beside every seam are taken off; short ones vanish."""
    cores = []
    for number, part in enumerate(sources):
        assert part.source is not None
        starts = part.source.starts
        low = int(starts.searchsorted(part.start - part.shift)) + reach[number]
        high = int(starts.searchsorted(part.end - part.shift)) - reach[number + 1]
        if low >= high:
            continue
        # A window begins and ends between characters: at the first of the tokens that share one.
        low = int(starts.searchsorted(starts[low]))
        high = int(starts.searchsorted(starts[high])) if high < len(starts) else high
        if low < high:
            cores.append(_Core(number, part.start, part.end, part.shift, part.source, low, high))
    return cores


def _join(cores: Sequence[_Core], parts: Sequence[_Part], length: int, memo: WindowMemo) -> Spliced | tuple[int, int]:
    """Cores and windows in turn; or the seams first..last of the window that is out of step."""
    segments: list[tuple[Encoded, int, int, int]] = []
    left: _Core | None = None
    begin = 0  # the first token of the left core's source that is still to be taken
    for right in (*cores, None):
        start = left.place(left.high) if left else 0
        end = right.place(right.low) if right else length
        window = memo.encode(_slice(parts, start, end))
        low, high = 0, len(window.ids)
        if left:
            # With nothing to encode, the source ends with the text.
            met = _in_step(window, start, left, before=left.end) if end > start else (0, left.high)
            if met is None:
                return left.number + 1, right.number + 1 if right else len(parts) + 1
            low, joined = met
            segments.append((left.source, begin, joined, left.shift))
        if right:
            met = _in_step(window, start, right, after=right.start) if end > start else (0, right.low)
            if met is None:
                return left.number + 1 if left else 0, right.number + 1
            high, begin = met
        segments.append((window, low, high, start))
        left = right
    return Spliced(tuple(segments))


def _slice(parts: Sequence[_Part], start: int, end: int) -> str:
    return "".join(
        part.text[max(start, part.start) - part.shift : min(end, part.end) - part.shift]
        for part in parts
        if part.start < end and start < part.end
    )


def _in_step(
    window: Encoded, place: int, core: _Core, *, before: int | None = None, after: int | None = None
) -> tuple[int, int] | None:
    """A token of the window and the token of the core's source from which some have the same starts and ids.

    Looks at tokens that begin before or after a place, and takes the last run: that is furthest from where the window
    was cut off, or from what the seam changed. `None` when no run is long enough.
    """
    starts = window.starts
    first = 0 if after is None else int(starts.searchsorted(after - place))
    last = len(starts) if before is None else int(starts.searchsorted(before - place))
    seen = starts[first:last]
    # Tokens that share a character have one start: count from the first of them.
    index = core.source.starts.searchsorted(seen + (place - core.shift))
    index += np.arange(first, last) - starts.searchsorted(seen)
    there = np.minimum(index, len(core.source.ids) - 1)
    same = (there == index) & (core.source.ids[there] == window.ids[first:last])
    same &= core.source.starts[there] == seen + (place - core.shift)
    places, run = there.tolist(), 0
    for number in range(len(places) - 1, -1, -1):
        follows = run and places[number] + 1 == places[number + 1]
        run = (run + 1 if follows else 1) if same[number] else 0
        if run == _IN_STEP:
            return first + number, places[number]
    return None
