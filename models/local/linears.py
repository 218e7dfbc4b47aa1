"""Faster linear layers for models in float32 on a CPU."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

# torch multiplies float32 matrices with MKL, which on AMD processors takes a path half as fast as the machine; and it
# arranges the weights anew in every call, which costs most for a few rows (answers written together). oneDNN does
# neither. With AVX-512 prompts are read 1.8 times as fast.
#
# This rests on two operators that are private to torch (`torch.ops.mkldnn._linear_pointwise` and
# `_reorder_linear_weight`, as of torch 2.13), and on a layer's `forward` that is replaced on the instance. Where either
# operator is missing, takes other arguments, fails, gives other numbers than torch's own product or is not faster, the
# layers stay as they are: the answers are the same, later. `--model-arg kernels=plain` leaves them so from the start.

# Rows of a layer's input, from the first up to the next: one answer, answers written together, prompts.
_FIRST_ROWS = (1, 3, 96)
_TRIED_ROWS = (1, 16, 512)
_TRIED_LAYERS = 8  # one after the other, as in the model: what is tried twice in a row comes from the cache
_TRIES, _ENOUGH = 7, 3  # so many with the same result are enough
_TOLERANCE = 1e-5  # of the largest number; the order of additions differs
_GAIN = 1.25  # below this it is not worth a second copy of the weights, and chance could decide
Product = Callable[[Any, Any, Any], Any]  # rows, weights, bias
Pack = Callable[[Any, int], Any]  # weights, rows they are meant for


def use_fast_linears(model: Any, room: int) -> str:
    """Make a model's linear layers faster where that is possible; returns the name of the kernels that they use.

    `room`: bytes that may be used for weights in oneDNN's order, beside the usual ones.
    """
    import torch

    layers = [layer for layer in model.modules() if _is_plain_linear(layer)]
    kernels = operators()
    if not layers or kernels is None:
        return "plain"
    fast, pack = kernels
    if sum(layer.weight.numel() * 4 for layer in layers) > room:
        pack = lambda weight, _rows: weight  # noqa: E731
    with torch.inference_mode():
        # The last layer is the vocabulary's.
        largest = max(layers[:-1] or layers, key=lambda layer: int(layer.weight.numel()))
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


def operators() -> tuple[Product, Pack] | None:
    """oneDNN's product, and its reordering of weights for some number of rows; `None` where they are missing."""
    import torch

    backend: Any = torch.backends.mkldnn
    linear = getattr(torch.ops.mkldnn, "_linear_pointwise", None)
    pack = getattr(torch.ops.mkldnn, "_reorder_linear_weight", None)
    if not backend.is_available() or linear is None or pack is None:
        return None
    return lambda rows, weight, bias: linear(rows, weight, bias, "none", [], ""), pack


def _is_faster(layers: Sequence[Any], weights: Sequence[Any], rows: int, fast: Product) -> bool:
    """Whether `fast` gives these layers' numbers in less time; the best of a few tries in turn, so load cancels out."""
    import torch

    inputs = torch.randn(rows, layers[0].weight.shape[1], generator=torch.Generator().manual_seed(0))
    usual = torch.nn.functional.linear
    layer = layers[0]
    try:
        expected, computed = usual(inputs, layer.weight, layer.bias), fast(inputs, weights[0], layer.bias)
    except (RuntimeError, TypeError):
        return False
    if float((expected - computed).abs().max()) > _TOLERANCE * float(expected.abs().max()):
        return False
    count = 1 if rows > _FIRST_ROWS[2] else len(layers)  # many rows take long enough for one layer to tell

    def seconds(product: Product, layer_weights: Sequence[Any]) -> float:
        begun = time.perf_counter()
        for layer, weight in zip(layers[:count], layer_weights, strict=False):
            product(inputs, weight, layer.bias)
        return time.perf_counter() - begun

    times: list[tuple[float, float]] = []
    for tries in range(1, _TRIES + 1):
        times.append((seconds(usual, [layer.weight for layer in layers]), seconds(fast, weights)))
        results = {slow > _GAIN * quick for slow, quick in times}
        if tries >= _ENOUGH and len(results) == 1:
            return results.pop()
    return min(slow for slow, _ in times) > _GAIN * min(quick for _, quick in times)


def _forward(layer: Any, gains: list[bool], fast: Product, pack: Pack) -> Callable[[Any], Any]:
    import torch

    usual = torch.nn.functional.linear
    few, many = _FIRST_ROWS[1:]
    packed: list[Any] = []  # on first use, so that loading a model stays quick

    def forward(inputs: Any) -> Any:
        rows = inputs.numel() // inputs.shape[-1]
        if not rows or not gains[(rows >= few) + (rows >= many)]:
            return usual(inputs, layer.weight, layer.bias)
        if not packed:
            packed.append(pack(layer.weight, max(_TRIED_ROWS)))
        return fast(inputs, packed[0], layer.bias)

    return forward
