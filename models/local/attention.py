"""Attention and linear layers of a forward pass."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

# torch's kernel multiplies with MKL, as its linear layers do (`kernels`), in blocks of a few rows. Where oneDNN's
# float32 products beat it, which is found out by trying, some rows of a prompt look at some tokens by one product,
# powers of two in place of exponentials (torch's take a fourth of the time), and one product more.
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


# Pieces are joined by those logarithms (`tree_attention`). `query` [batch, heads, rows, head size], `keys` and `values`
# [batch, heads, tokens, head size]; a part gives what is seen [batch, heads, rows, head size] and the logarithm of the
# sum of exponentials [batch, heads, rows]. `causal`: row n sees the tokens up to n; there are as many of both.
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


# torch multiplies float32 matrices with MKL, which on AMD processors takes a path half as fast as the machine; and it
# arranges the weights anew in every call, which costs most for a few rows (answers written together). oneDNN does
# neither. With AVX-512 prompts are read 1.8 times as fast as by transformers.
#
# This rests on two operators that are private to torch (`torch.ops.mkldnn._linear_pointwise` and
# `_reorder_linear_weight`, as of torch 2.13), and on a layer's `forward` that is replaced on the instance. Where either
# operator is missing, takes other arguments, fails, gives other numbers than torch's own product or is not faster, the
# layers stay as they are: the answers are the same, later. `--model-arg kernels=plain` leaves them so from the start.

# Rows of a layer's input, from the first up to the next: one answer, answers written together, prompts.
_FIRST_ROWS = (1, 3, 96)
_TRIED_ROWS = (1, 16, 512)
_TRIED_LAYERS = 8  # one after the other, as in the model: what is tried twice in a row comes from the cache
_KERNELS_TRIES, _ENOUGH = 7, 3  # so many that all say the same are enough
_KERNELS_GAIN = 1.25  # below this it is not worth a second copy of the weights, and chance could decide
Fast = Callable[[Any, Any, Any], Any]  # rows, weights, bias
Pack = Callable[[Any, int], Any]  # weights, rows they are meant for


def use_fast_linears(model: Any, room: int) -> str:
    """Make a model's linear layers faster where that can be had; says which kernels they use then.

    `room`: bytes that may be used for weights in oneDNN's order, kept beside the usual ones.
    """
    import torch

    layers = [layer for layer in model.modules() if _is_plain_linear(layer)]
    if not layers:
        return "plain"
    found = operators()
    if found is None:
        return "plain"
    fast, pack = found
    if sum(layer.weight.numel() * 4 for layer in layers) > room:
        pack = _as_it_is
    with torch.inference_mode():
        largest = max(layers[:-1] or layers, key=_numbers)  # the last one is the vocabulary's
        tried = [layer for layer in layers if layer.weight.shape == largest.weight.shape][:_TRIED_LAYERS]
        weights = [pack(layer.weight, max(_TRIED_ROWS)) for layer in tried]
        gains = [_is_faster(tried, weights, rows, fast) for rows in _TRIED_ROWS]
    if not any(gains):
        return "plain"
    for layer in layers:
        layer.forward = _forward(layer, gains, fast, pack)
    return "onednn"


def _is_plain_linear(layer: Any) -> bool:
    import torch

    return type(layer) is torch.nn.Linear and layer.weight.dtype == torch.float32 and layer.weight.device.type == "cpu"


def _numbers(layer: Any) -> int:
    return int(layer.weight.numel())


def operators() -> tuple[Fast, Pack] | None:
    """oneDNN's product, and what puts weights into its order for some number of rows; `None` where they are missing."""
    import torch

    backend: Any = torch.backends.mkldnn
    linear = getattr(torch.ops.mkldnn, "_linear_pointwise", None)
    pack = getattr(torch.ops.mkldnn, "_reorder_linear_weight", None)
    if not backend.is_available() or linear is None or pack is None:
        return None

    def fast(rows: Any, weight: Any, bias: Any) -> Any:
        return linear(rows, weight, bias, "none", [], "")

    return fast, pack


def _is_faster(layers: Sequence[Any], weights: Sequence[Any], rows: int, fast: Fast) -> bool:
    """Whether `fast` gives these layers' numbers in less time; the best of a few tries in turn, so load cancels out."""
    import torch

    given = torch.randn(rows, layers[0].weight.shape[1], generator=torch.Generator().manual_seed(0))
    usual = torch.nn.functional.linear
    layer = layers[0]
    try:
        expected, found = usual(given, layer.weight, layer.bias), fast(given, weights[0], layer.bias)
    except (RuntimeError, TypeError):
        return False
    if float((expected - found).abs().max()) > _TOLERANCE * float(expected.abs().max()):
        return False
    # Many rows take long enough for one layer to tell.
    some = list(zip(layers, weights, strict=True))[: 1 if rows > _FIRST_ROWS[2] else None]
    times: tuple[list[float], list[float]] = ([], [])
    for tries in range(1, _KERNELS_TRIES + 1):
        begun = time.perf_counter()
        for layer, _weight in some:
            usual(given, layer.weight, layer.bias)
        times[0].append(time.perf_counter() - begun)
        begun = time.perf_counter()
        for layer, weight in some:
            fast(given, weight, layer.bias)
        times[1].append(time.perf_counter() - begun)
        said = {slow > _KERNELS_GAIN * quick for slow, quick in zip(*times, strict=True)}
        if tries >= _ENOUGH and len(said) == 1:
            return said.pop()
    return min(times[0]) > _KERNELS_GAIN * min(times[1])


def _as_it_is(weight: Any, _rows: int) -> Any:
    return weight


def _forward(layer: Any, gains: list[bool], fast: Fast, pack: Pack) -> Callable[[Any], Any]:
    import torch

    usual = torch.nn.functional.linear
    few, many = _FIRST_ROWS[1:]
    packed: list[Any] = []  # on first use, so that loading a model stays quick

    def forward(given: Any) -> Any:
        rows = given.numel() // given.shape[-1]
        if not rows or not gains[(rows >= few) + (rows >= many)]:
            return usual(given, layer.weight, layer.bias)
        if not packed:
            packed.append(pack(layer.weight, max(_TRIED_ROWS)))
        return fast(given, packed[0], layer.bias)

    return forward
