"""What stands around a haystack, where needles are placed, hashes of the result."""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple

import regex

from needlework.haystack_fixtures.haystacks.cuts import Cut
from needlework.haystack_fixtures.haystacks.pieces import Piece, Range, WindowMemo
from needlework.haystack_fixtures.haystacks.source import HaystackSource

if TYPE_CHECKING:
    from hashlib import _Hash


Places = tuple[int, ...]
"""Characters of a haystack before which needles go in."""


@dataclass(frozen=True, slots=True)
class PromptFrame:
    """Everything but the cut. `joined`: needles stand beside the haystack as they are, without a gap.

    `of_context`: a draft counts the tokens of its context alone; with so many characters of `before` and of `after`.
    `heads`: those made so far, by their places, where the source goes on behind these.
    """

    before: str
    after: str
    source: HaystackSource
    needles: Sequence[tuple[str, str]]
    depths: Sequence[float]
    bos: int
    memo: WindowMemo
    joined: bool = False
    of_context: tuple[int, int] | None = None
    heads: dict[Places, PromptHead] = field(default_factory=dict, compare=False, repr=False)


class PromptHead(NamedTuple):
    """A prompt up to its last needle, which ends at `end`; `char` characters of the haystack stand before that."""

    pieces: tuple[Piece, ...]
    spans: tuple[tuple[int, int], ...]
    counted: tuple[tuple[int, int], ...]
    char: int
    end: int


def head_of(frame: PromptFrame, cut: Cut, places: Places) -> PromptHead:
    """The head with needles at these places; the same for all cuts where the source goes on behind them."""
    goes_on = all(place < cut.end for place in places)
    found = frame.heads.get(places) if goes_on else None
    if found is None:
        found = _head_of(frame, cut, places)
        if goes_on:
            frame.heads[places] = found
    return found


def rest_of(frame: PromptFrame, cut: Cut, head: PromptHead) -> list[Piece]:
    """The pieces behind a head."""
    return [*_stretch(frame.source, cut, head.char, cut.chars), frame.after]


def _head_of(frame: PromptFrame, cut: Cut, places: Places) -> PromptHead:
    source, closes = frame.source, frame.source.closes
    pieces: list[Piece] = [frame.before]
    here = len(frame.before)
    spans, counted = [(0, 0)] * len(places), [(0, 0)] * len(places)
    char, last = 0, ""  # how much of the haystack stands already, and what the context ends with
    order = sorted(range(len(places)), key=places.__getitem__)
    for position, number in enumerate(order):
        place, needle = places[number], frame.needles[number][1]
        if place > char:
            pieces += _stretch(source, cut, char, place)
            last = _char(source, cut, place - 1)
            here += place - char
            char = place
        ahead = "" if frame.joined else gap(last, needle)
        last_here = all(places[other] > place for other in order[position + 1 :])
        behind = closes
        if not closes and not frame.joined and last_here and place < cut.chars:
            behind = gap(needle, _char(source, cut, place))
        pieces += [ahead, needle, behind]
        start = here + len(ahead)
        spans[number] = (start, start + len(needle))
        counted[number] = (here, start + len(needle) + len(behind))
        here, last = counted[number][1], behind or needle
    return PromptHead(tuple(pieces), tuple(spans), tuple(counted), char, here)


def _stretch(source: HaystackSource, cut: Cut, start: int, end: int) -> list[Piece]:
    """The haystack between two places; a place lies in the source's text, or at the very end."""
    pieces: list[Piece] = [Range(source.encoded, start, min(end, cut.end))] if start < cut.end else []
    if start < end == cut.chars:
        if cut.tail[0] < cut.tail[1]:
            pieces.append(Range(source.encoded, *cut.tail))
        pieces.append(cut.closer)
    return pieces


def _char(source: HaystackSource, cut: Cut, offset: int) -> str:
    """One character of the haystack."""
    if offset < cut.end:
        return source.text[offset]
    offset += cut.tail[0] - cut.end
    return source.text[offset] if offset < cut.tail[1] else cut.closer


_CJK = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}\u3000-\u303f\u30fb\u30fc\uff01-\uff0f\uff1a-\uff1f\uff3b-\uff65]"
)
# Marks that Chinese shares with Latin: they are as wide as their neighbour.
_SHARED = frozenset("“”‘’…—")


def even_depths(depth: float, n: int) -> list[float]:
    """Depths of n needles spaced evenly over what lies below the first (LLMTest, EvalScope)."""
    return [depth + k * (100 - depth) / n for k in range(n)]


def spaced_depths(depth: float, diff: float, n: int) -> list[float]:
    """Depths of n needles that lie diff percent apart, none below 100 (OpenCompass, as documented)."""
    return [min(100.0, depth + k * diff) for k in range(n)]


def place_for(source: HaystackSource, depth: float, cut: Cut) -> int:
    """Before which character of the haystack a needle goes in: the place nearest in tokens to its depth.

    Places are the haystack's start, its sentence ends, and its end. Depth 0 is the start and 100 the end, always.
    """
    if depth <= 0:
        return 0
    if depth >= 100:
        return cut.chars
    ends, tokens, inner = source.end_places, source.end_tokens, _inner(source, cut)
    wanted = depth / 100 * cut.tokens
    below = bisect_left(tokens, wanted, 0, inner)  # sentences that end before it
    before = tokens[below - 1] if below else 0
    behind = tokens[below] if below < inner else cut.tokens
    if wanted - before <= behind - wanted:
        return ends[below - 1] if below else 0
    return ends[below] if below < inner else cut.chars


