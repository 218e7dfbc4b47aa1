"""Sentence ends, found in text (never in tokens), for any script."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import pairwise

import numpy as np
import regex
from numpy.typing import NDArray

# Longer stretches (characters) without a sentence end are cut at line ends (lists, code), then at white space (Thai),
# and without any white space every so many graphemes.
_LINE_LIMIT = 600
_SPACE_LIMIT = 1500
_GRAPHEME_STEP = 200

_CLOSERS = r"""["'”’»›)\]}」』）》】〕〉］｝＂＇*_]*+"""
_TERMINATED = regex.compile(
    # Terminators that end a sentence only before white space: they also stand in numbers, names and abbreviations.
    rf"(?P<spaced>[.!?…]++){_CLOSERS}(?=\s|\Z)"
    # Terminators of scripts that do without white space, and doubled Chinese ellipses.
    rf"|(?:…{{2,}}+|[\p{{STerm}}｡．--[.!?]]++[\p{{STerm}}｡．…]*+){_CLOSERS}",
    regex.V1,
)
_EMPTY_LINE = regex.compile(r"\n[^\S\n]*+\n")
_BLANKS_BEFORE = regex.compile(r"(?r)\S[^\S\n]*+")
_LINE_END = regex.compile(r"(?<=\S)(?=[^\S\n]*+\n)")
_WORD_END = regex.compile(r"(?<=\S)(?=\s)")
_GRAPHEME = regex.compile(r"\X")
_NOT_BEFORE = regex.compile(r"[\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}]")
_NOT_AFTER = regex.compile(r"\p{GCB=Prepend}")
_LAST_WORD = regex.compile(r"[\p{L}\p{M}\p{N}.&]++\Z")
_LONGEST_WORD = 16  # characters to check before a full stop
_DOTTED = regex.compile(r"\p{L}\.(?:\p{L}{1,2}\.)*\p{L}{1,2}|\p{Lu}")
_NEXT_LOWER = regex.compile(r"\s++\p{Ll}")
# Without words that often end a sentence themselves ("no.", "sun.", "art.").
_ABBREVIATED = """
mr mrs ms mx dr prof rev fr hon sr jr st mt ft gen col maj capt lt sgt cmdr adm gov sen rep pres supt messrs mme mlle
vs etc cf al viz approx ca nos vol vols ed eds fig figs eq eqs sec ch pp p ibid inc ltd co corp bros dept univ assn
est jan feb apr jun jul aug sep sept oct nov dec tue tues thu thur thurs ave blvd rd
ph.d bzw usw nr bd hr hrsg vgl sra srta dña núm pág
"""
_ABBREVIATIONS = frozenset(_ABBREVIATED.split())


def sentence_ends(text: str) -> NDArray[np.int64]:
    """Character offsets just after each sentence of text, ascending; int64 [sentences].

    An end stands after the terminator and its closing quotes or brackets, before the white space that follows, and
    never inside a grapheme. Paragraph breaks and the last visible character end a sentence too. Text with few
    terminators is cut at line ends, then at white space. Empty for text of white space only.
    """
    visible = len(text.rstrip())
    if not visible:
        return np.empty(0, np.int64)
    terminated = (
        match.end()
        for match in _TERMINATED.finditer(text)
        if match["spaced"] is None or not _continues(text, match["spaced"], match.start(), match.end())
    )
    before_gaps = (_BLANKS_BEFORE.match(text, 0, gap.start()) for gap in _EMPTY_LINE.finditer(text, 0, visible))
    ends = sorted({visible, *terminated, *(before.start() + 1 for before in before_gaps if before)})
    for pattern, limit in ((_LINE_END, _LINE_LIMIT), (_WORD_END, _SPACE_LIMIT)):
        ends = _refined(ends, limit, partial(_matches, pattern, text))
    ends = [end for end in ends if not splits_grapheme(text, end)]
    return np.asarray(_refined(ends, _SPACE_LIMIT, partial(_graphemes, text)), np.int64)


def splits_grapheme(text: str, offset: int) -> bool:
    """Whether offset is before a combining mark, joiner or variation selector, or after a prefix (U+0600)."""
    if not 0 < offset < len(text):
        return False
    after, before = text[offset], text[offset - 1]
    if after.isascii() and before.isascii():
        return before == "\r" and after == "\n"
    return _NOT_BEFORE.match(after) is not None or _NOT_AFTER.match(before) is not None


def _matches(pattern: regex.Pattern[str], text: str, start: int, end: int) -> Iterator[int]:
    return (match.start() for match in pattern.finditer(text, start, end))


def _continues(text: str, stop: str, start: int, end: int) -> bool:
    """Whether a terminator before white space, at start..end with its closers, does not end its sentence."""
    if stop != ".":
        # `"Really?" he said`, `Well... perhaps`
        quoted = end > start + len(stop)
        return (quoted or stop[-1] in ".…") and _NEXT_LOWER.match(text, end) is not None
    if end > start + 1:
        return False
    word = _LAST_WORD.search(text, max(0, start - _LONGEST_WORD), start)
    if word is None:
        return False
    shown = word.group().strip(".")
    if shown.isdigit():  # `1. First item`
        line = text[max(0, word.start() - 8) : word.start()]
        return len(shown) <= 3 and (not line.strip() or line.rstrip(" \t").endswith("\n"))
    return shown.lower() in _ABBREVIATIONS or _DOTTED.fullmatch(shown) is not None


def _refined(ends: list[int], limit: int, finer: Callable[[int, int], Iterable[int]]) -> list[int]:
    """Add finer ends inside every stretch longer than limit characters."""
    added = [
        offset
        for start, end in pairwise([0, *ends])
        if end - start > limit
        for offset in finer(start, end)
        if start < offset < end
    ]
    return sorted({*ends, *added}) if added else ends


def _graphemes(text: str, start: int, end: int) -> Iterator[int]:
    """Offsets between graphemes, a step apart."""
    position = start
    for match in _GRAPHEME.finditer(text, start, end):
        if match.end() - position >= _GRAPHEME_STEP:
            position = match.end()
            yield position
