"""What a planned run needs of a model: a window, memory, cards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil

from needlework.haystack_fixtures.models.described import Described

# vLLM and SGLang keep about a tenth of a card for activations and themselves.
_SHARE_OF_A_CARD = 0.9
_GIB = 2**30


def size_lines(model: Described, lengths: Sequence[int], card_gib: float | None = None) -> Iterator[str]:
    """Lines on trials of these `lengths` (tokens, one each): what the window does not hold, and the memory of one.

    `card_gib`: memory of a card, in GiB.
    """
    beyond = sorted(length for length in lengths if model.window is not None and length > model.window)
    if model.window is not None and beyond:
        told = " ".join(map(str, dict.fromkeys(beyond)))
        over = f"{len(beyond):,} of {len(lengths):,} trials are over its window of {model.window:,} tokens"
        yield f"{over} and would be skipped: length {told}"
    if model.token_bytes is None:
        if card_gib is not None:
            yield "no memory can be told: give --tokenizer FOLDER, with the model's config.json in it"
        return
    longest = max(lengths)
    kept = longest * model.token_bytes
    told = f"keys and values of {longest:,} tokens: {_gib(kept)} in 16 bit, {_gib(kept / 2)} in 8 bit"
    yield told + (f"; weights {_gib(model.weights_bytes)}" if model.weights_bytes else "")
    if card_gib is not None:
        cards = [_cards(model.weights_bytes or 0, bytes_kept, card_gib) for bytes_kept in (kept, kept / 2)]
        without = "" if model.weights_bytes else ", without the weights: they are not here"
        yield f"cards of {card_gib:g} GiB for one request: {cards[0]} in 16 bit, {cards[1]} in 8 bit{without}"


def _cards(weights: float, kept: float, card_gib: float) -> int:
    return max(1, ceil((weights + kept) / (_SHARE_OF_A_CARD * card_gib * _GIB)))


def _gib(size: float) -> str:
    return f"{size / _GIB:,.2f} GiB"
