"""Which runner a model gets: whether it can be run over a token tree is tried out on it, never guessed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.models.local.attention_whole import Whole
from needlework.haystack_fixtures.models.local.generate_runner import GenerateRunner
from needlework.haystack_fixtures.models.local.greedy_runner import GreedyRunner
from needlework.haystack_fixtures.models.local.tree_attention import NAME, tree_attention
from needlework.haystack_fixtures.models.local.tree_runner import TreeRunner
from needlework.haystack_fixtures.models.local.try_tree import why_not_over_a_tree

Processors = Callable[[Any, Any], Any]
# These turn positions by an angle that depends on the whole prompt's length: a shorter prompt's keys are other keys.
_ROPE_BY_LENGTH = ("dynamic", "longrope")


def choose_runner(
    model: Any,
    stop_ids: Sequence[int],
    processors: Processors | None,
    *,
    attention: str | None = None,
    cache: str = "plain",
    attend_whole: Whole | None = None,
) -> tuple[TreeRunner | GreedyRunner | GenerateRunner, str]:
    """The best runner for a model, and how it shares work between prompts.

    `batched`: equal beginnings computed once, answers written together; `prefix: WHY`: one at a time, what the last
    prompt began with is not computed again; `none: WHY`. `attention`: what the user asked for by name. `cache`:
    `plain`, `offloaded` or `quantized`. A cache that the model cannot have raises `InputError`. `attend_whole`: faster
    attention for a model in float32 on a CPU.
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
        store = "cpu" if cache == "offloaded" else None
        return TreeRunner(model, stop_ids, processors, store, attend_whole), "batched"
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

    def whole(ids: Any) -> Any:
        return model(input_ids=ids, use_cache=False).logits

    vocabulary = int(model.get_input_embeddings().weight.shape[0])
    return why_not_over_a_tree(model, vocabulary, whole, lambda: _attention(model))


def attention_of(model: Any) -> Any:
    """The name of the attention that transformers chose for a model."""
    return getattr(model.config, "_attn_implementation", None)


@contextmanager
def _attention(model: Any) -> Iterator[None]:
    """The tree's attention in place of the model's own, for as long as this lasts."""
    from transformers import AttentionInterface

    registry: Any = AttentionInterface
    registry.register(NAME, tree_attention)
    usual = attention_of(model)
    try:
        model.set_attn_implementation(NAME)
        yield
    finally:
        model.set_attn_implementation(usual)
