"""Sentence ends, found in text (never in tokens), for any script."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial

import numpy as np
import regex
from numpy.typing import NDArray

# Longer stretches (characters) without a sentence end are cut at line ends (lists, code), then at white space (Thai),
# and without any white space every so many graphemes.
_LINE_LIMIT = 600
_SPACE_LIMIT = 1500
_GRAPHEME_STEP = 200
_BASIC = 0x10000  # code points of the basic plane

_CLOSING = r""""'”’»›)\]}」』）》】〕〉］｝＂＇*_"""
_CLOSERS = rf"[{_CLOSING}]*+"
_TERMINATED = regex.compile(
    # Terminators that end a sentence only before white space: they also stand in numbers, names and abbreviations.
    rf"(?P<spaced>[.!?…]++){_CLOSERS}(?=\s|\Z)"
    # Terminators of scripts that do without white space, and doubled Chinese ellipses.
    rf"|(?:…{{2,}}+|[\p{{STerm}}｡．--[.!?]]++[\p{{STerm}}｡．…]*+){_CLOSERS}",
    regex.V1,
)
_LINE_END = regex.compile(r"(?<=\S)[^\S\n]*+\n")
_WORD_END = regex.compile(r"(?<=\S)(?=\s)")
_GRAPHEME = regex.compile(r"\X")
_NOT_BEFORE = regex.compile(r"[\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}]")
_NOT_AFTER = regex.compile(r"\p{GCB=Prepend}")
# The characters of `_TERMINATED`: those a match can begin with, those that need white space behind them, and those
# behind the others that belong to the match.
_CAN_END = regex.compile(r"[\p{STerm}.!?…｡．]", regex.V1)
_SPACED = regex.compile(r"[.!?…]")
_GOES_ON = regex.compile(rf"[\p{{STerm}}｡．…{_CLOSING}]", regex.V1)
_SPACE = regex.compile(r"\s")
_SPACES = regex.compile(r"\s++")
_LAST_WORD = regex.compile(r"[\p{L}\p{M}\p{N}.&]++\Z")
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
_LONGEST_ABBREVIATION = max(map(len, _ABBREVIATIONS))


def sentence_ends(text: str) -> NDArray[np.int64]:
    """Character offsets just after each sentence of text, ascending; int64 [sentences].

    An end stands after the terminator and its closing quotes or brackets, before the white space that follows, and
    never inside a grapheme. Paragraph breaks and the last visible character end a sentence too. Text with few
    terminators is cut at line ends, then at white space. Empty for text of white space only.
    """
    visible = len(text.rstrip())
    if not visible:
        return np.empty(0, np.int64)
    codes = np.frombuffer(f"{text} ".encode("utf-32-le", "surrogatepass"), np.uint32)
    found = np.fromiter(_terminated(text, codes), np.int64)
    breaks = np.fromiter(_paragraph_ends(text, codes), np.int64)
    ends = np.union1d(np.union1d(found, breaks), np.asarray([visible], np.int64))
    for pattern, limit in ((_LINE_END, _LINE_LIMIT), (_WORD_END, _SPACE_LIMIT)):
        ends = _refined(ends, limit, partial(_matches, pattern, text))
    ends = _between_graphemes(codes, ends[(ends > 0) & (ends <= visible)])
    return _refined(ends, _SPACE_LIMIT, partial(_graphemes, text))


def splits_grapheme(text: str, offset: int) -> bool:
    """Whether offset stands before a combining mark, joiner or variation selector, or after a prefix such as U+0600."""
    if not 0 < offset < len(text):
        return False
    after, before = text[offset], text[offset - 1]
    if after.isascii() and before.isascii():
        return before == "\r" and after == "\n"
    return _NOT_BEFORE.match(after) is not None or _NOT_AFTER.match(before) is not None


