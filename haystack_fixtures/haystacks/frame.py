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
from needlework.haystack_fixtures.haystacks.pieces import Counted, Piece, Range, Segment, Spliced, WindowMemo, text_of
from needlework.haystack_fixtures.haystacks.source import HaystackSource
from needlework.haystack_fixtures.haystacks.splice import last_word, next_word, splice_at_words

if TYPE_CHECKING:
    from hashlib import _Hash


Places = tuple[int, ...]
"""Characters of a haystack before which needles go in."""


class TokenPart(NamedTuple):
    """Tokens of a part of a prompt that begins or ends at a `place` of the source, where a word begins.

    `tokens`: how many there are, less or more those of the source up to there.
    """

    place: int
    segments: tuple[Segment, ...]
    tokens: int


@dataclass(frozen=True, slots=True)
class PromptFrame:
    """Everything but the cut. `joined`: needles stand beside the haystack as they are, without a gap.

    `of_context`: a draft counts the tokens of its context alone; with so many characters of `before` and of `after`.
    `heads`, `starts`: those made so far, by their places, where the source goes on behind these; `ending`: what stands
    behind the context, once it is parted.
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
    starts: dict[Places, TokenPart | None] = field(default_factory=dict, compare=False, repr=False)
    ending: list[tuple[str, Counted]] = field(default_factory=list, compare=False, repr=False)


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


# Such a prompt is parted where words begin: up to behind the last needle, which is the same for all cuts; then so much
# of the source; the end of the haystack with the word behind it, which is the same for all needles; and the rest.
_SHORT = 1000  # characters of a haystack that is counted word by word


def count_of(frame: PromptFrame, cut: Cut, places: Places) -> int | None:
    """The count of a cut's draft; `None` where that has to be made."""
    if frame.of_context is not None or not frame.memo.words_apart:
        return None
    if cut.chars <= _SHORT:
        return _count_by_words(frame, cut, places) + frame.bos
    parts = _parts(frame, cut, places)
    if parts is not None:
        start, end, rest = parts
        return start.tokens + end.tokens + rest.count + frame.bos
    spliced = spliced_in_parts(frame, cut, places)
    return None if spliced is None else spliced.count + frame.bos


def _count_by_words(frame: PromptFrame, cut: Cut, places: Places) -> int:
    """The tokens of a short prompt: those of its words, of which other prompts have most too."""
    counted, head = frame.memo.counted, head_of(frame, cut, places)
    at = max(0, last_word(frame.before, 0, len(frame.before)))
    near, rest = _ending(frame)
    _, *behind = head.pieces
    text = text_of([frame.before[at:], *behind, *rest_of(frame, cut, head)[:-1], near])
    return counted(frame.before[:at]).count + counted(text).count + rest.count


def _ending(frame: PromptFrame) -> tuple[str, Counted]:
    """What stands behind the context: up to its first word, and the rest; the same for all cuts."""
    if not frame.ending:
        at = next_word(frame.after, 0, len(frame.after))
        at = at if at > 0 else len(frame.after)
        frame.ending.append((frame.after[:at], frame.memo.counted(frame.after[at:])))
    return frame.ending[0]


def spliced_in_parts(frame: PromptFrame, cut: Cut, places: Places) -> Spliced | None:
    """The tokens of a draft; `None` where words do not stand apart, or none begins near a seam."""
    if not frame.memo.words_apart:
        return None
    head = head_of(frame, cut, places)
    parts = _parts(frame, cut, places)
    if parts is None:
        return splice_at_words([*head.pieces, *rest_of(frame, cut, head)], frame.memo.counted)
    start, end, rest = parts
    encoded, shift = frame.source.encoded, head.end - head.char
    low, high = encoded.starts.searchsorted((start.place, end.place)).tolist()
    tail: list[Segment] = [(text, first, last, at + end.place + shift) for text, first, last, at in end.segments]
    close = head.end + cut.chars - head.char + len(frame.after) - len(rest.text)
    return Spliced((*start.segments, (encoded, low, high, shift), *tail, (rest, 0, rest.count, close)))


def _parts(frame: PromptFrame, cut: Cut, places: Places) -> tuple[TokenPart, TokenPart, Counted] | None:
    """The parts beside the source's own tokens; `None` where the haystack does not part so."""
    if not all(place < cut.end for place in places):
        return None
    if places not in frame.starts:
        frame.starts[places] = _start(frame, cut, places)
    start = frame.starts[places]
    near, rest = _ending(frame)
    end = frame.source.remember(("end", cut, near, frame.memo), lambda: _end(frame, cut, near))
    if start is None or end is None or start.place > end.place:
        return None
    return start, end, rest


def _start(frame: PromptFrame, cut: Cut, places: Places) -> TokenPart | None:
    """Up to the first word of the source behind the last needle, less the source's tokens before that."""
    source = frame.source
    head = head_of(frame, cut, places)
    place = next_word(source.text, head.char, cut.end)
    pieces = [*head.pieces, Range(source.encoded, head.char, place)]
    spliced = splice_at_words(pieces, frame.memo.counted) if place > 0 else None
    if spliced is None:
        return None
    return TokenPart(place, spliced.segments, spliced.count - int(source.encoded.starts.searchsorted(place)))


def _end(frame: PromptFrame, cut: Cut, near: str) -> TokenPart | None:
    """From the last word of the source to the first one behind the haystack, and the source's tokens before that."""
    source = frame.source
    place = last_word(source.text, 0, cut.end)
    pieces: list[Piece] = [Range(source.encoded, place, cut.end), Range(source.encoded, *cut.tail), cut.closer, near]
    spliced = splice_at_words(pieces, frame.memo.counted) if place > 0 else None
    if spliced is None:
        return None
    return TokenPart(place, spliced.segments, spliced.count + int(source.encoded.starts.searchsorted(place)))
