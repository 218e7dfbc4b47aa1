"""Sentence ends, found in text (never in tokens), for any script."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import Any

import numpy as np
import regex
from numpy.typing import NDArray

# Longer stretches (characters) without a sentence end are cut at line ends (lists, code), then at white space (Thai),
# and without any white space every so many graphemes.
_LINE_LIMIT = 600
_SPACE_LIMIT = 1500
_GRAPHEME_STEP = 200
_BASIC = 0x10000  # code points of the basic plane
_ASCII = 127
_BREAK = "\n\n"

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
    return _ends(text, np.zeros(1, np.int64), np.asarray([visible], np.int64)) if visible else np.empty(0, np.int64)


def sentence_ends_of(texts: Sequence[str]) -> list[NDArray[np.int64]]:
    """`sentence_ends` of each text, found in one pass over all. Texts begin and end with a visible character."""
    sizes = np.fromiter(map(len, texts), np.int64, len(texts))
    stops = np.cumsum(sizes + len(_BREAK)) - len(_BREAK)
    starts = stops - sizes
    ends = _ends(_BREAK.join(texts), starts, stops)
    parts = np.split(ends, ends.searchsorted(starts[1:]))
    return [part - start for part, start in zip(parts, starts.tolist(), strict=True)]


def _ends(text: str, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sentence ends of texts that stand between starts and stops with paragraph breaks between them."""
    codes = np.frombuffer(f"{text} ".encode("utf-32-le", "surrogatepass"), np.uint32)
    ends = np.unique(np.concatenate((_terminated(text, codes), _paragraph_ends(text, codes), stops)))
    for pattern, limit in ((_LINE_END, _LINE_LIMIT), (_WORD_END, _SPACE_LIMIT)):
        ends = _refined(ends, starts, limit, partial(_matches, pattern, text))
    ends = ends[(ends > 0) & (ends <= stops[-1])]
    ends = ends[~_inside_graphemes(codes, ends)]
    if stops[-1] == len(text):  # nothing goes on there, whatever its last character
        ends = np.union1d(ends, stops)
    return _refined(ends, starts, _SPACE_LIMIT, partial(_graphemes, text))


def splits_grapheme(text: str, offset: int) -> bool:
    """Whether offset stands before a combining mark, joiner or variation selector, or after a prefix such as U+0600."""
    if not 0 < offset < len(text):
        return False
    after, before = text[offset], text[offset - 1]
    if after.isascii() and before.isascii():
        return before == "\r" and after == "\n"
    return _NOT_BEFORE.match(after) is not None or _NOT_AFTER.match(before) is not None


