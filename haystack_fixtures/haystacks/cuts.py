"""The cuts that can end a haystack: at a sentence end, or inside a sentence that is then closed."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import regex
from numpy.typing import NDArray

from needlework.haystack_fixtures.haystacks.sentences import splits_grapheme
from needlework.haystack_fixtures.haystacks.source import HaystackSource

_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}"
_WORD = regex.compile(rf"[{_UNSPACED}]\p{{M}}*+|[^\s{_UNSPACED}]++")
_GRAPHEME = regex.compile(r"\X")
_TERMINATOR = regex.compile(r"[\p{STerm}…｡．]")
_CLOSED = regex.compile(r"""[\p{STerm}…｡．]["'\p{Pe}\p{Pf}*_＂＇]*+\Z""")
# Characters not to leave before a full stop: commas, dashes, opening brackets, other terminators.
# Matched backwards from an offset.
_DANGLING = regex.compile(r"(?r)[\s,;:、，；：·…/\\|&+*~#=<>\p{Pd}\p{Ps}\p{Pi}\p{STerm}｡．]++")
_HAN = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}]")
_NO_STOP = regex.compile(r"[\p{Thai}\p{Lao}\p{Khmer}\p{Tibetan}]")
_STOP_CHARS = 6  # of a terminator and the quotes and brackets behind it
_FULL_STOPS = dict.fromkeys("!?…؟", ".") | dict.fromkeys("！？", "。") | {"॥": "।", "፧": "።", "፨": "።"}


# The most sentences that a patched cut drops, and the number of places to drop them at.
_DROPPED = 12
_ENDS_TRIED = 6


class Cut(NamedTuple):
    """A haystack: the source's first `end` characters, then those in `tail` (mostly none), `closer`.

    `tokens`: its length by estimate.
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
        """The end of the part of the source that the haystack uses."""
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
    """Cuts to choose from, made on demand. `tokens`: int64 [cuts], those of each; `cut(n)`: makes one."""

    tokens: NDArray[np.int64]
    cut: Callable[[int], Cut]


def cuts_near(source: HaystackSource, tokens: int, *, reach: int, any_grapheme: bool) -> Cuts:
    """Cuts with about so many tokens, one sentence at least, ascending.

    At sentence ends and after words; after any grapheme where words are not spaced, or everywhere when asked for.
    """
    key = ("near", tokens, reach, any_grapheme)
    return source.remember(key, lambda: _near(source, tokens, reach, any_grapheme))


def _near(source: HaystackSource, tokens: int, reach: int, any_grapheme: bool) -> Cuts:
    starts, last = source.encoded.starts, tokens + reach
    begin = int(starts[min(max(tokens - reach, 0), len(starts) - 1)])
    stop = int(starts[last]) if last < len(starts) else len(source.text)
    low, high = source.ends.searchsorted((begin, stop + 1)).tolist()
    units = (source.ends[low:high] - len(source.closes)).tolist()
    words = _word_ends(source.text, begin, stop, _GRAPHEME if any_grapheme else _WORD)
    places = [offset for offset in sorted({*units, *words}) if offset >= source.shortest]
    closers = _closers(source, places)
    before = starts.searchsorted(np.asarray(places, np.int64)).tolist()
    counts = [count + _tokens(source, closer) for count, closer in zip(before, closers, strict=True)]

    def cut(number: int) -> Cut:
        return Cut(places[number], (places[number],) * 2, closers[number], counts[number])

    return Cuts(np.asarray(counts, np.int64), cut)


def patched_cuts(source: HaystackSource, tokens: int) -> Cuts:
    """Cuts of about so many tokens that omit some of the last sentences and shorten the next one.

    Where words are several tokens long, no simple cut may give the exact count; among many sentences one does.
    """
    return source.remember(("patched", tokens), lambda: _patched(source, tokens))


def _patched(source: HaystackSource, tokens: int) -> Cuts:
    ends, ends_tokens = source.end_places, source.end_tokens
    last = bisect_left(ends_tokens, tokens - 2) - 1
    first = max(0, last - _ENDS_TRIED + 1)
    numbers = range(first + 1, min(last + 1 + _DROPPED, len(ends) - 1))
    shortened = [_shortened(source, number) for number in numbers]
    bounds = [0, *accumulate(len(words) for words, _ in shortened)]
    words, sizes = (np.concatenate([np.empty(0, np.int64), *(each[column] for each in shortened)]) for column in (0, 1))
    candidates = []
    for whole in range(last, first - 1, -1):
        low, high = (bounds[min(number, len(numbers))] for number in (whole - first, whole - first + _DROPPED))
        fitting = np.flatnonzero(np.abs(sizes[low:high] + (ends_tokens[whole] - tokens)) <= 2) + low
        candidates += [(whole, at) for at in fitting.tolist()]

    def cut(number: int) -> Cut:
        whole, at = candidates[number]
        stop = int(words[at])
        (closer,) = _closers(source, [stop])
        start = ends[numbers[bisect_right(bounds, at) - 1]]
        return Cut(ends[whole], (start, stop), closer, int(sizes[at]) + ends_tokens[whole])

    return Cuts(np.asarray([int(sizes[at]) + ends_tokens[whole] for whole, at in candidates], np.int64), cut)


def _shortened(source: HaystackSource, number: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The word ends, but for the last, of the sentence after an end; the tokens up to each. int64 [words]."""

    def make() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        start, stop = source.end_places[number], source.end_places[number + 1] - len(source.closes)
        words = np.asarray(sorted(_word_ends(source.text, start, stop, _WORD) - {stop}), np.int64)
        return words, source.encoded.starts.searchsorted(words) + (1 + _tokens(source, "") - source.end_tokens[number])

    return source.remember(("shortened", number), make)


