"""The shingles of a text as 64-bit hashes: arrays, so that what texts have in common is counted fast."""

from __future__ import annotations

import sys
from functools import lru_cache

import numpy as np
import regex
from numpy.typing import NDArray

SHINGLE = 5  # words in a row; characters where words have no spaces between them
Shingles = NDArray[np.uint64]
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_BASE = np.uint64(0xD1342543DE82EF95)
_BETWEEN, _IN_WORD, _ALONE = range(3)  # kinds of characters; one of the last is a word by itself
_CHARACTERS = (
    (_IN_WORD, regex.compile(r"[\p{L}\p{N}\p{M}_]+")),
    (_ALONE, regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}]+")),
)


def shingles_of(text: str) -> Shingles:
    """The hashes of a text's shingles, case, punctuation and spaces aside: sorted, each once.

    A text of fewer words is one shingle; one that has no words counts whole.
    """
    codes = _code_points(text.casefold())
    words = _words(codes)
    if not len(words):
        words = _hashes(codes, np.array([0, len(codes)]))
    many = max(1, len(words) - SHINGLE + 1)
    mixed = np.zeros(many, np.uint64)
    for offset in range(min(SHINGLE, len(words))):
        mixed = _stirred((mixed + words[offset : offset + many]) * _MULTIPLIER)
    return np.unique(mixed)


def _words(codes: NDArray[np.uint32]) -> Shingles:
    """The hash of each word, in order."""
    kinds = _kinds()[codes]
    edges = np.ones(len(codes) + 1, np.bool_)
    np.logical_or(kinds[1:] != kinds[:-1], kinds[1:] == _ALONE, out=edges[1:-1])
    places = np.flatnonzero(edges)
    words: Shingles = _hashes(codes, places)[kinds[places[:-1]] != _BETWEEN]
    return words


def _hashes(codes: NDArray[np.uint32], places: NDArray[np.intp]) -> Shingles:
    """The hash of each piece between two places: the sum of its characters times the powers of a base."""
    if not len(codes):
        return np.zeros(len(places) - 1, np.uint64)
    starts, sizes = places[:-1], np.diff(places)
    powers = np.full(sizes.max(), _BASE)
    np.cumprod(powers, out=powers)
    within = np.arange(len(codes)) - np.repeat(starts, sizes)
    return _stirred(np.add.reduceat((codes + np.uint64(1)) * powers[within], starts) * _MULTIPLIER)


def _code_points(text: str) -> NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")


def _stirred(values: Shingles) -> Shingles:
    return values ^ (values >> np.uint64(32))


@lru_cache(1)
def _kinds() -> NDArray[np.uint8]:
    """The kind of each code point."""
    every = "".join(map(chr, range(sys.maxunicode + 1)))
    found = np.full(len(every), _BETWEEN, np.uint8)
    for kind, characters in _CHARACTERS:
        for match in characters.finditer(every):
            found[slice(*match.span())] = kind
    return found