def longer_beside(source: HaystackSource, cut: Cut, place: int) -> int:
    """Tokens of the longer of the two sentences beside a place."""
    tokens, inner = source.end_tokens, _inner(source, cut)
    at = 0 if place == 0 else inner + 1 if place == cut.chars else 1 + bisect_left(source.end_places, place)
    numbers = range(max(0, at - 1), min(inner + 1, at + 1) + 1)
    around = [0 if number == 0 else cut.tokens if number > inner else tokens[number - 1] for number in numbers]
    return max(high - low for low, high in pairwise(around))


def _inner(source: HaystackSource, cut: Cut) -> int:
    """How many sentences end within a haystack, before its own end."""
    return (bisect_right if cut.chars > cut.end else bisect_left)(source.end_places, cut.end)


def gap(left: str, right: str) -> str:
    """What stands between two texts that are joined: a space, or nothing where there is one or the script has none."""
    if not left or not right or left[-1].isspace() or right[0].isspace():
        return ""
    pair = (left[-1], right[0])
    if pair[0].isascii() and pair[1].isascii():
        return " "
    wide = [_CJK.match(char) is not None for char in pair]
    close = all(is_wide or char in _SHARED for is_wide, char in zip(wide, pair, strict=True))
    return "" if close and any(wide) else " "


_BLOCK = 4096  # characters
_HEADS = 4


def filler_sha256(source: HaystackSource, cut: Cut) -> str:
    """Hash of a haystack, needles left out."""
    digest = _encoded(source).hash_before(cut.end)
    digest.update(f"{source.text[cut.tail[0] : cut.tail[1]]}{cut.closer}".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def text_sha256(source: HaystackSource, pieces: Sequence[Piece]) -> str:
    """Hash of a text out of pieces; those that are no strings belong to the source."""
    encoded = _encoded(source)
    head, first = (pieces[0], pieces[1]) if len(pieces) > 1 else ("", "")
    if isinstance(head, str) and not isinstance(first, str) and first.start == 0:
        digest, pieces = encoded.hash_before(first.end, head), pieces[2:]
    else:
        digest = sha256()
    for piece in pieces:
        if isinstance(piece, str):
            digest.update(piece.encode("utf-8", "surrogatepass"))
        else:
            for data in encoded.between(piece.start, piece.end):
                digest.update(data)
    return digest.hexdigest()


def _encoded(source: HaystackSource) -> _Utf8:
    return source.remember("utf-8", lambda: _Utf8(source.text, source.corpus_chars))


class _Utf8:
    """A text in UTF-8 that comes again after a number of characters, with hashes of what begins like it at hand."""

    def __init__(self, text: str, period: int) -> None:
        self._text = text
        self._period = min(max(1, len(text)), period)
        starts = range(0, self._period, _BLOCK)
        blocks = [text[at : min(at + _BLOCK, self._period)].encode("utf-8", "surrogatepass") for at in starts]
        self._data = memoryview(b"".join(blocks))
        self._places = [0, *accumulate(map(len, blocks))]  # bytes before each block of one period
        self._hashes: dict[str, list[_Hash]] = {}  # by what stands before the text: of it and all before each block
        self._lock = threading.Lock()  # prompts of one source are built in several threads

    def between(self, start: int, end: int) -> Iterator[memoryview]:
        """The bytes of some characters."""
        while start < end:
            passed, first = divmod(start, self._period)
            last = min(self._period, end - passed * self._period)
            yield self._data[self._place(first) : self._place(last)]
            start = passed * self._period + last

    def hash_before(self, char: int, head: str = "") -> _Hash:
        """A hash of `head` and the text up to a character, to go on with."""
        passed, place = divmod(char, self._period)
        with self._lock:
            digest = self._hash_of_blocks(head, passed * (len(self._places) - 1) + place // _BLOCK)
        digest.update(self._tail(place))
        return digest

    def _hash_of_blocks(self, head: str, number: int) -> _Hash:
        """A hash of `head` and so many blocks of the text that comes again and again."""
        if head not in self._hashes:
            if len(self._hashes) >= _HEADS:
                self._hashes.clear()
            self._hashes[head] = [sha256(head.encode("utf-8", "surrogatepass"))]
        hashes, count = self._hashes[head], len(self._places) - 1
        while len(hashes) <= number:
            block = (len(hashes) - 1) % count
            following = hashes[-1].copy()
            following.update(self._data[self._places[block] : self._places[block + 1]])
            hashes.append(following)
        return hashes[number].copy()

    def _place(self, char: int) -> int:
        return len(self._data) if char == self._period else self._places[char // _BLOCK] + len(self._tail(char))

    def _tail(self, char: int) -> bytes:
        return self._text[char // _BLOCK * _BLOCK : char].encode("utf-8", "surrogatepass")
