"""Hashes of prompts and haystacks; what many of one source have in common is encoded and hashed once."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import accumulate
from typing import TYPE_CHECKING

from needlework.haystack_fixtures.haystacks.cuts import Cut
from needlework.haystack_fixtures.haystacks.pieces import Piece
from needlework.haystack_fixtures.haystacks.source import HaystackSource

if TYPE_CHECKING:
    from hashlib import _Hash

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
