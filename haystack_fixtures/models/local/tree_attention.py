"""Attention over a token tree: transformers runs the model, this replaces its attention and its cache.

Rows of one forward pass belong to different prompts. What a row sees is a sequence of pieces of chains that lie where
they were computed; nothing is copied, repeated or padded. Each piece is attended to without a mask by all rows that
share it, and the parts are joined by the logarithms of their sums (the way flash attention joins its blocks).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from needlework.haystack_fixtures.models.local.token_tree import Path, Piece, Run, length, path_to, pieces

NAME = "needlework_tree"
# What models hand to attention that changes its result and is not done here.
_NOT_DONE = ("softcap", "s_aux", "sinks", "position_bias", "indices", "block_indices")

Part = Callable[[Any, Any, Any, bool, float], tuple[Any, Any]]


class TreeError(RuntimeError):
    """This model cannot be run over a tree."""


@dataclass(slots=True)
class Tails:
    """Keys and values of the answers that are being written together: by layer [answers, kv heads, room, head size].

    `used`: tokens of each answer that are there, the one being computed included.
    """

    used: int = 0
    keys: dict[int, Any] = field(default_factory=dict)
    values: dict[int, Any] = field(default_factory=dict)

    def write(self, layer: int, key: Any, value: Any) -> tuple[Any, Any]:
        """Add one token for each answer (`key`, `value`: [kv heads, answers, head size]); returns all there are."""
        for tensors, new in ((self.keys, key), (self.values, value)):
            old = tensors.get(layer)
            if old is None or old.shape[2] < self.used:
                heads, answers, size = new.shape
                grown = new.new_empty(answers, heads, max(32, 2 * (self.used - 1)), size)
                if old is not None:
                    grown[:, :, : self.used - 1] = old[:, :, : self.used - 1]
                tensors[layer] = grown
            tensors[layer][:, :, self.used - 1] = new.transpose(0, 1)
        return self.keys[layer][:, :, : self.used], self.values[layer][:, :, : self.used]

    def keep(self, answers: Sequence[int]) -> None:
        """Drop the answers that have ended."""
        for tensors in (self.keys, self.values):
            for layer, tensor in tensors.items():
                tensors[layer] = tensor[list(answers)]


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of one forward pass: runs of prompt tokens, or (with `tails`) one new token of each answer.

    `spans`: first and last row, and the path behind which they stand. `positions`: of every row in its prompt.
    `store`: device where keys and values are kept, if not their own. `seen`: by layer, keys and values of each piece,
    cut out once for all the passes that look at the same pieces.
    """

    spans: tuple[tuple[int, int, Path], ...]
    positions: tuple[int, ...]
    pieces: tuple[Piece, ...]
    runs: tuple[Run, ...] = ()
    tails: Tails | None = None
    store: str | None = None
    seen: dict[int, list[tuple[Any, Any]]] = field(default_factory=dict)

    @property
    def levels(self) -> int:
        """Pieces of the row that has most, its own run or tail included."""
        return 1 + max((piece.level + 1 for piece in self.pieces), default=0)


def rows_of_runs(runs: Sequence[Run], store: str | None = None) -> Rows:
    """The forward pass that computes these runs."""
    spans: list[tuple[int, int, Path]] = []
    positions: list[int] = []
    for run in runs:
        first = len(positions)
        positions.extend(range(run.chain.start + run.begin, run.chain.start + run.end))
        spans.append((first, len(positions), path_to(run.chain, run.begin)))
    return Rows(tuple(spans), tuple(positions), tuple(pieces(spans, cut=False)), tuple(runs), None, store)


def rows_of_answers(paths: Sequence[Path], tails: Tails) -> Rows:
    """The forward passes that compute one token of each answer; `next_rows` makes it the next one."""
    spans = tuple((row, row + 1, path) for row, path in enumerate(paths))
    positions = tuple(length(path) + tails.used - 1 for path in paths)
    return Rows(spans, positions, tuple(pieces(spans, cut=True)), (), tails)


