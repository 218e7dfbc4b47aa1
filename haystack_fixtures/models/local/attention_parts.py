"""Attention of one piece as it is computed on each device, with the logarithm of its sum.

Pieces are joined by those logarithms (`tree_attention`). `query` [batch, heads, rows, head size], `keys` and `values`
[batch, heads, tokens, head size]; a part gives what is seen [batch, heads, rows, head size] and the logarithm of the
sum of exponentials [batch, heads, rows]. `causal`: row n sees the tokens up to n; there are as many of both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Part = Callable[[Any, Any, Any, bool, float], tuple[Any, Any]]


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