def _between_graphemes(codes: NDArray[np.uint32], ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """The ends that split no grapheme, see `splits_grapheme`; one character of `codes` stands behind the text."""
    before, after = codes[ends - 1], codes[ends]
    split = (before == ord("\r")) & (after == ord("\n"))
    beyond = (before > 127) | (after > 127)
    split |= beyond & (_among(_NOT_BEFORE, after) | _among(_NOT_AFTER, before))
    kept: NDArray[np.int64] = ends[~split | (ends == len(codes) - 1)]
    return kept


def _among(pattern: regex.Pattern[str], codes: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """Which characters a pattern of one character matches."""
    found = _basic(pattern)[np.minimum(codes, _BASIC)]
    for place in np.flatnonzero(codes >= _BASIC).tolist():
        found[place] = pattern.match(chr(codes[place])) is not None
    return found


@cache
def _basic(pattern: regex.Pattern[str]) -> NDArray[np.bool_]:
    """Which characters of the basic plane a pattern of one character matches, and one more that says no."""
    table = np.zeros(_BASIC + 1, np.bool_)
    table[[match.start() for match in pattern.finditer("".join(map(chr, range(_BASIC))))]] = True
    return table


def _paragraph_ends(text: str, codes: NDArray[np.uint32]) -> Iterator[int]:
    """Ends of visible text before white space with two line feeds or more; `codes` ends with a space."""
    feeds = np.flatnonzero(codes == ord("\n"))
    near = np.flatnonzero((np.diff(feeds) == 1) | _among(_SPACE, codes[feeds[:-1] + 1]))
    for first, second in zip(feeds[near].tolist(), feeds[near + 1].tolist(), strict=True):
        if second == first + 1 or _SPACES.fullmatch(text, first + 1, second):
            end = first
            while end and _SPACE.match(text, end - 1):
                end -= 1
            if end:
                yield end


def _matches(pattern: regex.Pattern[str], text: str, start: int, end: int) -> Iterator[int]:
    return (match.start() for match in pattern.finditer(text, start, end))


def _terminated(text: str, codes: NDArray[np.uint32]) -> Iterator[int]:
    """What scanning for `_TERMINATED` finds, looking only where a match can begin; `codes` ends with a space.

    Most ends are one terminator with nothing but white space, or an ordinary letter, behind it: these need no match.
    """
    places = np.flatnonzero(_among(_CAN_END, codes))
    spaced, behind = _among(_SPACED, codes[places]), codes[places + 1]
    alone = np.where(spaced, _among(_SPACE, behind), ~_among(_GOES_ON, behind))
    done = 0
    for place, is_spaced, is_alone in zip(places.tolist(), spaced.tolist(), alone.tolist(), strict=True):
        if place < done:
            continue
        stop: str | None
        if is_alone:
            done, stop = place + 1, text[place] if is_spaced else None
        else:
            match = _TERMINATED.match(text, place)
            if match is None:
                continue
            done, stop = match.end(), match["spaced"]
        if stop is None or not _continues(text, stop, place, done):
            yield done


def _continues(text: str, stop: str, start: int, end: int) -> bool:
    """Whether a terminator before white space, at start..end with its closers, does not end its sentence."""
    if stop != ".":
        # `"Really?" he said`, `Well... perhaps`
        quoted = end > start + len(stop)
        return (quoted or stop[-1] in ".…") and _NEXT_LOWER.match(text, end) is not None
    if end > start + 1:
        return False
    last = text[max(0, start - _LONGEST_ABBREVIATION - 1) : start]
    letters = last[last.rfind(" ") + 1 :]
    if len(letters) > 1 and letters.isascii() and letters.isalpha():
        # A word of plain letters (in full, or longer than any abbreviation): the usual case, told without a search.
        return letters.lower() in _ABBREVIATIONS
    word = _LAST_WORD.search(text, max(0, start - 16), start)
    if word is None:
        return False
    shown = word.group().strip(".")
    if shown.isdigit():  # `1. First item`
        line = text[max(0, word.start() - 8) : word.start()]
        return len(shown) <= 3 and (not line.strip() or line.rstrip(" \t").endswith("\n"))
    return shown.lower() in _ABBREVIATIONS or _DOTTED.fullmatch(shown) is not None


def _refined(ends: NDArray[np.int64], limit: int, finer: Callable[[int, int], Iterator[int]]) -> NDArray[np.int64]:
    """Add finer ends inside every stretch longer than limit characters."""
    starts = np.concatenate((np.zeros(1, np.int64), ends[:-1]))
    added = [
        offset
        for start, end in zip(starts[ends - starts > limit], ends[ends - starts > limit], strict=True)
        for offset in finer(int(start), int(end))
        if start < offset < end
    ]
    return np.union1d(ends, np.asarray(added, np.int64)) if added else ends


def _graphemes(text: str, start: int, end: int) -> Iterator[int]:
    """Offsets between graphemes, a step apart."""
    position = start
    for match in _GRAPHEME.finditer(text, start, end):
        if match.end() - position >= _GRAPHEME_STEP:
            position = match.end()
            yield position