def _inside_graphemes(codes: NDArray[np.uint32], ends: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which ends split a grapheme, see `splits_grapheme`; one character of `codes` stands behind the text."""
    before, after = codes[ends - 1], codes[ends]
    split: NDArray[np.bool_] = (before == ord("\r")) & (after == ord("\n"))
    beyond = np.flatnonzero((before > _ASCII) | (after > _ASCII))
    split[beyond] = _among(_NOT_BEFORE, after[beyond]) | _among(_NOT_AFTER, before[beyond])
    return split


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


def _paragraph_ends(text: str, codes: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Ends of visible text before white space with two line feeds or more; `codes` ends with a space."""
    feeds = np.flatnonzero(codes == ord("\n"))
    if not len(feeds):
        return feeds
    first, second = feeds[:-1], feeds[1:]
    near = (second == first + 1) | _among(_SPACE, codes[first + 1])
    # Mostly two line feeds side by side behind a visible character.
    plain = near & (second == first + 1) & (first > 0) & ~_among(_SPACE, codes[first - 1])
    found = []
    for start, stop in zip(first[near & ~plain].tolist(), second[near & ~plain].tolist(), strict=True):
        if stop == start + 1 or _SPACES.fullmatch(text, start + 1, stop):
            end = start
            while end and _SPACE.match(text, end - 1):
                end -= 1
            if end:
                found.append(end)
    return np.concatenate((first[plain], np.asarray(found, np.int64)))


def _matches(pattern: regex.Pattern[str], text: str, start: int, end: int) -> Iterator[int]:
    return (match.start() for match in pattern.finditer(text, start, end))


def _terminated(text: str, codes: NDArray[np.uint32]) -> NDArray[np.int64]:
    """What scanning for `_TERMINATED` finds, looking only where a match can begin; `codes` ends with a space.

    Most ends are one terminator with nothing but white space, or an ordinary letter, behind it: these need no match,
    and most of them no look at the word before.
    """
    places = np.flatnonzero(_among(_CAN_END, codes))
    here, behind = codes[places], codes[places + 1]
    spaced, goes_on = _among(_SPACED, here), _among(_GOES_ON, behind)
    before_space = spaced & ~goes_on & _among(_SPACE, behind)
    alone = before_space | ~(spaced | goes_on)
    dots = np.flatnonzero(before_space & (here == ord(".")))
    ending, unclear = alone.copy(), before_space & (here == ord("…"))
    ending[dots], unclear[dots] = _after_words(codes, places[dots])
    ending &= ~unclear
    done, found, stops = 0, [], []
    # A terminator that needs white space and has something else behind it ends nothing.
    difficult = unclear | (goes_on & ~alone)
    for place, is_alone in zip(places[difficult].tolist(), alone[difficult].tolist(), strict=True):
        if place < done:
            continue
        match = None if is_alone else _TERMINATED.match(text, place)
        if match is None and not is_alone:
            continue
        done, stop = (place + 1, text[place]) if match is None else (match.end(), match["spaced"])
        if match is not None:
            stops.append((place, done))
        if stop is None or not _continues(text, stop, place, done):
            found.append(done)
    single = places[ending]
    if stops:  # what stands inside a longer match is no end of its own
        starts, ends = np.asarray(stops, np.int64).T
        number = starts.searchsorted(single) - 1
        single = single[(number < 0) | (single >= ends[number])]
    return np.concatenate((single + 1, np.asarray(found, np.int64)))


def _after_words(codes: NDArray[np.uint32], dots: NDArray[np.int64]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which full stops end a sentence because of the word before them, and for which that has to be looked at.

    Told for words of plain letters, in full behind a space or longer than any abbreviation: `_continues` on columns.
    """
    size = _LONGEST_ABBREVIATION + 1
    at = dots[:, None] - np.arange(1, size + 1)
    chars = np.where(at < 0, ord(" "), codes[np.maximum(at, 0)])
    small = chars | 0x20
    letter = (small >= ord("a")) & (small <= ord("z")) & (chars <= _ASCII)
    letters = np.where(letter.all(axis=1), size, letter.argmin(axis=1))
    rows = np.arange(len(dots))
    whole = (letters == size) | (chars[rows, np.minimum(letters, size - 1)] == ord(" "))
    packed = _packed(np.where(np.arange(size) < letters[:, None], small, 0))
    known = (letters > 1) & whole
    return known & ~np.isin(packed, _packed_abbreviations()), ~known


def _packed(chars: NDArray[Any]) -> NDArray[np.int64]:
    """Words of at most nine plain letters, one in each row from its last letter on, as one number each."""
    weights = 128 ** np.arange(chars.shape[1], dtype=np.int64)
    found: NDArray[np.int64] = (chars.astype(np.int64) * weights).sum(axis=1)
    return found


@cache
def _packed_abbreviations() -> NDArray[np.int64]:
    words = [word for word in _ABBREVIATIONS if word.isascii() and word.isalpha()]
    rows = [[*map(ord, reversed(word))] + [0] * (_LONGEST_ABBREVIATION + 1 - len(word)) for word in words]
    return _packed(np.asarray(rows))


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


def _refined(
    ends: NDArray[np.int64],
    starts: NDArray[np.int64],
    limit: int,
    finer: Callable[[int, int], Iterator[int]],
) -> NDArray[np.int64]:
    """Add finer ends inside every stretch longer than limit characters; `starts`: where each text begins."""
    begins = np.maximum(np.concatenate((np.zeros(1, np.int64), ends[:-1])), starts[starts.searchsorted(ends) - 1])
    long = ends - begins > limit
    added = [
        offset
        for start, end in zip(begins[long].tolist(), ends[long].tolist(), strict=True)
        for offset in finer(start, end)
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
