"""Attention as it is computed on each device: of one piece with the logarithm of its sum, or of a whole path at once.

Pieces are joined by those logarithms (`tree_attention`). `query` [batch, heads, rows, head size], `keys` and `values`
[batch, heads, tokens, head size]; a part gives what is seen [batch, heads, rows, head size] and the logarithm of the
sum of exponentials [batch, heads, rows]. `causal`: row n sees the tokens up to n; there are as many of both.

A whole path is for CPUs. torch's kernel for them multiplies with MKL, as its linear layers do (`kernels`), in blocks of
a few rows. Where oneDNN's float32 products beat it, which is found out by trying, all that some rows of a prompt look
at is one product, one softmax and one product more.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from needlework.haystack_fixtures.models.local.kernels import Fast, operators

Part = Callable[[Any, Any, Any, bool, float], tuple[Any, Any]]
Whole = Callable[[Any, Any, Any, float], Any]
FEWEST = 64  # rows; for fewer, putting keys together that other rows need as well costs more than it saves
MOST = 2**15  # tokens looked at; beyond, a block of scores that stays in the cache has too few rows
_ROWS = 128  # in a block
_SCORES = 2**20  # in a block
_TRIED = 384  # tokens of the prompt that is tried
_TRIES = 5
_GAIN = 1.1
_TOLERANCE = 1e-5  # of the largest number; the order of additions differs


def exact(tensor: Any) -> Any:
    """The numbers that parts are joined in: 64 bits of 64, else 32."""
    import torch

    return torch.float64 if tensor.dtype == torch.float64 else torch.float32


def join_parts(outs: Any, sums: Any) -> Any:
    """What all parts together see; `outs` [parts, ..., head size], `sums` [parts, ...], -inf where there is none."""
    if len(outs) == 1:
        return outs[0]
    weights = sums.softmax(0)
    return (outs * weights[..., None]).sum(0)


def add_part(seen: Any, sums: Any, out: Any, total: Any) -> None:
    """Add one part to what is seen so far, in place."""
    import torch

    seen.lerp_(out.to(seen.dtype), (total - sums).sigmoid_()[..., None])
    torch.logaddexp(sums, total, out=sums)


def part_for(query: Any) -> Part:
    """The attention kernel of this device that also gives the logarithm of its sum.

    torch has these under private names only: `torch.nn.functional.scaled_dot_product_attention` drops the logarithm.
    """
    import torch

    if query.device.type == "cpu" and query.dtype in (torch.float32, torch.bfloat16, torch.float16):
        return _cpu_part
    if query.device.type == "cuda":
        return _flash_part if query.dtype in (torch.float16, torch.bfloat16) else _efficient_part
    return plain_part


def _kernel(name: str) -> Any:
    import torch

    return getattr(torch.ops.aten, f"_scaled_dot_product_{name}")


def _cpu_part(query: Any, keys: Any, values: Any, causal: bool, scale: float) -> tuple[Any, Any]:
    out, total = _kernel("flash_attention_for_cpu")(query, keys, values, 0.0, causal, scale=scale)
    return out, total


def _flash_part(query: Any, keys: Any, values: Any, causal: bool, scale: float) -> tuple[Any, Any]:
    found = _kernel("flash_attention")(query, keys, values, 0.0, causal, False, scale=scale)
    return found[0], found[1]


def _efficient_part(query: Any, keys: Any, values: Any, causal: bool, scale: float) -> tuple[Any, Any]:
    found = _kernel("efficient_attention")(query, keys, values, None, True, 0.0, causal, scale=scale)
    return found[0], found[1][..., : query.shape[2]]


def plain_part(query: Any, keys: Any, values: Any, causal: bool, scale: float) -> tuple[Any, Any]:
    """The same by matrix products, for devices that have no such kernel; some rows at a time, to bound memory."""
    import torch

    wide = exact(query)
    rows, columns = query.shape[2], keys.shape[2]
    step = max(1, 2**26 // (query.shape[0] * query.shape[1] * columns))
    outs, sums = [], []
    for first in range(0, rows, step):
        scores = query[:, :, first : first + step].to(wide) @ keys.to(wide).transpose(2, 3) * scale
        if causal:
            hidden = torch.ones(rows, columns, dtype=torch.bool, device=query.device).triu(1)[first : first + step]
            scores = scores.masked_fill(hidden, float("-inf"))
        total = scores.logsumexp(-1)
        outs.append((scores - total[..., None]).exp() @ values.to(wide))
        sums.append(total)
    return torch.cat(outs, 2).to(query.dtype), torch.cat(sums, 2)


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
    part = part_for(query)

    def usual() -> Any:
        by_head = [each[:, None].expand(2, 3, _TRIED, 64) for each in (keys, values)]
        return part(query.transpose(1, 2), by_head[0], by_head[1], True, 0.125)[0].transpose(1, 2)

    times: tuple[list[float], list[float]] = ([], [])
    with torch.inference_mode():
        try:
            expected, got = usual(), whole(query, keys, values, 0.125)
        except (RuntimeError, TypeError):
            return None
        if float((expected - got).abs().max()) > _TOLERANCE * float(expected.abs().max()):
            return None
        for _ in range(_TRIES):
            begun = time.perf_counter()
            usual()
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
