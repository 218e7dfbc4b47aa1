"""Runners of local models: `generate`, and greedy decoding with prefix reuse."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from needlework.models.local.token_tree import Ids, common_prefix, ordered


# For models that cannot be run over a token tree (`tree_runner`).
@dataclass(frozen=True, slots=True)
class Limits:
    """What a runner may use: `chunk` tokens in a forward pass of prefill, `rows` answers written at once, and keys
    and values of `tokens` tokens kept (those of the prompts being worked on are kept whatever it says)."""

    chunk: int
    rows: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Generated:
    """What one prompt gave. `ids` include the stop token, if one came; `cached`: prompt tokens not computed again.

    `ttft_s`, `latency_s`: seconds to the first and the last token. Where prompts are worked on together, each one's
    share of the time: they add up to the time of all.
    """

    ids: tuple[int, ...]
    stopped: bool
    cached: int
    ttft_s: float
    latency_s: float


class GreedyRunner:
    """Runs one model, one prompt at a time, and keeps the keys and values of the last prompt.

    The next prompt pays only for what stands behind the prefix it shares with the last one. Models whose cache cannot
    be cut back (sliding windows that have slid) start afresh each time. `new_cache` makes an empty cache.
    """

    def __init__(
        self,
        model: Any,
        stop_ids: Sequence[int],
        processors: Callable[[Any, Any], Any] | None = None,
        new_cache: Callable[[], Any] | None = None,
    ) -> None:
        import inspect

        self._model = model
        self._stops = frozenset(stop_ids)
        self._processors = processors
        self._new_cache = new_cache or (lambda: _dynamic_cache(model))
        self._cache: Any = None
        self._ids: Ids = np.empty(0, np.int32)
        accepted = inspect.signature(model.forward).parameters
        # Full logits of a long prompt take more memory than everything else together.
        self._options = {"logits_to_keep": 1} if "logits_to_keep" in accepted else {}

    def run(self, prompts: Sequence[Ids], budgets: Sequence[int], limits: Limits) -> list[Generated]:
        """Continue each prompt by at most its budget of tokens, each the likeliest. No prompt may be empty."""
        found = {each: self._run_one(prompts[each], budgets[each], limits.chunk) for each in ordered(prompts)}
        return [found[each] for each in range(len(prompts))]

    def _run_one(self, ids: Ids, budget: int, chunk: int) -> Generated:
        import torch

        begun = time.perf_counter()
        with torch.inference_mode():
            cache, cached = self._reusable(ids)
            self.forget()  # whatever goes wrong from here on leaves no half-filled cache behind
            prompt = torch.from_numpy(ids.astype(np.int64))[None].to(self._model.device)
            for start in range(cached, len(ids), chunk):
                logits = self._step(prompt[:, start : start + chunk], cache)
            answer: list[int] = []
            seen = prompt
            ttft = 0.0
            while True:
                scores = logits[:, -1].float()
                if self._processors is not None:
                    scores = self._processors(seen, scores)
                chosen = scores.argmax(-1, keepdim=True)
                answer.append(int(chosen))
                ttft = ttft or time.perf_counter() - begun
                if answer[-1] in self._stops or len(answer) == budget:
                    break
                if self._processors is not None:
                    seen = torch.cat([seen, chosen], dim=1)
                logits = self._step(chosen, cache)
        self._cache = cache
        self._ids = np.concatenate([ids, np.asarray(answer[:-1], np.int32)])  # the last token was never fed back
        latency = time.perf_counter() - begun
        return Generated(tuple(answer), answer[-1] in self._stops, cached, ttft, latency)

    def forget(self) -> None:
        """Drop the kept cache."""
        self._cache = None
        self._ids = np.empty(0, np.int32)

    def _step(self, ids: Any, cache: Any) -> Any:
        return self._model(input_ids=ids, past_key_values=cache, use_cache=True, **self._options).logits

    def _reusable(self, ids: Ids) -> tuple[Any, int]:
        """A cache and the number of leading `ids` that it holds; the last id is always computed, for its logits."""
        shared = min(common_prefix(self._ids, ids), len(ids) - 1)
        if shared > 0 and getattr(self._cache, "is_croppable", False):
            try:
                # Since transformers 5.23 this takes only the (negative) number of tokens to remove.
                self._cache.crop(shared - len(self._ids))
                return self._cache, shared
            except (RuntimeError, ValueError):
                pass  # a sliding window has dropped what would be needed
        return self._fresh(), 0

    def _fresh(self) -> Any:
        self.forget()  # free the old cache before the new one grows
        return self._new_cache()


def _dynamic_cache(model: Any) -> Any:
    from transformers import DynamicCache

    return DynamicCache(config=model.config)


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
