"""Greedy decoding of many prompts over one token tree: each shared token computed once, answers written together."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from needlework.haystack_fixtures.models.local.attention_whole import Whole
from needlework.haystack_fixtures.models.local.greedy_runner import Generated, Limits
from needlework.haystack_fixtures.models.local.token_tree import (
    Chain,
    Ids,
    Path,
    TokenTree,
    length,
    ordered,
    passes,
    trunk_first,
)
from needlework.haystack_fixtures.models.local.tree_rows import (
    Rows,
    Tails,
    next_rows,
    rows_of_answers,
    rows_of_runs,
)


@dataclass(slots=True)
class _Answer:
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
        added: dict[int, tuple[Path, Chain | None]] = {}
        for each in trunk_first(prompts):
            added[each] = self._tree.add(prompts[each])
        answers = [
            _Answer(prompt, budget, added[each][0], _tokens(added[each][1]), [])
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

    def _prefill(self, owners: dict[Chain, _Answer], chunk: int) -> None:
        for runs in passes(list(owners), chunk):
            begun = time.perf_counter()
            ids = np.concatenate([run.chain.ids[run.begin : run.end] for run in runs])
            wanted: list[tuple[Chain, int]] = []
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

    def _decode(self, answers: Sequence[_Answer]) -> None:
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

    def _choose(self, answers: Sequence[_Answer], logits: Any) -> list[int]:
        import torch

        scores = logits.float()
        if self._processors is not None:
            rows = []
            for answer, row in zip(answers, scores, strict=True):
                seen = np.concatenate([answer.prompt, np.asarray(answer.ids, np.int32)]).astype(np.int64)
                rows.append(self._processors(torch.from_numpy(seen)[None].to(row.device), row[None])[0])
            scores = torch.stack(rows)
        return [int(token) for token in scores.argmax(-1).tolist()]

    def _forward(self, ids: Sequence[int], rows: Rows, places: Sequence[int]) -> Any:
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


def _tokens(chain: Chain | None) -> int:
    return len(chain.ids) if chain is not None else 0


def _groups(prompts: Sequence[Ids], budgets: Sequence[int], limits: Limits) -> list[list[int]]:
    """The prompts in the order of their ids, divided so that a group fits the limits by itself."""
    from needlework.haystack_fixtures.models.local.token_tree import common_prefix

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
