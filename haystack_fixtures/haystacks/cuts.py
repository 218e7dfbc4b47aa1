"""Where a haystack can end: at a sentence end, or inside a sentence that is then closed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

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
    end = source.shortest
    (closer,) = _closers(source, [end])
    return Cut(end, (end, end), closer, int(source.encoded.starts.searchsorted(end)) + _tokens(source, closer))


@dataclass(frozen=True, slots=True, eq=False)
class Cuts:
    """Cuts to choose from. `tokens`: int64 [cuts], those of each."""

    cuts: tuple[Cut, ...]
    tokens: NDArray[np.int64]


def _cuts(found: Iterable[Cut]) -> Cuts:
    cuts = tuple(found)
    return Cuts(cuts, np.fromiter((cut.tokens for cut in cuts), np.int64, len(cuts)))


def cuts_near(source: HaystackSource, tokens: int, *, around: int, any_grapheme: bool) -> Cuts:
    """Cuts with about so many tokens, one sentence at least, ascending.

    At sentence ends and after words; after any grapheme where words are not spaced, or everywhere when asked for.
    """
    key = ("near", tokens, around, any_grapheme)
    return source.remember(key, lambda: _cuts(_near(source, tokens, around, any_grapheme)))


def _near(source: HaystackSource, tokens: int, around: int, any_grapheme: bool) -> Iterator[Cut]:
    starts, text = source.encoded.starts, source.text
    begin = int(starts[min(max(tokens - around, 0), len(starts) - 1)])
    stop = int(starts[tokens + around]) if tokens + around < len(starts) else len(text)
    shortest = source.shortest
    low, high = source.ends.searchsorted((begin, stop + 1)).tolist()
    found = set((source.ends[low:high] - len(source.closes)).tolist())
    found.update(_word_ends(text, begin, stop, _GRAPHEME if any_grapheme else _WORD))
    ends = [end for end in sorted(found) if end >= shortest]
    for end, count, closer in zip(ends, starts.searchsorted(ends).tolist(), _closers(source, ends), strict=True):
        yield Cut(end, (end, end), closer, count + _tokens(source, closer))


def patched_cuts(source: HaystackSource, tokens: int) -> Cuts:
    """Cuts with about so many tokens that leave out some of the last sentences and shorten the one after these.

    Where words are several tokens long, no simple cut may give the exact count; among many sentences one does.
    """
    return source.remember(("patched", tokens), lambda: _cuts(_patched(source, tokens)))


def _patched(source: HaystackSource, tokens: int) -> Iterator[Cut]:
    ends, ends_tokens = source.ends, source.ends_tokens
    last = int(ends_tokens.searchsorted(tokens - 2)) - 1
    first = max(0, last - _ENDS_TRIED + 1)
    for whole in range(last, first - 1, -1):
        numbers = range(whole + 1, min(whole + 1 + _DROPPED, len(ends) - 1))
        if not numbers:
            continue
        begin, before = int(ends[whole]), int(ends_tokens[whole])
        shortened = [_shortened(source, number) for number in numbers]
        sizes = np.concatenate([sizes for _, _, sizes in shortened])
        fitting = np.flatnonzero(np.abs(before + sizes - tokens) <= 2)
        if not len(fitting):
            continue
        starts = np.concatenate([starts for starts, _, _ in shortened])[fitting].tolist()
        stops = np.concatenate([stops for _, stops, _ in shortened])[fitting].tolist()
        for start, end, size, closer in zip(
            starts, stops, sizes[fitting].tolist(), _closers(source, stops), strict=True
        ):
            yield Cut(begin, (start, end), closer, before + size)


def _shortened(source: HaystackSource, number: int) -> tuple[NDArray[np.int64], ...]:
    """For the sentence after an end: its start (once for each word), where its words end but for the last, and the
    tokens from its start to there."""

    def make() -> tuple[NDArray[np.int64], ...]:
        start, stop = int(source.ends[number]), int(source.ends[number + 1]) - len(source.closes)
        words = np.asarray(sorted(_word_ends(source.text, start, stop, _WORD) - {stop}), np.int64)
        sizes = source.encoded.starts.searchsorted(words) - source.ends_tokens[number] + 1 + _tokens(source, "")
        return np.full(len(words), start), words, sizes

    return source.remember(("shortened", number), make)


def padded_cut(source: HaystackSource, cut: Cut, tokens: int) -> Cut:
    """The same haystack with a spaced ellipsis of so many dots: the last resort where single graphemes are too long."""
    closer = f"{cut.closer.removesuffix(source.closes)}{' .' * tokens}{source.closes}"
    return replace(cut, closer=closer, tokens=cut.tokens + tokens)


def _word_ends(text: str, begin: int, stop: int, word: regex.Pattern[str]) -> set[int]:
    """Where words end between two offsets, commas and the like taken off."""
    found = set()
    # Mostly nothing around can split a grapheme.
    may_split = _SPLITTING.search(text, begin, stop + 1) is not None
    for match in word.finditer(text, begin, stop):
        end = match.end()
        if end == stop < len(text) or (may_split and splits_grapheme(text, end)):
            continue
        if not text[end - 1].isalnum():
            low = max(begin, end - 32)
            dangling = _DANGLING.search(text, low, end)
            end = dangling.start() if dangling else end
            if end <= low or (may_split and splits_grapheme(text, end)):
                continue
        found.add(end)
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
