"""Decodes the prompts of a token tree together."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from needlework.models.local.attention import Whole, add_part, exact, join_parts, part_for
from needlework.models.local.runners import Generated, Limits
from needlework.models.local.token_tree import (
    Ids,
    Path,
    Tails,
    TokenChain,
    TokenRows,
    TokenTree,
    length,
    next_rows,
    ordered,
    passes,
    rows_of_answers,
    rows_of_runs,
    trunk_first,
)


@dataclass(slots=True)
class _GrowingAnswer:
    """One prompt on its way to an answer. `seconds`: its share of the time of the forward passes so far."""

    prompt: Ids
    budget: int
    path: Path
    computed: int
    ids: list[int]
    seconds: float = 0.0
    ttft_s: float = 0.0


class TreeRunner:
    """Runs one model over a tree that stays from call to call, up to the limits given.

    A transformers model's code stays its own; only its attention and its cache are replaced (`tree_attention`).
    `store`: device that keeps the prompts' keys and values, where that is not the model's. `attend_whole`: attention of
    long runs of prompt tokens, where the device's usual one is slower.
    """

    def __init__(
        self,
        model: Any,
        stop_ids: Sequence[int],
        processors: Callable[[Any, Any], Any] | None = None,
        store: str | None = None,
        attend_whole: Whole | None = None,
    ) -> None:
        self._model = model
        self._stops = frozenset(stop_ids)
        self._processors = processors
        self._store = store
        self._attend_whole = attend_whole
        self._tree = TokenTree()

    def run(self, prompts: Sequence[Ids], budgets: Sequence[int], limits: Limits) -> list[Generated]:
        """Continue each prompt by at most its budget of tokens, each the likeliest. No prompt may be empty."""
        import torch

        found: dict[int, Generated] = {}
        try:
            with torch.inference_mode():
                for group in _groups(prompts, budgets, limits):
                    asked = [prompts[each] for each in group]
                    answers = self._answers(asked, [budgets[each] for each in group], limits)
                    found.update(zip(group, answers, strict=True))
        except BaseException:
            self.forget()  # a chain may be half filled
            raise
        return [found[each] for each in range(len(prompts))]

    def forget(self) -> None:
        """Drop the tree."""
        self._tree = TokenTree()

    def _answers(self, prompts: Sequence[Ids], budgets: Sequence[int], limits: Limits) -> list[Generated]:
        paths = [self._tree.find(prompt) for prompt in prompts]
        new = sum(map(len, prompts)) - sum(map(length, paths))
        if self._tree.tokens + new + sum(budgets) > limits.tokens:
            self._tree.trim(paths)
        added: dict[int, tuple[Path, TokenChain | None]] = {}
        for each in trunk_first(prompts):
            added[each] = self._tree.add(prompts[each])
        answers = [
            _GrowingAnswer(prompt, budget, added[each][0], _tokens(added[each][1]), [])
            for each, (prompt, budget) in enumerate(zip(prompts, budgets, strict=True))
        ]
        owners = {chain: answers[each] for each, (_, chain) in added.items() if chain is not None}
        self._prefill(owners, limits.chunk)
        self._decode([answers[each] for each in ordered(prompts)])
        return [
            Generated(
                tuple(answer.ids),
                answer.ids[-1] in self._stops,
                len(answer.prompt) - answer.computed,
                answer.ttft_s,
                answer.seconds,
            )
            for answer in answers
        ]

    def _prefill(self, owners: dict[TokenChain, _GrowingAnswer], chunk: int) -> None:
        for runs in passes(list(owners), chunk):
            begun = time.perf_counter()
            ids = np.concatenate([run.chain.ids[run.begin : run.end] for run in runs])
            wanted: list[tuple[TokenChain, int]] = []
            places: list[int] = []
            first = 0
            for run in runs:
                for end in run.chain.ends:
                    if run.begin < end <= run.end:
                        wanted.append((run.chain, end))
                        places.append(first + end - run.begin - 1)
                run.chain.filled = run.end
                first += run.end - run.begin
            rows = rows_of_runs(runs, self._store, self._attend_whole)
            logits = self._forward(ids.tolist(), rows, places or [len(ids) - 1])
            for (chain, end), said in zip(wanted, logits, strict=False):
                chain.ends[end] = said.clone()
            share = (time.perf_counter() - begun) / len(ids)
            for run in runs:
                owners[run.chain].seconds += share * (run.end - run.begin)

    def _decode(self, answers: Sequence[_GrowingAnswer]) -> None:
        import torch

        begun = time.perf_counter()
        ends = [answer.path[-1] for answer in answers]
        logits = torch.stack([end.chain.ends[end.tokens] for end in ends])
        tails = Tails()
        rows = rows_of_answers([answer.path for answer in answers], tails)
        active = list(answers)
        while True:
            chosen = self._choose(active, logits)
            share = (time.perf_counter() - begun) / len(active)
            for answer, token in zip(active, chosen, strict=True):
                answer.ids.append(token)
                answer.seconds += share
                answer.ttft_s = answer.ttft_s or answer.seconds
            keep = [
                row
                for row, answer in enumerate(active)
                if answer.ids[-1] not in self._stops and len(answer.ids) < answer.budget
            ]
            if not keep:
                return
            if len(keep) < len(active):
                active = [active[row] for row in keep]
                tails.keep(keep)
                rows = rows_of_answers([answer.path for answer in active], tails)
            begun = time.perf_counter()
            rows = next_rows(rows)
            logits = self._forward([answer.ids[-1] for answer in active], rows, list(range(len(active))))

    def _choose(self, answers: Sequence[_GrowingAnswer], logits: Any) -> list[int]:
        import torch

        scores = logits.float()
        if self._processors is not None:
            rows = []
            for answer, row in zip(answers, scores, strict=True):
                seen = np.concatenate([answer.prompt, np.asarray(answer.ids, np.int32)]).astype(np.int64)
                rows.append(self._processors(torch.from_numpy(seen)[None].to(row.device), row[None])[0])
            scores = torch.stack(rows)
        return [int(token) for token in scores.argmax(-1).tolist()]

    def _forward(self, ids: Sequence[int], rows: TokenRows, places: Sequence[int]) -> Any:
        """Logits [places, vocabulary] of these rows."""
        import torch

        device = self._model.device
        found = self._model(
            input_ids=torch.tensor([ids], device=device),
            position_ids=torch.tensor([rows.positions], device=device),
            logits_to_keep=torch.tensor(places, device=device),
            use_cache=False,
            tree_rows=rows,
        )
        return found.logits[0]


def _tokens(chain: TokenChain | None) -> int:
    return len(chain.ids) if chain is not None else 0


def _groups(prompts: Sequence[Ids], budgets: Sequence[int], limits: Limits) -> list[list[int]]:
    """The prompts in the order of their ids, divided so that a group fits the limits by itself."""
    from needlework.models.local.token_tree import common_prefix

    groups: list[list[int]] = []
    tokens = 0
    previous: int | None = None
    for each in ordered(prompts):
        shared = common_prefix(prompts[previous], prompts[each]) if previous is not None else 0
        needed = len(prompts[each]) - shared + budgets[each]
        if previous is None or len(groups[-1]) == limits.rows or tokens + needed > limits.tokens:
            groups.append([])
            tokens, needed = 0, len(prompts[each]) + budgets[each]
        groups[-1].append(each)
        tokens += needed
        previous = each
    return groups


# Rows of one forward pass belong to different prompts. What a row sees is a sequence of pieces of chains that lie where
# they were computed; nothing is copied, repeated or padded. Each piece is attended to without a mask by all rows that
# share it, and the parts are joined by the logarithms of their sums (the way flash attention joins its blocks).
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
    tree_rows: TokenRows | None = None,
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


def _write(rows: TokenRows, layer: int, key: Any, value: Any) -> None:
    for run, (first, last, _) in zip(rows.runs, rows.spans, strict=bool(rows.runs)):
        for tensors, new in ((run.chain.keys, key), (run.chain.values, value)):
            if layer not in tensors:
                shape = (new.shape[0], len(run.chain.ids), new.shape[2])
                tensors[layer] = new.new_empty(shape, device=rows.store or new.device)
            tensors[layer][:, run.begin : run.end] = new[:, first:last]


def _attend_runs(rows: TokenRows, layer: int, query: Any, key: Any, value: Any, scale: float) -> Any:
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


def _attend_answers(rows: TokenRows, layer: int, query: Any, key: Any, value: Any, scale: float) -> Any:
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


def _seen(rows: TokenRows, layer: int) -> list[tuple[Any, Any]]:
    if layer not in rows.seen:
        rows.seen[layer] = [
            (
                piece.chain.keys[layer][None, :, piece.begin : piece.end],
                piece.chain.values[layer][None, :, piece.begin : piece.end],
            )
            for piece in rows.pieces
        ]
    return rows.seen[layer]


def _attend_window(rows: TokenRows, layer: int, query: Any, key: Any, value: Any, scale: float, window: int) -> Any:
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


# Largest difference of logits, as a share of their own spread, that the order of additions explains.
_TOLERANCE = 2e-3
_TOLERANCE_16_BIT = 0.25


def why_not_over_a_tree(
    model: Any,
    vocabulary: int,
    whole: Callable[[Any], Any],
    over_tree: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> str | None:
    """Run two short prompts over a tree and each at once, and compare what the model says, number by number.

    `whole` gives the logits [1, tokens, vocabulary] of ids [1, tokens] without a tree; `over_tree` makes the model
    ready for one. `None`: both are the same.
    """
    import torch

    said: list[tuple[list[int], Any]] = []

    def note(seen: Any, scores: Any) -> Any:
        said.append((seen[0].tolist(), scores[0]))
        return scores

    ids = np.random.default_rng(0).integers(0, vocabulary, 29).astype(np.int32)
    prompts = [ids[:13], np.concatenate([ids[:9], ids[13:]])]
    runner = TreeRunner(model, (), note)
    differences: list[float] = []
    try:
        with over_tree():
            runner.run(prompts, [2, 2], Limits(16, 2, 10**6))
        with torch.inference_mode():
            for written, _ in said[len(prompts) :]:
                plain = whole(torch.tensor([written], device=model.device))[0].float()
                for seen, scores in said:
                    if seen == written[: len(seen)]:
                        difference = (plain[len(seen) - 1] - scores.to(plain.device)).abs().max()
                        differences.append(float(difference / plain.std()))
    except (RuntimeError, ValueError, TypeError, KeyError, IndexError, AttributeError, NotImplementedError) as error:
        why = " ".join(str(error).split())[:100]
        return f"tried out, it failed ({type(error).__name__}: {why})"
    allowed = _TOLERANCE if model.dtype in (torch.float32, torch.float64) else _TOLERANCE_16_BIT
    if all(each <= allowed for each in differences):  # NaN is not
        return None
    return f"tried out, its answers came out differently (by {max(differences):.2g} of their spread)"
