"""Texts made of pieces, and their tokens, without encoding all of it again."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from needlework.models.tokenizers.tokenizer import Encoded, Tokenizer

Encode = Callable[[str], Encoded]
"""Encodes a text, mostly with a cache of short ones (`remembering`)."""
_REMEMBERED = 4096


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

    def tokens_before(self, offset: int) -> int:
        """The number of tokens that begin before an offset."""
        count = 0
        for source, low, high, shift in self.segments:
            if low < high and (at := offset - shift) < len(source.text):
                if at <= 0:
                    return count
                if source.starts[high - 1] >= at:
                    return count + max(int(source.starts.searchsorted(at)) - low, 0)
            count += high - low
        return count

    def start(self, token: int) -> int | None:
        """The start of a token; `None` behind the last."""
        for source, low, high, shift in self.segments:
            if token < high - low:
                return (int(source.starts[low + token]) if low + token else 0) + shift
            token -= high - low
        return None


def text_of(pieces: Sequence[Piece]) -> str:
    """The concatenation of the pieces."""
    return "".join(piece if isinstance(piece, str) else piece.source.text[piece.start : piece.end] for piece in pieces)


def remembering(tokenizer: Tokenizer) -> Encode:
    """The tokenizer's `encode` with an LRU cache. May be shared by threads."""
    return lru_cache(_REMEMBERED)(tokenizer.encode)


# A token depends on its neighbourhood only. So the tokens of an already encoded source are right again wherever the
# text around them is the same, and only a window around every seam has to be encoded. A window is trusted from where
# its tokens and the source's run in step; while they do not, it grows, in the end to the whole text.
_REACH = 32
_IN_STEP = 8
# A longer text is encoded once and then used as a source: a search need not encode it at every step.
_LONG = 1000


class _TextPart(NamedTuple):
    """Places start..end of the whole text, which are characters start-shift..end-shift of a backing text."""

    start: int
    end: int
    shift: int
    text: str
    source: Encoded | None


class _Core(NamedTuple):
    """Tokens low..high of a source that no window covers. `number`: of its source part."""

    number: int
    start: int
    end: int
    shift: int
    source: Encoded
    low: int
    high: int

    def start_of(self, token: int) -> int:
        """The offset, in the whole text, of a token of the source."""
        starts = self.source.starts
        return (int(starts[token]) if token < len(starts) else len(self.source.text)) + self.shift


def splice(pieces: Sequence[Piece], encode: Encode) -> Spliced:
    """The canonical tokens of the pieces' concatenation: those of encoding it at once."""
    parts = _lay_out(pieces, encode)
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
        joined = _join(cores, parts, length, encode)
        if isinstance(joined, Spliced):
            return joined
        # The window between two cores is out of step: the reach of all between them has to grow.
        first, last = joined
        reach[first:last] = [2 * each or _REACH for each in reach[first:last]]


def _lay_out(pieces: Sequence[Piece], encode: Encode) -> list[_TextPart]:
    parts: list[_TextPart] = []
    end = 0
    for piece in pieces:
        if isinstance(piece, str) and len(piece) > _LONG:
            piece = Range(encode(piece), 0, len(piece))
        if isinstance(piece, str):
            part = _TextPart(end, end + len(piece), end, piece, None)
        else:
            part = _TextPart(end, end + piece.end - piece.start, end - piece.start, piece.source.text, piece.source)
        if part.end > part.start:
            parts.append(part)
            end = part.end
    return parts


def _cores(sources: Sequence[_TextPart], reach: Sequence[int]) -> list[_Core]:
    """The rest of each source without `reach` tokens on both sides of every seam; short ones vanish."""
    cores = []
    for number, part in enumerate(sources):
        assert part.source is not None
        starts = part.source.starts
        low = _between_chars(starts, int(starts.searchsorted(part.start - part.shift)) + reach[number])
        high = _between_chars(starts, int(starts.searchsorted(part.end - part.shift)) - reach[number + 1])
        if low < high:
            cores.append(_Core(number, part.start, part.end, part.shift, part.source, low, high))
    return cores


def _between_chars(starts: NDArray[np.int64], token: int) -> int:
    """A window begins and ends between characters: at the first of the tokens that share one."""
    while 0 < token < len(starts) and starts[token - 1] == starts[token]:
        token -= 1
    return token


def _join(cores: Sequence[_Core], parts: Sequence[_TextPart], length: int, encode: Encode) -> Spliced | tuple[int, int]:
    """Cores and windows in turn; or the seams first..last of the window that is out of step."""
    segments: list[Segment] = []
    left: _Core | None = None
    begin = 0  # the first token of the left core's source to take next
    for right in (*cores, None):
        start = left.start_of(left.high) if left else 0
        end = right.start_of(right.low) if right else length
        shown = [part for part in parts if part.start < end and start < part.end]
        slices = (part.text[max(start, part.start) - part.shift : min(end, part.end) - part.shift] for part in shown)
        window = encode("".join(slices))
        # The tokens where the window and its sides run in step. With nothing to encode, the source ends with the text.
        before: tuple[int, int] | None = (0, left.high if left else 0)
        after: tuple[int, int] | None = (0, right.low) if right else (len(window.ids), 0)
        if window.text and left:
            before = _in_step(window, start, left, before=left.end)
        if window.text and right:
            after = _in_step(window, start, right, after=right.start)
        if before is None or after is None:
            return left.number + 1 if left else 0, right.number + 1 if right else len(parts) + 1
        if left:
            segments.append((left.source, begin, before[1], left.shift))
        segments.append((window, before[0], after[0], start))
        left, begin = right, after[1]
    return Spliced(tuple(segments))


def _in_step(
    window: Encoded, start: int, core: _Core, *, before: int | None = None, after: int | None = None
) -> tuple[int, int] | None:
    """Find the first token of a run with equal starts and ids in the window and the core's source.

    Looks at tokens that begin before or after a place, and takes the last run: that is furthest from where the window
    was cut off, or from what the seam changed. `None` when no run is long enough.
    """
    starts, there_starts = window.starts, core.source.starts
    delta = start - core.shift
    first = 0 if after is None else int(starts.searchsorted(after - start))
    last = len(starts) if before is None else int(starts.searchsorted(before - start))
    seen = starts[first:last]
    index = there_starts.searchsorted(seen + delta)
    index += np.arange(first, last) - starts.searchsorted(seen)
    there = np.minimum(index, len(core.source.ids) - 1)
    same = (there == index) & (core.source.ids[there] == window.ids[first:last])
    same &= there_starts[there] == seen + delta
    places, run = there.tolist(), 0
    for number in range(len(places) - 1, -1, -1):
        follows = run and places[number] + 1 == places[number + 1]
        run = (run + 1 if follows else 1) if same[number] else 0
        if run == _IN_STEP:
            return first + number, places[number]
    return None