def next_rows(rows: Rows) -> Rows:
    """The pass after this one: each answer has one more token."""
    assert rows.tails is not None
    rows.tails.used += 1
    return replace(rows, positions=tuple(position + 1 for position in rows.positions))


def tree_attention(
    module: Any,
    query: Any,
    key: Any,
    value: Any,
    attention_mask: Any,
    scaling: float | None = None,
    sliding_window: int | None = None,
    tree_rows: Rows | None = None,
    **more: Any,
) -> tuple[Any, None]:
    """What transformers calls in each layer: `query` [1, heads, rows, head size]; gives [1, rows, heads, head size]."""
    import torch

    if tree_rows is None or attention_mask is not None or query.shape[0] != 1:
        raise TreeError("called without a tree")
    refused = [name for name in _NOT_DONE if more.get(name) is not None]
    if refused or more.get("is_causal") is False:
        raise TreeError(f"attention with {refused[0] if refused else 'is_causal=False'}")
    scale = query.shape[-1] ** -0.5 if scaling is None else float(scaling)
    layer, wide = int(module.layer_idx), value.shape[-1]
    if wide < key.shape[-1]:  # DeepSeek's: the kernels want values as wide as keys
        value = torch.nn.functional.pad(value, (0, key.shape[-1] - wide))
    _write(tree_rows, layer, key[0], value[0])
    if sliding_window is not None and max(tree_rows.positions) >= sliding_window:
        seen = _attend_window(tree_rows, layer, query[0], key[0], value[0], scale, int(sliding_window))
    else:
        seen = _attend(tree_rows, layer, query[0], key[0], value[0], scale)
    return seen[..., :wide], None


def _write(rows: Rows, layer: int, key: Any, value: Any) -> None:
    for run, (first, last, _) in zip(rows.runs, rows.spans, strict=bool(rows.runs)):
        for tensors, new in ((run.chain.keys, key), (run.chain.values, value)):
            if layer not in tensors:
                shape = (new.shape[0], len(run.chain.ids), new.shape[2])
                tensors[layer] = new.new_empty(shape, device=rows.store or new.device)
            tensors[layer][:, run.begin : run.end] = new[:, first:last]


def _attend(rows: Rows, layer: int, query: Any, key: Any, value: Any, scale: float) -> Any:
    heads, count, size = query.shape
    kv_heads, group = key.shape[0], heads // key.shape[0]
    part = part_for(query)
    # Query heads of one key/value head lie beside each other, row by row: a piece is one matrix product for them all.
    packed = query.view(kv_heads, group, count, size).transpose(1, 2).reshape(kv_heads, count * group, size)
    outs = packed.new_zeros((rows.levels, kv_heads, count, group, value.shape[-1]), dtype=_exact(packed))
    sums = packed.new_full((rows.levels, kv_heads, count, group), float("-inf"), dtype=_exact(packed))

    for piece, (keys, values) in zip(rows.pieces, _seen(rows, layer), strict=True):
        asking = packed[None, :, piece.first * group : piece.last * group]
        keys, values = keys.to(query.device, non_blocking=True), values.to(query.device, non_blocking=True)
        out, total = part(asking, keys, values, False, scale)
        rows_seen = (kv_heads, piece.last - piece.first, group)
        outs[piece.level, :, piece.first : piece.last] = out.view(*rows_seen, -1)
        sums[piece.level, :, piece.first : piece.last] = total.view(rows_seen)
    by_row = packed.view(kv_heads, count, group, size)
    if rows.tails is not None:
        keys, values = rows.tails.write(layer, key, value)
        out, total = part(by_row.transpose(0, 1), keys, values, False, scale)
        outs[-1], sums[-1] = out.transpose(0, 1), total.transpose(0, 1)
    for first, last, _ in rows.spans if rows.tails is None else ():
        shape = (kv_heads, group, last - first, key.shape[-1])
        keys = key[:, None, first:last].expand(shape)
        values = value[:, None, first:last].expand(*shape[:3], value.shape[-1])
        out, total = part(by_row[:, first:last].transpose(1, 2), keys, values, True, scale)
        outs[-1, :, first:last], sums[-1, :, first:last] = out.transpose(1, 2), total.transpose(1, 2)

    joined = _join(outs, sums).to(query.dtype)
    return joined.transpose(0, 1).reshape(1, count, heads, -1)


