"""Finding whole values in normalised text.

A value is whole when nothing next to it would make it part of a longer one. What that means depends on the
character at its edge: a digit may not touch digits, letters, a decimal point or a sign; a letter may not touch letters,
digits, or a hyphen or apostrophe that joins another word; CJK and other scripts that are written without spaces need no
boundary, except that a numeral may not stand in a longer numeral (三 in 十三).
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

_CJK_NUMERALS = frozenset("〇零一二三四五六七八九十百千万萬亿億两兩壹贰叁肆伍陆柒捌玖拾佰仟")
_UNSPACED = ((0x0E00, 0x0EFF), (0x1000, 0x11FF), (0x1780, 0x17FF), (0x2E80, 0xABFF), (0xAC00, 0xD7FF), (0xF900, 0xFAFF))
_SUPPLEMENTARY_CJK = (0x20000, 0x3FFFF)
_CODE = re.compile(r"[a-z0-9-]{6,}")
_INNER_PUNCTUATION = r"[\s,;:\"'()]+"
_MIN_DIGITS = 4


class Span(NamedTuple):
    """A piece of text, from `start` up to `end`."""

    start: int
    end: int


class Cover:
    """Spans that can be asked, in logarithmic time, whether one of them holds another."""

    def __init__(self, spans: Iterable[Span]) -> None:
        ordered = sorted(spans)
        self._starts = [span.start for span in ordered]
        self._reach = list(accumulate((span.end for span in ordered), max))

    def holds(self, span: Span) -> bool:
        """Say whether `span` lies within one of the spans."""
        at = bisect_right(self._starts, span.start)
        return at > 0 and self._reach[at - 1] >= span.end


def find_whole(text: str, value: str) -> list[Span]:
    """Find `value` in `text` (both normalised, one line) wherever it stands as a whole value."""
    found: list[Span] = []
    if not value:
        return found
    numeral = all(char in _CJK_NUMERALS for char in value)
    at = text.find(value)
    while at >= 0:
        end = at + len(value)
        if _open_before(text, at, numeral) and _open_after(text, end, numeral):
            found.append(Span(at, end))
            at = text.find(value, end)
        else:
            at = text.find(value, at + 1)
    return found or _find_phrase(text, value)


def is_whole(text: str, start: int, end: int) -> bool:
    """Whether neither what stands before a piece of a text nor what follows it makes it a part of a longer value."""
    return _open_before(text, start, False) and _open_after(text, end, False)


def find_plain(text: str, piece: str) -> list[Span]:
    """Find `piece` in `text` wherever it stands, whole or not."""
    found: list[Span] = []
    at = text.find(piece) if piece else -1
    while at >= 0:
        found.append(Span(at, at + len(piece)))
        at = text.find(piece, at + len(piece))
    return found


def find_same_shape(text: str, value: str) -> list[Span]:
    """Find everything that looks like `value`: numbers with as many digits (4 or more), codes with as many signs.

    Words and names have no shape: an answer in prose is full of other words.
    """
    size = len(value)
    if value.isascii() and value.isdigit():
        if size < _MIN_DIGITS:
            return []
        return [Span(*match.span()) for match in _digits(size).finditer(text)]
    if not _CODE.fullmatch(value) or not any(char.isdigit() for char in value):
        return []
    hyphens = [place for place, char in enumerate(value) if char == "-"]
    return [
        Span(*match.span())
        for match in _code_of(size).finditer(text)
        if any(char.isdigit() for char in match[0])
        and [place for place, char in enumerate(match[0]) if char == "-"] == hyphens
    ]


@lru_cache(256)
def _digits(size: int) -> re.Pattern[str]:
    return re.compile(rf"(?<![\d.a-z_])\d{{{size}}}(?!\d|\.\d|[a-z_])")


@lru_cache(256)
def _code_of(size: int) -> re.Pattern[str]:
    return re.compile(rf"(?<![a-z0-9-])[a-z0-9-]{{{size}}}(?![a-z0-9-])")


def _find_phrase(text: str, value: str) -> list[Span]:
    """Find a phrase of three words or more with other punctuation between its words (`a sandwich, and sit`)."""
    words = value.split()
    if len(words) < 3 or not all(word.strip(",;:\"'()") in text for word in words):
        return []
    stripped = [word.strip(",;:\"'()") for word in words]
    pattern = _INNER_PUNCTUATION.join(re.escape(word) for word in stripped if word)
    spans = [Span(*match.span()) for match in re.finditer(pattern, text)]
    return [span for span in spans if is_whole(text, *span)]


def _open_before(text: str, start: int, numeral: bool) -> bool:
    if start == 0:
        return True
    first, before, further = text[start], text[start - 1], text[start - 2] if start > 1 else ""
    if numeral:
        return before not in _CJK_NUMERALS
    if not _is_word(first):
        return True
    if _is_word(before):
        return False
    if before == "-" and (_is_word(further) or first.isdigit()):
        return False
    if before == "'" and further.isalpha() and first.isalpha():
        return False
    if not (first.isdigit() and further.isdigit()):
        return True
    return before not in ".:" and not (before == "," and _is_short_group(text, start))


def _open_after(text: str, end: int, numeral: bool) -> bool:
    if end == len(text):
        return True
    last, after, further = text[end - 1], text[end], text[end + 1 : end + 2]
    if numeral:
        return after not in _CJK_NUMERALS
    if not _is_word(last):
        return True
    if _is_word(after) or (after == "-" and _is_word(further)):
        return False
    if not (last.isdigit() and further.isdigit()):
        return True
    return after not in ".:" and not (after == "," and _is_short_group(text, end + 1))


def _is_short_group(text: str, start: int) -> bool:
    """Say whether one or two digits start here: behind a comma they are decimals (`1234,5`), not another number."""
    return not text[start : start + 3].isdigit()


def _is_word(char: str) -> bool:
    """Say whether a character belongs to a word of a script that puts spaces between words."""
    if not char or char.isascii():
        return char.isalnum() or char == "_"
    if not (char.isalnum() or unicodedata.category(char)[0] == "M"):
        return False
    code = ord(char)
    low, high = _SUPPLEMENTARY_CJK
    return not (low <= code <= high or any(first <= code <= last for first, last in _UNSPACED))
