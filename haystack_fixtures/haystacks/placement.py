"""Where needles go: depths of several needles, the sentence end for a depth, the gap beside a needle."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import pairwise

import regex

from needlework.haystack_fixtures.haystacks.cuts import Cut
from needlework.haystack_fixtures.haystacks.source import HaystackSource

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
    """Before which character of the haystack a needle goes in: the place nearest in tokens to its depth.

    Places are the haystack's start, its sentence ends, and its end. Depth 0 is the start and 100 the end, always.
    """
    if depth <= 0:
        return 0
    if depth >= 100:
        return cut.chars
    ends, tokens, inner = source.end_places, source.end_tokens, _inner(source, cut)
    wanted = depth / 100 * cut.tokens
    below = bisect_left(tokens, wanted, 0, inner)  # sentences that end before it
    before = tokens[below - 1] if below else 0
    behind = tokens[below] if below < inner else cut.tokens
    if wanted - before <= behind - wanted:
        return ends[below - 1] if below else 0
    return ends[below] if below < inner else cut.chars


def longer_beside(source: HaystackSource, cut: Cut, place: int) -> int:
    """Tokens of the longer of the two sentences beside a place."""
    tokens, inner = source.end_tokens, _inner(source, cut)
    at = 0 if place == 0 else inner + 1 if place == cut.chars else 1 + bisect_left(source.end_places, place)
    numbers = range(max(0, at - 1), min(inner + 1, at + 1) + 1)
    around = [0 if number == 0 else cut.tokens if number > inner else tokens[number - 1] for number in numbers]
    return max(high - low for low, high in pairwise(around))


def _inner(source: HaystackSource, cut: Cut) -> int:
    """How many sentences end within a haystack, before its own end."""
    return (bisect_right if cut.chars > cut.end else bisect_left)(source.end_places, cut.end)


def gap(left: str, right: str) -> str:
    """What stands between two texts that are joined: a space, or nothing where there is one or the script has none."""
    if not left or not right or left[-1].isspace() or right[0].isspace():
        return ""
    pair = (left[-1], right[0])
    if pair[0].isascii() and pair[1].isascii():
        return " "
    wide = [_CJK.match(char) is not None for char in pair]
    close = all(is_wide or char in _SHARED for is_wide, char in zip(wide, pair, strict=True))
    return "" if close and any(wide) else " "