def _seen(rows: Rows, layer: int) -> list[tuple[Any, Any]]:
    if layer not in rows.seen:
        rows.seen[layer] = [
            (
                piece.chain.keys[layer][None, :, piece.begin : piece.end],
                piece.chain.values[layer][None, :, piece.begin : piece.end],
            )
            for piece in rows.pieces
        ]
    return rows.seen[layer]


def _join(outs: Any, sums: Any) -> Any:
    if len(outs) == 1:
        return outs[0]
    weights = sums.softmax(0)
    return (outs * weights[..., None]).sum(0)


def _attend_window(rows: Rows, layer: int, query: Any, key: Any, value: Any, scale: float, window: int) -> Any:
    """Layers that look back `window` tokens only: what each span can see is put together for it."""
    import torch

    attention = torch.nn.functional.scaled_dot_product_attention
    heads, count, size = query.shape
    kv_heads, group = key.shape[0], heads // key.shape[0]
    grouped = query.view(kv_heads, group, count, size)
    result = query.new_empty(1, count, heads, value.shape[-1])
    tails = rows.tails.write(layer, key, value) if rows.tails is not None else None
    for row, (first, last, path) in enumerate(rows.spans):
        begin = max(0, rows.positions[first] - window + 1)
        seen: list[Any] = []
        for each, own in enumerate((key, value)):
            parts = [
                (stretch.chain.values if each else stretch.chain.keys)[layer][
                    :, max(0, begin - stretch.chain.start) : stretch.tokens
                ].to(query.device)
                for stretch in path
            ]
            parts.append(own[:, first:last] if tails is None else tails[each][row])
            seen.append(torch.cat(parts, dim=1)[:, -(rows.positions[last - 1] + 1 - begin) :])
        keys, values = seen
        if last - first == 1:
            out = attention(grouped[None, :, :, first], keys[None], values[None], scale=scale)[0][:, :, None]
        else:
            at = torch.arange(rows.positions[first], rows.positions[last - 1] + 1, device=query.device)[:, None]
            there = torch.arange(begin, rows.positions[last - 1] + 1, device=query.device)
            mask = (there <= at) & (there > at - window)
            shape = (kv_heads, group, *keys.shape[1:])
            out = attention(
                grouped[:, :, first:last],
                keys[:, None].expand(shape),
                values[:, None].expand(*shape[:3], -1),
                attn_mask=mask,
                scale=scale,
            )
        result[0, first:last] = out.permute(2, 0, 1, 3).reshape(last - first, heads, -1)
    return result


def _exact(tensor: Any) -> Any:
    import torch

    return torch.float64 if tensor.dtype == torch.float64 else torch.float32


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

    exact = _exact(query)
    rows, columns = query.shape[2], keys.shape[2]
    step = max(1, 2**26 // (query.shape[0] * query.shape[1] * columns))
    outs, sums = [], []
    for first in range(0, rows, step):
        scores = query[:, :, first : first + step].to(exact) @ keys.to(exact).transpose(2, 3) * scale
        if causal:
            hidden = torch.ones(rows, columns, dtype=torch.bool, device=query.device).triu(1)[first : first + step]
            scores = scores.masked_fill(hidden, float("-inf"))
        total = scores.logsumexp(-1)
        outs.append((scores - total[..., None]).exp() @ values.to(exact))
        sums.append(total)
    return torch.cat(outs, 2).to(query.dtype), torch.cat(sums, 2)
