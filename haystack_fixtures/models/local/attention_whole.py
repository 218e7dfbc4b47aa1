"""Attention of long runs of prompt tokens on CPUs: each row looks at the whole path up to itself, by oneDNN's products.

torch's kernel multiplies with MKL, as its linear layers do (`kernels`), in blocks of a few rows. Where oneDNN's float32
products beat it, which is found out by trying, some rows of a prompt look at some tokens by one product, powers of two
in place of exponentials (torch's take a fourth of the time), and one product more.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from needlework.haystack_fixtures.models.local.attention_parts import part_for
from needlework.haystack_fixtures.models.local.kernels import Fast, operators

Stretches = Sequence[tuple[Any, Any]]  # keys and values of a path, each [kv heads, tokens, head size]
Whole = Callable[[Any, Stretches, float, Any], None]
FEWEST = 64  # rows; for fewer, looking at keys together that other rows need as well saves more
_ROWS = 128  # in a block
_TOKENS = 1024  # that a block looks at together: its scores stay in the cache; at least twice as many as rows
_LEAST, _MOST = 2.0**-80, 2.0**80  # sums of powers between these are exact: nothing over- or underflowed
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
    part, got = part_for(query), torch.empty_like(query)

    def usual() -> Any:
        by_head = [each[:, None].expand(2, 3, _TRIED, 64) for each in (keys, values)]
        return part(query.transpose(1, 2), by_head[0], by_head[1], True, 0.125)[0].transpose(1, 2)

    times: tuple[list[float], list[float]] = ([], [])
    with torch.inference_mode():
        try:
            expected = usual()
            whole(query, [(keys, values)], 0.125, got)
        except (RuntimeError, TypeError):
            return None
        if float((expected - got).abs().max()) > _TOLERANCE * float(expected.abs().max()):
            return None
        for _ in range(_TRIES):
            begun = time.perf_counter()
            usual()
            times[0].append(time.perf_counter() - begun)
            begun = time.perf_counter()
            whole(query, [(keys, values)], 0.125, got)
            times[1].append(time.perf_counter() - begun)
    return whole if min(times[0]) > _GAIN * min(times[1]) else None


def attend_whole(product: Fast, query: Any, path: Stretches, scale: float, seen: Any) -> None:
    """The last rows of a path look at all of it, each up to itself; what they see is written to `seen`.

    `query`, `seen` [kv heads, rows, query heads of each, head size]. Nothing may lie between the tokens of a head: of
    rows with gaps oneDNN takes its reference code, a hundred times slower.
    """
    import torch

    kv_heads, rows, group, size = query.shape
    (*earlier, (keys, values)) = path
    before = keys.shape[1] - rows
    later = torch.full((_ROWS, _ROWS), float("-inf")).triu(1)[:, None]
    for head in range(kv_heads):
        shared = [tile for stretch in earlier for tile in _tiles(*stretch, head, stretch[0].shape[1])]
        small = True  # powers of two of the scores are numbers of 32 bits; if not, those of differences to the largest
        for first in range(0, rows, _ROWS):
            last = min(rows, first + _ROWS)
            asking = (query[head, first:last] * (scale / math.log(2))).view(-1, size)
            tiles = [*shared, *_tiles(keys, values, head, before + last)]
            hidden = later[: last - first, :, : last - first]
            if small:
                out, total = _summed(product, asking, tiles, hidden)
                small = float(total.min()) > _LEAST and float(total.max()) < _MOST
            if not small:
                out, total = _summed(product, asking, tiles, hidden, _largest(product, asking, tiles, hidden))
            shape = (last - first, group, -1)
            torch.div(out.view(shape), total.view(shape), out=seen[head, first:last])


def _tiles(keys: Any, values: Any, head: int, tokens: int) -> list[tuple[Any, Any]]:
    """The first `tokens` tokens of one head, cut evenly into as few pieces as may be; the first may be smaller."""
    size = -(-tokens // -(-tokens // _TOKENS))
    spans = [(max(0, end - size), end) for end in range(tokens, 0, -size)]
    return [(keys[head, begin:end], values[head, begin:end].t()) for begin, end in reversed(spans)]


def _scores(product: Fast, asking: Any, tiles: Sequence[tuple[Any, Any]], hidden: Any) -> Iterator[tuple[Any, Any]]:
    """Scores of each tile [rows x group, tokens], with its values; in the last one no row sees a later one."""
    for number, (keys, values) in enumerate(tiles, 1):
        scores = product(asking, keys, None)
        if number == len(tiles):
            rows = hidden.shape[0]
            scores.view(rows, -1, scores.shape[-1])[..., -rows:].add_(hidden)
        yield scores, values


def _summed(
    product: Fast, asking: Any, tiles: Sequence[tuple[Any, Any]], hidden: Any, largest: Any = None
) -> tuple[Any, Any]:
    """Values weighted by two to the power of their score [rows x group, head size], and the sums of the weights."""
    import torch

    out: Any = None
    total: Any = None
    for scores, values in _scores(product, asking, tiles, hidden):
        if largest is not None:
            scores -= largest
        torch.exp2(scores, out=scores)
        some, sums = product(scores, values, None), scores.sum(-1, keepdim=True)
        out, total = (some, sums) if out is None else (out.add_(some), total.add_(sums))
    return out, total


def _largest(product: Fast, asking: Any, tiles: Sequence[tuple[Any, Any]], hidden: Any) -> Any:
    import torch

    found = [scores.amax(-1, keepdim=True) for scores, _ in _scores(product, asking, tiles, hidden)]
    return torch.cat(found, -1).amax(-1, keepdim=True)
