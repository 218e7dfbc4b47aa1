"""Chunks of documents: how long they are, and where they break."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import regex
from numpy.typing import NDArray

from needlework.core.errors import InputError
from needlework.haystack_fixtures.haystacks.sentences import sentence_ends, splits_grapheme

SIZE, OVERLAP = "--chunk-size", "--chunk-overlap"
Span = tuple[int, int]
Unit = Literal["characters", "tokens"]
_Breaks = Sequence[NDArray[np.int64]]
_Measure = Callable[[int, int], int]
_PARAGRAPH = regex.compile(r"\n[^\S\n]*+\n\s*+")
_LINE = regex.compile(r"\n\s*+")
_VISIBLE = regex.compile(r"\S")
_WORD = regex.compile(r"\s++")


@dataclass(frozen=True, slots=True)
class Chunking:
    """The largest size of chunks and of their overlap, in `unit`."""

    size: int
    overlap: int
    unit: Unit


def chunking(size: str, overlap: str) -> Chunking:
    """Read `--chunk-size` and `--chunk-overlap`: `1000` characters, `1024t` tokens.
    An overlap without a unit has the size's. Raises `InputError`."""
    length, unit = _measure(SIZE, size, least=1)
    shared, overlap_unit = _measure(OVERLAP, overlap, least=0)
    if overlap_unit == "tokens" and unit == "characters":
        raise InputError(OVERLAP, overlap, f"is in tokens, {SIZE} {size} in characters: give both in one unit")
    if shared >= length:
        raise InputError(OVERLAP, overlap, f"must be below {SIZE} {size}: use at most {length - 1}")
    return Chunking(length, shared, unit)


def _measure(option: str, value: str, *, least: int) -> tuple[int, Unit]:
    match = re.fullmatch(r"([0-9]{1,9})(t?)", value.strip())
    if match is None or int(match[1]) < least:
        raise InputError(option, value, f"give {least} or more characters, such as 1000, or tokens, such as 1024t")
    return int(match[1]), "tokens" if match[2] else "characters"


def chunk_spans(text: str, rule: Chunking, starts: NDArray[np.int64] | None = None) -> list[Span]:
    """The spans (characters) of a text's chunks, in order; together they are all of it.

    A chunk ends behind the last paragraph that ends in its second half; without one behind the last line, sentence or
    word; without any between two characters as people see them. The next one begins in the same way within what may
    overlap. `starts`: where each token of the whole text begins, for sizes in tokens; a token that stands partly in a
    chunk counts as one of its tokens. Only a single character of more tokens than the size makes a longer chunk.
    """
    forward, back = _measures(len(text), np.arange(len(text)) if starts is None else starts)
    breaks = _breaks(text)
    spans: list[Span] = []
    start = done = 0
    while done < len(text):
        limit = max(forward(start, rule.size), done + 1)
        if limit >= len(text):
            end = len(text)
        else:
            least = max(forward(start, rule.size // 2), done)
            end = _last_break(breaks, least, limit) or _between_graphemes(text, limit, done)
        spans.append((start, end))
        done = end
        if rule.overlap:
            lowest = max(back(end, rule.overlap), forward(start, 1), start + 1)
            start = _first_break(text, breaks, min(lowest, end), end)
        else:
            start = end
        while start < end and forward(start, rule.size) <= end:  # a character of several tokens stands there
            start = min(end, max(start + 1, forward(start, 1)))
    return spans


def _measures(length: int, starts: NDArray[np.int64]) -> tuple[_Measure, _Measure]:
    """Distances in a text: the farthest end of n units after an offset, the earliest start before one."""

    def first(at: int) -> int:
        """The token that `at` stands in, the first of those that share a character."""
        token = int(starts.searchsorted(at))
        return token if token < len(starts) and starts[token] == at else max(0, token - 1)

    def forward(start: int, n: int) -> int:
        token = first(start) + n
        return int(starts[token]) if token < len(starts) else length

    def back(end: int, n: int) -> int:
        token = int(starts.searchsorted(end)) - n
        if token > 0 and starts[token - 1] == starts[token]:  # in the middle of a character: behind it
            token = int(starts.searchsorted(starts[token], "right"))
        return 0 if token <= 0 else int(starts[token]) if token < len(starts) else length

    return forward, back


def _breaks(text: str) -> _Breaks:
    """The places where a chunk may end, best kind first: paragraphs, lines, sentences, words.
    Each stands behind white space, so that the next chunk begins with something visible."""
    sentences = (
        match.start() for end in sentence_ends(text).tolist() if (match := _VISIBLE.search(text, end)) is not None
    )
    kinds: tuple[Iterable[int], ...] = (
        (match.end() for match in _PARAGRAPH.finditer(text)),
        (match.end() for match in _LINE.finditer(text)),
        sentences,
        (match.end() for match in _WORD.finditer(text)),
    )
    return tuple(np.fromiter(kind, np.int64) for kind in kinds)


def _last_break(breaks: _Breaks, least: int, limit: int) -> int | None:
    """The last break of the best kind that has one above `least` and up to `limit`."""
    for places in breaks:
        at = int(places.searchsorted(limit, "right"))
        if at and places[at - 1] > least:
            return int(places[at - 1])
    return None


def _first_break(text: str, breaks: _Breaks, lowest: int, end: int) -> int:
    """The start of the chunk after `end`: the first break of the best kind that the overlap allows.
    Breaks of words may be in all of the overlap, others in its first half."""
    half = lowest + (end - lowest) // 2
    for places, most in zip(breaks, (half, half, half, end), strict=True):
        at = int(places.searchsorted(lowest))
        if at < len(places) and places[at] <= most:
            return int(places[at])
    while lowest < end and splits_grapheme(text, lowest):
        lowest += 1
    return lowest


def _between_graphemes(text: str, limit: int, done: int) -> int:
    """The last place up to `limit` that splits no grapheme; `limit` if there is none behind `done`."""
    end = limit
    while end > done and splits_grapheme(text, end):
        end -= 1
    return end if end > done else limit
