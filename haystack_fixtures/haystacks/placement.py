"""Where needles go: depths of several needles, the sentence end for a depth, the gap beside a needle."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import NamedTuple

import regex

from needlework.haystack_fixtures.haystacks.cuts import Cut
from needlework.haystack_fixtures.haystacks.source import HaystackSource

_CJK = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}\u3000-\u303f\u30fb\u30fc\uff01-\uff0f\uff1a-\uff1f\uff3b-\uff65]"
)
# Marks that Chinese shares with Latin: they are as wide as their neighbour.
_SHARED = frozenset("“”‘’…—")


class Place(NamedTuple):
    """A needle goes in before this character of the haystack. `sentence`: tokens of the longer sentence beside it."""

    char: int
    sentence: int


def even_depths(depth: float, n: int) -> list[float]:
    """Depths of n needles spaced evenly over what lies below the first (LLMTest, EvalScope)."""
    return [depth + k * (100 - depth) / n for k in range(n)]


def spaced_depths(depth: float, diff: float, n: int) -> list[float]:
    """Depths of n needles that lie diff percent apart, none below 100 (OpenCompass, as documented)."""
    return [min(100.0, depth + k * diff) for k in range(n)]


def place_for(source: HaystackSource, depth: float, cut: Cut) -> Place:
    """The place nearest in tokens to a depth of the haystack.

    Places are the haystack's start, its sentence ends, and its end. Depth 0 is the start and 100 the end, always.
    """
    chars = cut.chars
    ends, tokens = source.end_places, source.end_tokens
    inner = (bisect_right if chars > cut.end else bisect_left)(ends, cut.end)

    def at(number: int) -> int:
        return 0 if number == 0 else cut.tokens if number > inner else tokens[number - 1]

    wanted = depth / 100 * cut.tokens
    right = 1 + bisect_left(tokens, wanted, 0, inner)
    number = right - 1 if wanted - at(right - 1) <= at(right) - wanted else right
    if depth <= 0 or depth >= 100:
        number = 0 if depth <= 0 else inner + 1
    beside = [at(number) - at(number - 1)] if number else []
    beside += [at(number + 1) - at(number)] if number <= inner else []
    char = 0 if number == 0 else chars if number > inner else ends[number - 1]
    return Place(char, max(beside))


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
