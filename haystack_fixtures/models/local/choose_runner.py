"""Which runner a model gets: whether it can be run over a token tree is tried out on it, never guessed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.models.local.generate_runner import GenerateRunner
from needlework.haystack_fixtures.models.local.greedy_runner import GreedyRunner, Limits
from needlework.haystack_fixtures.models.local.tree_attention import NAME
from needlework.haystack_fixtures.models.local.tree_runner import TreeRunner

Processors = Callable[[Any, Any], Any]
# Largest difference of logits, as a share of their own spread, that the order of additions explains.
_TOLERANCE = 2e-3
_TOLERANCE_16_BIT = 0.25
# These turn positions by an angle that depends on the whole prompt's length: a shorter prompt's keys are other keys.
_ROPE_BY_LENGTH = ("dynamic", "longrope")


def choose_runner(
    model: Any,
    stop_ids: Sequence[int],
    processors: Processors | None,
    *,
    attention: str | None = None,
    cache: str = "plain",
) -> tuple[TreeRunner | GreedyRunner | GenerateRunner, str]:
    """The best runner for a model, and how it shares work between prompts.

    `batched`: equal beginnings computed once, answers written together; `prefix: WHY`: one at a time, what the last
    prompt began with is not computed again; `none: WHY`. `attention`: what the user asked for by name. `cache`:
    `plain`, `offloaded` or `quantized`. A cache that the model cannot have raises `InputError`.
    """
    if cache == "quantized":
        new_cache(model, cache)
        make = partial(new_cache, model, cache)
        return GenerateRunner(model, stop_ids, processors, make), "none: the cache is quantized"
    alone = _why_alone(model)
    if alone is not None:
        return GenerateRunner(model, stop_ids, processors), f"none: {alone}"
    why_not = f"attn_implementation={attention} was asked for" if attention is not None else _why_no_tree(model)
    if why_not is None:
        model.set_attn_implementation(NAME)
        return TreeRunner(model, stop_ids, processors, "cpu" if cache == "offloaded" else None), "batched"
    return GreedyRunner(model, stop_ids, processors, partial(new_cache, model, cache)), f"prefix: {why_not}"


def new_cache(model: Any, kind: str) -> Any:
    """An empty cache of transformers' for one prompt."""
    from transformers import DynamicCache, QuantizedCache

    if kind != "quantized":
        return DynamicCache(config=model.config, offloading=kind == "offloaded")
    try:
        return QuantizedCache("fp8", model.config)
    except ValueError as error:
        why = " ".join(str(error).split())[:160]
        raise InputError("--model-arg cache", kind, f"not for this model ({why}); leave it away") from None


def _why_alone(model: Any) -> str | None:
    """Why what was computed for one prompt cannot serve another one."""
    if model.config.is_encoder_decoder:
        return "an encoder-decoder model"
    if "past_key_values" not in inspect.signature(model.forward).parameters:
        return "it keeps a state of another kind than keys and values"
    kinds = {type(layer).__name__ for layer in new_cache(model, "plain").layers}
    if not kinds <= {"DynamicLayer", "DynamicSlidingWindowLayer"}:
        return f"its cache has layers of another kind ({', '.join(sorted(kinds))})"
    parameters = getattr(model.config.get_text_config(decoder=True), "rope_parameters", None) or {}
    for each in (parameters, *parameters.values()):
        kind = each.get("rope_type") if isinstance(each, dict) else None
        if kind in _ROPE_BY_LENGTH:
            return f"rope type {kind} depends on the prompt's length"
    return None


def _why_no_tree(model: Any) -> str | None:
    if "chunked_attention" in (getattr(model.config.get_text_config(decoder=True), "layer_types", None) or ()):
        return "chunked attention"
    settable = getattr(model, "_can_set_attn_implementation", None)  # transformers asks itself the same way
    if settable is None or not settable():
        return "its code does not take another attention"
    return _try_out(model)


def _try_out(model: Any) -> str | None:
    """Run two short prompts both ways and compare what the model says, number by number."""
    import torch

    said: list[tuple[list[int], Any]] = []

    def note(seen: Any, scores: Any) -> Any:
        said.append((seen[0].tolist(), scores[0]))
        return scores

    random = np.random.default_rng(0)
    ids = random.integers(0, int(model.get_input_embeddings().weight.shape[0]), 29).astype(np.int32)
    prompts = [ids[:13], np.concatenate([ids[:9], ids[13:]])]
    runner = TreeRunner(model, (), note)
    differences: list[float] = []
    try:
        with _attention(model, NAME):
            runner.run(prompts, [2, 2], Limits(16, 2, 10**6))
        with torch.inference_mode():
            for whole, _ in said[len(prompts) :]:
                plain = model(input_ids=torch.tensor([whole], device=model.device), use_cache=False).logits[0].float()
                for seen, scores in said:
                    if seen == whole[: len(seen)]:
                        difference = (plain[len(seen) - 1] - scores.to(plain.device)).abs().max()
                        differences.append(float(difference / plain.std()))
    except (RuntimeError, ValueError, TypeError, KeyError, IndexError, AttributeError, NotImplementedError) as error:
        why = " ".join(str(error).split())[:100]
        return f"tried out, it failed ({type(error).__name__}: {why})"
    allowed = _TOLERANCE if model.dtype in (torch.float32, torch.float64) else _TOLERANCE_16_BIT
    worst = max(differences)
    if all(each <= allowed for each in differences):  # NaN is not
        return None
    return f"tried out, its answers came out differently (by {worst:.2g} of their spread)"


def attention_of(model: Any) -> Any:
    """The name of the attention that transformers chose for a model."""
    return getattr(model.config, "_attn_implementation", None)


@contextmanager
def _attention(model: Any, name: str) -> Iterator[None]:
    usual = attention_of(model)
    try:
        model.set_attn_implementation(name)
        yield
    finally:
        model.set_attn_implementation(usual)
