"""Attention over a token tree: transformers runs the model, this replaces its attention and its cache.

Rows of one forward pass belong to different prompts. What a row sees is a sequence of pieces of chains that lie where
they were computed; nothing is copied, repeated or padded. Each piece is attended to without a mask by all rows that
share it, and the parts are joined by the logarithms of their sums (the way flash attention joins its blocks).
"""

from __future__ import annotations

from typing import Any

from needlework.haystack_fixtures.models.local.attention_parts import add_part, exact, join_parts, part_for
from needlework.haystack_fixtures.models.local.token_tree import Path
from needlework.haystack_fixtures.models.local.tree_rows import Rows

NAME = "needlework_tree"
# What models hand to attention that changes its result and is not done here.
_NOT_DONE = ("softcap", "s_aux", "sinks", "position_bias", "indices", "block_indices")


class TreeError(RuntimeError):
    """This model cannot be run over a tree."""


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
        attend = _attend_runs if tree_rows.tails is None else _attend_answers
        seen = attend(tree_rows, layer, query[0], key[0], value[0], scale)
    return seen[..., :wide], None


def _write(rows: Rows, layer: int, key: Any, value: Any) -> None:
    for run, (first, last, _) in zip(rows.runs, rows.spans, strict=bool(rows.runs)):
        for tensors, new in ((run.chain.keys, key), (run.chain.values, value)):
            if layer not in tensors:
                shape = (new.shape[0], len(run.chain.ids), new.shape[2])
                tensors[layer] = new.new_empty(shape, device=rows.store or new.device)
            tensors[layer][:, run.begin : run.end] = new[:, first:last]


def _attend_runs(rows: Rows, layer: int, query: Any, key: Any, value: Any, scale: float) -> Any:
    """Runs of prompt tokens. Each looks at itself and then at the pieces before it, added to what is seen so far; or,
    where `rows` say so, at all of its path at once."""
    heads, count, size = query.shape
    kv_heads, group = key.shape[0], heads // key.shape[0]
    part = part_for(query)
    result = query.new_empty((count, kv_heads, group, value.shape[-1]), dtype=exact(query))
    seen = result.transpose(0, 1)
    by_row = query.view(kv_heads, group, count, size).transpose(1, 2)
    for first, last, path in rows.whole:
        assert rows.attend_whole is not None
        rows.attend_whole(by_row[:, first:last], _stretches(path, layer), scale, seen[:, first:last])
    packed = _packed(query, kv_heads) if rows.apart else query
    sums = packed.new_empty((kv_heads, count, group), dtype=exact(packed))
    for first, last, _ in rows.apart:
        shape = (kv_heads, group, last - first, key.shape[-1])
        keys = key[:, None, first:last].expand(shape)
        values = value[:, None, first:last].expand(*shape[:3], value.shape[-1])
        out, total = part(by_row[:, first:last].transpose(1, 2), keys, values, True, scale)
        seen[:, first:last], sums[:, first:last] = out.transpose(1, 2), total.transpose(1, 2)
    for piece, (keys, values) in zip(rows.pieces, _seen(rows, layer), strict=True):
        asking = packed[None, :, piece.first * group : piece.last * group]
        keys, values = keys.to(query.device, non_blocking=True), values.to(query.device, non_blocking=True)
        out, total = part(asking, keys, values, False, scale)
        there, before = seen[:, piece.first : piece.last], sums[:, piece.first : piece.last]
        add_part(there, before, out.view(there.shape), total.view(before.shape))
    return result.to(query.dtype).view(1, count, heads, -1)


def _attend_answers(rows: Rows, layer: int, query: Any, key: Any, value: Any, scale: float) -> Any:
    """One row of each answer: the parts of all levels lie beside each other, and are joined at once."""
    assert rows.tails is not None
    heads, count, size = query.shape
    kv_heads, group = key.shape[0], heads // key.shape[0]
    part = part_for(query)
    packed = _packed(query, kv_heads)
    outs = packed.new_zeros((rows.levels, kv_heads, count, group, value.shape[-1]), dtype=exact(packed))
    sums = packed.new_full((rows.levels, kv_heads, count, group), float("-inf"), dtype=exact(packed))
    for piece, (keys, values) in zip(rows.pieces, _seen(rows, layer), strict=True):
        asking = packed[None, :, piece.first * group : piece.last * group]
        keys, values = keys.to(query.device, non_blocking=True), values.to(query.device, non_blocking=True)
        out, total = part(asking, keys, values, False, scale)
        rows_seen = (kv_heads, piece.last - piece.first, group)
        outs[piece.level, :, piece.first : piece.last] = out.view(*rows_seen, -1)
        sums[piece.level, :, piece.first : piece.last] = total.view(rows_seen)
    keys, values = rows.tails.write(layer, key, value)
    by_row = packed.view(kv_heads, count, group, size)
    out, total = part(by_row.transpose(0, 1), keys, values, False, scale)
    outs[-1], sums[-1] = out.transpose(0, 1), total.transpose(0, 1)
    joined = join_parts(outs, sums).to(query.dtype)
    return joined.transpose(0, 1).reshape(1, count, heads, -1)


def _stretches(path: Path, layer: int) -> list[tuple[Any, Any]]:
    """Keys and values of a path."""
    return [
        (stretch.chain.keys[layer][:, : stretch.tokens], stretch.chain.values[layer][:, : stretch.tokens])
        for stretch in path
    ]


def _packed(query: Any, kv_heads: int) -> Any:
    """Query heads of one key/value head beside each other, row by row: a piece is one matrix product for them all."""
    heads, count, size = query.shape
    group = heads // kv_heads
    return query.view(kv_heads, group, count, size).transpose(1, 2).reshape(kv_heads, count * group, size)


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
