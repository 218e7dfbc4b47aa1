"""Hashes of prompts and haystacks; what many of one source have in common is encoded and hashed once."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from itertools import accumulate
from typing import TYPE_CHECKING

from haystack_fixtures.haystacks.cuts import Cut
from haystack_fixtures.haystacks.source import HaystackSource
from haystack_fixtures.haystacks.splice import Piece

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
            digest.update(encoded.between(piece.start, piece.end))
    return digest.hexdigest()


def _encoded(source: HaystackSource) -> _Utf8:
    return source.remember("utf-8", lambda: _Utf8(source.text))


class _Utf8:
    """A text in UTF-8, with hashes of what begins like it at hand."""

    def __init__(self, text: str) -> None:
        self._text = text
        blocks = [text[at : at + _BLOCK].encode("utf-8", "surrogatepass") for at in range(0, len(text) + 1, _BLOCK)]
        self._data = memoryview(b"".join(blocks))
        self._places = [0, *accumulate(map(len, blocks))]  # bytes before each block
        self._hashes: dict[str, list[_Hash]] = {}  # by what stands before the text: of it and all before each block

    def between(self, start: int, end: int) -> memoryview:
        """The bytes of some characters."""
        return self._data[self._place(start) : self._place(end)]

    def hash_before(self, char: int, head: str = "") -> _Hash:
        """A hash of `head` and the text up to a character, to go on with."""
        if head not in self._hashes:
            if len(self._hashes) >= _HEADS:
                self._hashes.clear()
            self._hashes[head] = [sha256(head.encode("utf-8", "surrogatepass"))]
        hashes, block = self._hashes[head], char // _BLOCK
        while len(hashes) <= block:
            following = hashes[-1].copy()
            following.update(self._data[self._places[len(hashes) - 1] : self._places[len(hashes)]])
            hashes.append(following)
        digest = hashes[block].copy()
        digest.update(self._tail(char))
        return digest

    def _place(self, char: int) -> int:
        return self._places[char // _BLOCK] + len(self._tail(char))

    def _tail(self, char: int) -> bytes:
        return self._text[char // _BLOCK * _BLOCK : char].encode("utf-8", "surrogatepass")
