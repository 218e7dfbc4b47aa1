"""Where a haystack can end: at a sentence end, or inside a sentence that is then closed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple
from unicodedata import category

import numpy as np
import regex
from numpy.typing import NDArray

from needlework.haystack_fixtures.haystacks.sentences import splits_grapheme
from needlework.haystack_fixtures.haystacks.source import HaystackSource

_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}"
_WORD = regex.compile(rf"[{_UNSPACED}]\p{{M}}*+|[^\s{_UNSPACED}]++")
_SPLITTING = regex.compile(r"[\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}\p{GCB=Prepend}\r]")
_GRAPHEME = regex.compile(r"\X")
_TERMINATOR = regex.compile(r"[\p{STerm}…｡．]")
_CLOSED = regex.compile(r"""[\p{STerm}…｡．]["'\p{Pe}\p{Pf}*_＂＇]*+\Z""")
# What must not stand before a full stop: commas, dashes, opening brackets, other terminators.
_DANGLING = regex.compile(r"[\s,;:、，；：·…/\\|&+*~#=<>\p{Pd}\p{Ps}\p{Pi}\p{STerm}｡．]++\Z")
_HAN = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}]")
_NO_STOP = regex.compile(r"[\p{Thai}\p{Lao}\p{Khmer}\p{Tibetan}]")
_STOP_CHARS = 6  # of a terminator and the quotes and brackets behind it
_FULL_STOPS = dict.fromkeys("!?…؟", ".") | dict.fromkeys("！？", "。") | {"॥": "।", "፧": "።", "፨": "።"}


# How many sentences a patched cut may drop, and at how many places.
_DROPPED = 12
_ENDS_TRIED = 6
_STEP = 32  # tokens by which stretches of text that are looked through begin


@dataclass(frozen=True, slots=True)
class Cut:
    """A haystack: the source's first `end` characters, then its characters in `tail` (mostly none), then `closer`.

    `tokens`: about how many these are.
    """

    end: int
    tail: tuple[int, int]
    closer: str
    tokens: int

    @property
    def chars(self) -> int:
        """Length of the haystack."""
        return self.end + self.tail[1] - self.tail[0] + len(self.closer)

    @property
    def used(self) -> int:
        """How far into the source the haystack reaches."""
        return max(self.end, self.tail[1])

    def text(self, source: HaystackSource) -> str:
        """The haystack."""
        return source.text[: self.end] + source.text[self.tail[0] : self.tail[1]] + self.closer


def first_cut(source: HaystackSource) -> Cut:
    """The shortest haystack: one sentence."""

    def make() -> Cut:
        end = source.shortest
        (closer,) = _closers(source, [end])
        return Cut(end, (end, end), closer, int(source.encoded.starts.searchsorted(end)) + _tokens(source, closer))

    return source.remember("first cut", make)


@dataclass(frozen=True, slots=True, eq=False)
class Cuts:
    """Cuts to choose from, of which few are made. `tokens`: int64 [cuts], those of each; `cut(n)`: one of them."""

    tokens: NDArray[np.int64]
    cut: Callable[[int], Cut]


class _Ends(NamedTuple):
    """Where haystacks may end, ascending; an element of each for each.

    `seen`: how far the text was looked at to find the end of a word there; beyond the text where there is none.
    `units`: whether a unit ends there. `tokens`: those of a haystack that ends there.
    """

    places: NDArray[np.int64]
    seen: NDArray[np.int64]
    units: NDArray[np.bool_]
    tokens: NDArray[np.int64]
    closers: list[str]


def cuts_near(source: HaystackSource, tokens: int, *, around: int, any_grapheme: bool) -> Cuts:
    """Cuts with about so many tokens, one sentence at least, ascending.

    At sentence ends and after words; after any grapheme where words are not spaced, or everywhere when asked for.
    """
    key = ("near", tokens, around, any_grapheme)
    return source.remember(key, lambda: _near(source, tokens, around, any_grapheme))


def _near(source: HaystackSource, tokens: int, around: int, any_grapheme: bool) -> Cuts:
    begin, stop = wide = _stretch(source, tokens - around, tokens + around)
    # Prompts of one length look at nearly the same stretch: what is found in a wider one serves many. Only what follows
    # a letter's mark may read differently from there.
    if not any_grapheme and not category(source.text[begin]).startswith("M"):
        first = max(tokens - around, 0) // _STEP * _STEP
        wide = _stretch(source, first, first + _STEP + 2 * around)
    pattern = _GRAPHEME if any_grapheme else _WORD
    found = source.remember(("ends", *wide, any_grapheme), lambda: _ends_between(source, *wide, pattern))
    end = found.places + len(source.closes)
    inside = found.units & (end >= begin) & (end <= stop)
    inside |= (found.places > begin) & (found.seen < (stop if stop < len(source.text) else stop + 1))
    inside &= found.places >= source.shortest
    numbers = np.flatnonzero(inside)

    def cut(number: int) -> Cut:
        at = int(numbers[number])
        place = int(found.places[at])
        return Cut(place, (place, place), found.closers[at], int(found.tokens[at]))

    return Cuts(found.tokens[numbers], cut)


def _stretch(source: HaystackSource, first: int, last: int) -> tuple[int, int]:
    """Where the source's text from one token to another begins and ends, as far as there is one."""
    starts = source.encoded.starts
    begin = int(starts[min(max(first, 0), len(starts) - 1)])
    return begin, int(starts[last]) if last < len(starts) else len(source.text)


