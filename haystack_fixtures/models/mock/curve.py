"""`mock:curve=4k:1,8k:0.95`: a model whose score at each length is known."""

from __future__ import annotations

from collections.abc import Mapping
from math import log2

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.grid.spacing import parse_tokens

Curve = tuple[tuple[int, float], ...]
"""Lengths in tokens, ascending, each with the chance of a hit, 0..1."""

_OPTION = "--model mock:curve"


def parse_curve(text: str) -> Curve:
    """Read `4k:1,8k:0.95`. Raises `InputError`."""
    found: dict[int, float] = {}
    for point in text.split(","):
        length, colon, share = point.strip().partition(":")
        try:
            chance = float(share)
        except ValueError:
            chance = -1.0
        if not colon or not 0 <= chance <= 1:
            raise InputError(_OPTION, point, "write LENGTH:SHARE, with a share of 0 to 1, such as 4k:1,8k:0.95")
        found[parse_tokens(_OPTION, length)] = chance
    return tuple(sorted(found.items()))


def chance_at(curve: Curve, length: int) -> float:
    """The chance of a hit at a length: of its point, between two on a line over doublings, beyond them the last one."""
    known: Mapping[int, float] = dict(curve)
    if length in known:
        return known[length]
    below = [each for each in known if each < length]
    above = [each for each in known if each > length]
    if not below or not above:
        return known[max(below)] if below else known[min(above)]
    low, high = max(below), min(above)
    share = log2(length / low) / log2(high / low)
    return known[low] + share * (known[high] - known[low])
