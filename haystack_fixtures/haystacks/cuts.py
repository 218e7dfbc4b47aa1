"""Where a haystack can end: at a sentence end, or inside a sentence that is then closed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import regex

from haystack_fixtures.haystacks.sentences import splits_grapheme
from haystack_fixtures.haystacks.source import HaystackSource

_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}"
_WORD = regex.compile(rf"[{_UNSPACED}]\p{{M}}*+|[^\s{_UNSPACED}]++")
_GRAPHEME = regex.compile(r"\X")
_TERMINATOR = regex.compile(r"[\p{STerm}…｡．]")
_CLOSED = regex.compile(r"""[\p{STerm}…｡．]["'\p{Pe}\p{Pf}*_＂＇]*+\Z""")
# What must not stand before a full stop: commas, dashes, opening brackets, other terminators.
_DANGLING = regex.compile(r"[\s,;:、，；：·…/\\|&+*~#=<>\p{Pd}\p{Ps}\p{Pi}\p{STerm}｡．]++\Z")
_HAN = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}]")
_NO_STOP = regex.compile(r"[\p{Thai}\p{Lao}\p{Khmer}\p{Tibetan}]")
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
    end = int(source.ends[0])
    return _cut(source, end, int(source.encoded.starts.searchsorted(end)))


def cuts_near(source: HaystackSource, tokens: int, *, around: int, any_grapheme: bool) -> tuple[Cut, ...]:
    """Cuts with about so many tokens, one sentence at least, ascending.

    At sentence ends and after words; after any grapheme where words are not spaced, or everywhere when asked for.
    """
    return source.remember(("near", tokens, around, any_grapheme), lambda: _near(source, tokens, around, any_grapheme))


def _near(source: HaystackSource, tokens: int, around: int, any_grapheme: bool) -> tuple[Cut, ...]:
    starts, text = source.encoded.starts, source.text
    begin = int(starts[min(max(tokens - around, 0), len(starts) - 1)])
    stop = int(starts[tokens + around]) if tokens + around < len(starts) else len(text)
    shortest = int(source.ends[0])
    low, high = source.ends.searchsorted((begin, stop + 1)).tolist()
    found = set(source.ends[low:high].tolist())
    found.update(_word_ends(text, begin, stop, _GRAPHEME if any_grapheme else _WORD))
    ends = [end for end in sorted(found) if end >= shortest]
    counts = starts.searchsorted(ends).tolist()
    return tuple(_cut(source, end, count) for end, count in zip(ends, counts, strict=True))


def patched_cuts(source: HaystackSource, tokens: int) -> tuple[Cut, ...]:
    """Cuts with about so many tokens that leave out some of the last sentences and shorten the one after these.

    Where words are several tokens long, no simple cut may give the exact count; among many sentences one does.
    """
    return source.remember(("patched", tokens), lambda: tuple(_patched(source, tokens)))


def _patched(source: HaystackSource, tokens: int) -> Iterator[Cut]:
    ends, ends_tokens = source.ends, source.ends_tokens
    last = int(ends_tokens.searchsorted(tokens - 2)) - 1
    first = max(0, last - _ENDS_TRIED + 1)
    for whole in range(last, first - 1, -1):
        before = int(ends_tokens[whole])
        for number in range(whole + 1, min(whole + 1 + _DROPPED, len(ends) - 1)):
            for end, size in _shortened(source, number):
                if abs(before + size - tokens) <= 2:
                    yield Cut(int(ends[whole]), (int(ends[number]), end), _closer(source, end), before + size)


def _shortened(source: HaystackSource, number: int) -> tuple[tuple[int, int], ...]:
    """For the sentence after an end: where its words end but for the last, and the tokens from its start to there."""

    def make() -> tuple[tuple[int, int], ...]:
        start, stop = int(source.ends[number]), int(source.ends[number + 1])
        words = sorted(_word_ends(source.text, start, stop, _WORD) - {stop})
        sizes = source.encoded.starts.searchsorted(words) - source.ends_tokens[number] + 1
        return tuple(zip(words, sizes.tolist(), strict=True))

    return source.remember(("shortened", number), make)


def padded_cut(cut: Cut, tokens: int) -> Cut:
    """The same haystack with a spaced ellipsis of so many dots: the last resort where single graphemes are too long."""
    return replace(cut, closer=cut.closer + " ." * tokens, tokens=cut.tokens + tokens)


def _word_ends(text: str, begin: int, stop: int, word: regex.Pattern[str]) -> set[int]:
    """Where words end between two offsets, commas and the like taken off."""
    found = set()
    for match in word.finditer(text, begin, stop):
        end = match.end()
        if end == stop < len(text) or splits_grapheme(text, end):
            continue
        if not text[end - 1].isalnum():
            low = max(begin, end - 32)
            dangling = _DANGLING.search(text, low, end)
            end = dangling.start() if dangling else end
            if end <= low or splits_grapheme(text, end):
                continue
        found.add(end)
    return found


def _cut(source: HaystackSource, end: int, tokens: int) -> Cut:
    closer = _closer(source, end)
    return Cut(end, (end, end), closer, tokens + len(closer))


def _closer(source: HaystackSource, end: int) -> str:
    """The full stop of the sentence that holds the cut; nothing where the text is closed already."""
    text = source.text
    if _CLOSED.search(text, max(0, end - 8), end):
        return ""
    sentence_end = int(source.ends[min(int(source.ends.searchsorted(end)), len(source.ends) - 1)])
    terminators = _TERMINATOR.findall(text, max(end, sentence_end - 6), sentence_end)
    if terminators:
        return str(_FULL_STOPS.get(terminators[-1], terminators[-1]))
    last = text[end - 1]
    return "。" if _HAN.match(last) else "" if _NO_STOP.match(last) else "."
