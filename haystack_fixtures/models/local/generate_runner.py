"""Greedy decoding by transformers' own `generate`, one prompt by itself: for models whose state is not ours to keep."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from needlework.haystack_fixtures.models.local.greedy_runner import Generated, Limits
from needlework.haystack_fixtures.models.local.token_tree import Ids


class GenerateRunner:
    """Shares nothing between prompts. `new_cache` makes the cache for one prompt, where it is not the usual one."""

    def __init__(
        self,
        model: Any,
        stop_ids: Sequence[int],
        processors: Callable[[Any, Any], Any] | None = None,
        new_cache: Callable[[], Any] | None = None,
    ) -> None:
        self._model = model
        self._stops = sorted(stop_ids)
        self._processors = processors
        self._new_cache = new_cache

    def run(self, prompts: Sequence[Ids], budgets: Sequence[int], limits: Limits) -> list[Generated]:  # noqa: ARG002
        """Continue each prompt by at most its budget of tokens, each the likeliest. No prompt may be empty."""
        return [self._run_one(ids, budget) for ids, budget in zip(prompts, budgets, strict=True)]

    def forget(self) -> None:
        """Nothing is kept."""

    def _run_one(self, ids: Ids, budget: int) -> Generated:
        import torch

        begun = time.perf_counter()
        first: list[float] = []

        def note(_ids: Any, _scores: Any, **_more: Any) -> Any:
            first.append(time.perf_counter() - begun)
            return torch.zeros(1, dtype=torch.bool, device=self._model.device)

        _reset_rope(self._model)
        prompt = torch.from_numpy(ids.astype(np.int64))[None].to(self._model.device)
        given: dict[str, Any] = {
            "attention_mask": torch.ones_like(prompt),
            "max_new_tokens": budget,
            "do_sample": False,
            "num_beams": 1,
            "temperature": None,
            "top_p": None,
            "top_k": None,
            "eos_token_id": self._stops or None,
            "pad_token_id": self._stops[0] if self._stops else 0,
            "stopping_criteria": [note],
        }
        if self._processors is not None:  # they stand for the checkpoint's own settings, which are not applied twice
            own = {"repetition_penalty": 1.0, "no_repeat_ngram_size": 0, "suppress_tokens": None}
            given |= {"logits_processor": self._processors, **own}
        if self._new_cache is not None:
            given["past_key_values"] = self._new_cache()
        with torch.inference_mode():
            answer = self._model.generate(prompt, **given)[0, len(ids) :].tolist()
        return Generated(tuple(answer), answer[-1] in self._stops, 0, first[0], time.perf_counter() - begun)


def _reset_rope(model: Any) -> None:
    """Dynamic rope remembers the longest prompt so far; an answer must not depend on what was asked before."""
    for module in model.modules():
        original = getattr(module, "original_inv_freq", None)
        if original is not None and hasattr(module, "max_seq_len_cached"):
            module.max_seq_len_cached = module.original_max_seq_len
            module.inv_freq = original.to(module.inv_freq.device).clone()