def _ends_between(source: HaystackSource, begin: int, stop: int, word: regex.Pattern[str]) -> _Ends:
    low, high = source.ends.searchsorted((begin, stop + 1)).tolist()
    units = set((source.ends[low:high] - len(source.closes)).tolist())
    words = _word_ends(source.text, begin, stop, word)
    places = sorted(units | words.keys())
    closers = _closers(source, places)
    found = np.asarray(places, np.int64)
    sizes = np.asarray([_tokens(source, closer) for closer in closers], np.int64)
    return _Ends(
        found,
        np.asarray([words.get(place, len(source.text) + 1) for place in places], np.int64),
        np.asarray([place in units for place in places], np.bool_),
        source.encoded.starts.searchsorted(found) + sizes,
        closers,
    )


def patched_cuts(source: HaystackSource, tokens: int) -> Cuts:
    """Cuts with about so many tokens that leave out some of the last sentences and shorten the one after these.

    Where words are several tokens long, no simple cut may give the exact count; among many sentences one does.
    """
    return source.remember(("patched", tokens), lambda: _patched(source, tokens))


def _patched(source: HaystackSource, tokens: int) -> Cuts:
    ends, ends_tokens = source.ends, source.ends_tokens
    last = int(ends_tokens.searchsorted(tokens - 2)) - 1
    first = max(0, last - _ENDS_TRIED + 1)
    found = []
    for whole in range(last, first - 1, -1):
        numbers = range(whole + 1, min(whole + 1 + _DROPPED, len(ends) - 1))
        if not numbers:
            continue
        starts, stops, sizes = np.concatenate([_shortened(source, number) for number in numbers], axis=1)
        sizes = sizes + ends_tokens[whole]
        fitting = np.abs(sizes - tokens) <= 2
        found.append(np.stack((np.full_like(sizes, ends[whole]), starts, stops, sizes))[:, fitting])
    rows = np.concatenate(found, axis=1) if found else np.empty((4, 0), np.int64)

    def cut(number: int) -> Cut:
        begin, start, stop, size = rows[:, number].tolist()
        (closer,) = _closers(source, [stop])
        return Cut(begin, (start, stop), closer, size)

    return Cuts(rows[3], cut)


def _shortened(source: HaystackSource, number: int) -> NDArray[np.int64]:
    """For each word, but for the last, of the sentence after an end: where the sentence starts, where the word ends,
    and the tokens from the one to the other; int64 [3, words]."""

    def make() -> NDArray[np.int64]:
        start, stop = int(source.ends[number]), int(source.ends[number + 1]) - len(source.closes)
        words = np.asarray(sorted(_word_ends(source.text, start, stop, _WORD).keys() - {stop}), np.int64)
        sizes = source.encoded.starts.searchsorted(words) - source.ends_tokens[number] + 1 + _tokens(source, "")
        return np.stack((np.full(len(words), start), words, sizes))

    return source.remember(("shortened", number), make)


def padded_cut(source: HaystackSource, cut: Cut, tokens: int) -> Cut:
    """The same haystack with a spaced ellipsis of so many dots: the last resort where single graphemes are too long."""
    closer = f"{cut.closer.removesuffix(source.closes)}{' .' * tokens}{source.closes}"
    return replace(cut, closer=closer, tokens=cut.tokens + tokens)


def _word_ends(text: str, begin: int, stop: int, word: regex.Pattern[str]) -> dict[int, int]:
    """Where words end between two offsets, commas and the like taken off; and how far that was looked at."""
    found: dict[int, int] = {}
    # Mostly nothing around can split a grapheme.
    may_split = _SPLITTING.search(text, begin, stop + 1) is not None
    for match in word.finditer(text, begin, stop):
        end = seen = match.end()
        if end == stop < len(text) or (may_split and splits_grapheme(text, end)):
            continue
        if not text[end - 1].isalnum():
            low = max(begin, end - 32)
            dangling = _DANGLING.search(text, low, end)
            end = dangling.start() if dangling else end
            if end <= low or (may_split and splits_grapheme(text, end)):
                continue
        found.setdefault(end, seen)
    return found


def _closers(source: HaystackSource, ends: Sequence[int]) -> list[str]:
    """For each cut the full stop of the sentence that holds it, none where the text is closed already; and what closes
    every document."""
    text = source.text
    numbers = np.minimum(source.ends.searchsorted(ends), len(source.ends) - 1)
    closes = source.closes
    stops: dict[int, str | None] = {}  # by sentence: most have several cuts
    closers = []
    for end, sentence_end in zip(ends, (source.ends[numbers] - len(closes)).tolist(), strict=True):
        last = text[end - 1]
        whole = bool(closes) and end == sentence_end
        if whole or (not last.isalnum() and _CLOSED.search(text, max(0, end - 8), end)):
            closers.append(closes)
            continue
        if end > sentence_end - _STOP_CHARS:
            stop = _stop(text, end, sentence_end)
        elif sentence_end in stops:
            stop = stops[sentence_end]
        else:
            stop = stops[sentence_end] = _stop(text, sentence_end - _STOP_CHARS, sentence_end)
        if stop is None:
            stop = "。" if _HAN.match(last) else "" if _NO_STOP.match(last) else "."
        closers.append(stop + closes)
    return closers


def _tokens(source: HaystackSource, closer: str) -> int:
    """About how many tokens a closer has: its full stop one."""
    closing = source.closing
    return len(closer.removesuffix(closing.text)) + closing.tokens if closing else len(closer)


def _stop(text: str, start: int, end: int) -> str | None:
    """The full stop for a sentence that ends like this; `None` where it has none of its own."""
    terminators = _TERMINATOR.findall(text, max(0, start), end)
    return str(_FULL_STOPS.get(terminators[-1], terminators[-1])) if terminators else None