def padded_cut(source: HaystackSource, cut: Cut, tokens: int) -> Cut:
    """The haystack with a spaced ellipsis of so many dots: the last resort of long graphemes."""
    closer = f"{cut.closer.removesuffix(source.closes)}{' .' * tokens}{source.closes}"
    return cut._replace(closer=closer, tokens=cut.tokens + tokens)


def _word_ends(text: str, begin: int, stop: int, word: regex.Pattern[str]) -> set[int]:
    """Ends of words between two offsets, without commas and the like."""
    ends: set[int] = set()
    for match in word.finditer(text, begin, stop):
        end = match.end()
        if end == stop < len(text) or splits_grapheme(text, end):
            continue
        if not text[end - 1].isalnum():
            low = max(begin, end - 32)
            dangling = _DANGLING.match(text, low, end)
            end = dangling.start() if dangling else end
            if end <= low or splits_grapheme(text, end):
                continue
        ends.add(end)
    return ends


def _closers(source: HaystackSource, ends: Sequence[int]) -> list[str]:
    """The closer of each cut: a full stop, if its sentence is open, and the end of a document."""
    text = source.text
    numbers = np.minimum(source.ends.searchsorted(ends), len(source.ends) - 1)
    closes = source.closes
    closers = []
    for end, sentence_end in zip(ends, (source.ends[numbers] - len(closes)).tolist(), strict=True):
        last = text[end - 1]
        whole = bool(closes) and end == sentence_end
        if whole or (not last.isalnum() and _CLOSED.search(text, max(0, end - 8), end)):
            closers.append(closes)
            continue
        terminators = _TERMINATOR.findall(text, max(0, end, sentence_end - _STOP_CHARS), sentence_end)
        if terminators:
            stop = _FULL_STOPS.get(terminators[-1], terminators[-1])
        else:  # the sentence has none of its own
            stop = "。" if _HAN.match(last) else "" if _NO_STOP.match(last) else "."
        closers.append(stop + closes)
    return closers


def _tokens(source: HaystackSource, closer: str) -> int:
    """The tokens of a closer by estimate: its full stop has one."""
    closing = source.closing
    return len(closer.removesuffix(closing.text)) + closing.tokens if closing else len(closer)
