"""Attention of prompt tokens by oneDNN's float32 products, where they beat torch's own kernel: found out by trying.

torch's kernel for CPUs multiplies with MKL, as its linear layers do (`kernels`), in blocks of a few rows. Here all that
some rows of a prompt look at is one product, one softmax and one product more.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from needlework.haystack_fixtures.models.local.attention_parts import part_for
from needlework.haystack_fixtures.models.local.kernels import Fast, operators

Whole = Callable[[Any, Any, Any, float], Any]
FEWEST = 64  # rows; for fewer, putting keys together that other rows need as well costs more than it saves
MOST = 2**15  # tokens looked at; beyond, a block of scores that stays in the cache has too few rows
_ROWS = 128  # in a block
_SCORES = 2**20  # in a block
_TRIED = 384  # tokens of the prompt that is tried
_TRIES = 5
_GAIN = 1.1
_TOLERANCE = 1e-5  # of the largest number; the order of additions differs


def faster_attention() -> Whole | None:
    """Attention for float32 prompts on this machine's CPU; `None` where the usual kernel is as fast."""
    import torch

    found = operators()
    if found is None:
        return None
    whole: Whole = partial(attend_whole, found[0])
    random = torch.Generator().manual_seed(0)
    query = torch.randn(2, _TRIED, 3, 64, generator=random)
    keys, values = (torch.randn(2, _TRIED, 64, generator=random) for _ in range(2))
    usual = part_for(query)
    by_head = (query.transpose(1, 2), *(each[:, None].expand(2, 3, _TRIED, 64) for each in (keys, values)))
    times: tuple[list[float], list[float]] = ([], [])
    with torch.inference_mode():
        try:
            expected, got = usual(*by_head, True, 0.125)[0].transpose(1, 2), whole(query, keys, values, 0.125)
        except (RuntimeError, TypeError):
            return None
        if float((expected - got).abs().max()) > _TOLERANCE * float(expected.abs().max()):
            return None
        for _ in range(_TRIES):
            begun = time.perf_counter()
            usual(*by_head, True, 0.125)
            times[0].append(time.perf_counter() - begun)
            begun = time.perf_counter()
            whole(query, keys, values, 0.125)
            times[1].append(time.perf_counter() - begun)
    return whole if min(times[0]) > _GAIN * min(times[1]) else None


def attend_whole(product: Fast, query: Any, keys: Any, values: Any, scale: float) -> Any:
    """The last rows of a prompt look at all of it, each up to itself.

    `query` [kv heads, rows, query heads of each, head size], `keys`, `values` [kv heads, tokens, head size], with
    nothing between the tokens of a head: of rows with gaps oneDNN takes its reference code, a hundred times slower.
    Gives the shape of `query`.
    """
    import torch

    kv_heads, rows, group, size = query.shape
    before = keys.shape[1] - rows
    step = max(16, min(_ROWS, _SCORES // (group * keys.shape[1])))
    later = torch.full((step, step), float("-inf")).triu(1)[:, None]
    asking = (query * scale).reshape(kv_heads, rows * group, size)
    seen = torch.empty_like(asking)
    for head in range(kv_heads):
        for first in range(0, rows, step):
            last = min(rows, first + step)
            block, there = slice(first * group, last * group), before + last
            scores = product(asking[head, block], keys[head, :there], None)
            own = scores.view(last - first, group, there)[:, :, before + first :]
            own.add_(later[: last - first, :, : last - first])
            weights = torch.softmax(scores, -1, out=scores)
            seen[head, block] = product(weights, values[head, :there].t(), None)
    return seen.view(query.shape)
