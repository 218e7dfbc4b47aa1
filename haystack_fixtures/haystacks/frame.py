"""The prompt around a context: template, needles at their depths, and the prompt of a cut."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import regex

from needlework.core.prompts import Message
from needlework.haystack_fixtures.haystacks.cuts import Cut
from needlework.haystack_fixtures.haystacks.source import HaystackSource
from needlework.haystack_fixtures.haystacks.splice import Encode, Piece, Range, Spliced, splice


@dataclass(frozen=True, slots=True)
class OuterText:
    """A prompt but for its context: the same for every kind of context."""

    before: str  # rendered text before the context
    after: str  # rendered text behind it
    bos: tuple[int, ...]
    messages: Callable[[str], tuple[Message, ...]]  # makes the messages for a context, which is verbatim in one of them
    budget: int  # tokens of the whole prompt; with `edges`, of the context and its edges
    encode: Encode
    reserved: int = 0  # tokens of a length beyond the budget, for errors
    edges: tuple[int, int] | None = None  # characters of `before` and `after` that count for the budget


@dataclass(frozen=True, slots=True)
class PromptFrame:
    """A prompt but for the cut of its source."""

    outer: OuterText
    source: HaystackSource
    needles: Sequence[tuple[str, str]]
    depths: Sequence[float]
    joined: bool = False  # needles stand beside the haystack without a gap


@dataclass(frozen=True, slots=True)
class Draft:
    """A whole prompt for one cut, as pieces."""

    cut: Cut
    places: tuple[int, ...]  # offsets of the needles in the haystack
    pieces: tuple[Piece, ...]
    spans: tuple[tuple[int, int], ...]  # each needle's characters
    counted: tuple[tuple[int, int], ...]  # with the gaps beside it
    context: tuple[int, int]
    spliced: Spliced
    count: int  # tokens that count for the budget


def draft_of(frame: PromptFrame, cut: Cut) -> Draft:
    """Put template, haystack and needles together and count them."""
    source, outer, closes = frame.source, frame.outer, frame.source.closes
    places = tuple([place_for(source, depth, cut) for depth in frame.depths])
    pieces: list[Piece] = [outer.before]
    end = len(outer.before)
    spans, counted = [(0, 0)] * len(places), [(0, 0)] * len(places)
    char, last = 0, ""  # characters of the haystack so far, and the end of the context
    order = sorted(range(len(places)), key=places.__getitem__)
    for position, number in enumerate(order):
        offset, needle = places[number], frame.needles[number][1]
        if offset > char:
            pieces += _stretch(source, cut, char, offset)
            last = _char(source, cut, offset - 1)
            end += offset - char
            char = offset
        left = "" if frame.joined else gap(last, needle)
        right = closes
        is_last_here = all(places[other] > offset for other in order[position + 1 :])
        if not closes and not frame.joined and is_last_here and offset < cut.chars:
            right = gap(needle, _char(source, cut, offset))
        pieces += [left, needle, right]
        start = end + len(left)
        spans[number] = (start, start + len(needle))
        counted[number] = (end, start + len(needle) + len(right))
        end, last = counted[number][1], right or needle
    pieces += [*_stretch(source, cut, char, cut.chars), outer.after]
    context = (len(outer.before), end + cut.chars - char)
    spliced = splice(pieces, outer.encode)
    if outer.edges is None:
        count = spliced.count + len(outer.bos)
    else:
        count = spliced.tokens_before(context[1] + outer.edges[1]) - covering(spliced, context[0] - outer.edges[0])
    return Draft(cut, places, tuple(pieces), tuple(spans), tuple(counted), context, spliced, count)


def covering(spliced: Spliced, offset: int) -> int:
    """The first token with text at or after a place."""
    index = spliced.tokens_before(offset)
    return index if spliced.start(index) == offset else max(0, index - 1)


def _stretch(source: HaystackSource, cut: Cut, start: int, end: int) -> list[Piece]:
    """The haystack between two places; a place lies in the source's text, or at the very end."""
    pieces: list[Piece] = [Range(source.encoded, start, min(end, cut.end))] if start < cut.end else []
    if start < end == cut.chars:
        if cut.tail[0] < cut.tail[1]:
            pieces.append(Range(source.encoded, *cut.tail))
        pieces.append(cut.closer)
    return pieces


def _char(source: HaystackSource, cut: Cut, offset: int) -> str:
    """One character of the haystack."""
    if offset < cut.end:
        return source.text[offset]
    offset += cut.tail[0] - cut.end
    return source.text[offset] if offset < cut.tail[1] else cut.closer


_CJK = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}\u3000-\u303f\u30fb\u30fc\uff01-\uff0f\uff1a-\uff1f\uff3b-\uff65]"
)
# Marks that Chinese shares with Latin: they are as wide as their neighbour.
_SHARED = frozenset("“”‘’…—")


def even_depths(depth: float, n: int) -> list[float]:
    """Depths of n needles spaced evenly over what lies below the first (LLMTest, EvalScope)."""
    return [depth + k * (100 - depth) / n for k in range(n)]


def spaced_depths(depth: float, diff: float, n: int) -> list[float]:
    """Depths of n needles that lie diff percent apart, none below 100 (OpenCompass, as documented)."""
    return [min(100.0, depth + k * diff) for k in range(n)]


def place_for(source: HaystackSource, depth: float, cut: Cut) -> int:
    """The offset of a needle in the haystack: the place nearest in tokens to its depth.

    Places are the haystack's start, its sentence ends, and its end. Depth 0 is the start and 100 the end, always.
    """
    if depth <= 0:
        return 0
    if depth >= 100:
        return cut.chars
    ends, tokens, inner = source.end_places, source.end_tokens, _inner(source, cut)
    target = depth / 100 * cut.tokens
    below = bisect_left(tokens, target, 0, inner)  # sentences that end before it
    before = tokens[below - 1] if below else 0
    behind = tokens[below] if below < inner else cut.tokens
    if target - before <= behind - target:
        return ends[below - 1] if below else 0
    return ends[below] if below < inner else cut.chars


def longer_beside(source: HaystackSource, cut: Cut, offset: int) -> int:
    """Tokens of the longer of the two sentences beside a place."""
    tokens, inner = source.end_tokens, _inner(source, cut)
    at = 0 if offset == 0 else inner + 1 if offset == cut.chars else 1 + bisect_left(source.end_places, offset)
    numbers = range(max(0, at - 1), min(inner + 1, at + 1) + 1)
    outer = [0 if number == 0 else cut.tokens if number > inner else tokens[number - 1] for number in numbers]
    return max(high - low for low, high in pairwise(outer))


def _inner(source: HaystackSource, cut: Cut) -> int:
    """The number of sentences that end within a haystack, before its own end."""
    return (bisect_right if cut.chars > cut.end else bisect_left)(source.end_places, cut.end)


def gap(left: str, right: str) -> str:
    """The joint of two texts: a space, or nothing if there is one or the script has none."""
    if not left or not right or left[-1].isspace() or right[0].isspace():
        return ""
    pair = (left[-1], right[0])
    if pair[0].isascii() and pair[1].isascii():
        return " "
    wide = [_CJK.match(char) is not None for char in pair]
    close = all(is_wide or char in _SHARED for is_wide, char in zip(wide, pair, strict=True))
    return "" if close and any(wide) else " "
