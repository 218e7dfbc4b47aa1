"""The bins of OpenAI's MRCR: tokens (o200k) of prompt and answer together, as its data card and as harnesses put them.

The card: the first bin holds both of its ends, every other one its upper end only. openbench (d03922c) and evalscope
(fde259d2): the middle bins hold their lower end, so that 16,384 tokens are one bin higher, and what is in no bin counts
in the first.
"""

from __future__ import annotations

from itertools import pairwise

BINS = tuple(pairwise(4096 * 2**power for power in range(9)))
"""(lower end, upper end) of each bin, tokens."""


def card_bin(tokens: int) -> int | None:
    """Number of the card's bin for so many tokens, from 0; `None`: it is in none."""
    return next(
        (number for number, (low, high) in enumerate(BINS) if _above(number, low, tokens) and tokens <= high), None
    )


def harness_bin(tokens: int) -> int:
    """Number of the bin as openbench and evalscope count, from 0."""
    for number, (low, high) in enumerate(BINS):
        closed = number in (0, len(BINS) - 1)
        if low <= tokens < high or (closed and tokens == high):
            return number
    return 0


def _above(number: int, low: int, tokens: int) -> bool:
    return tokens >= low if number == 0 else tokens > low
