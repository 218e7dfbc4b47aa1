"""Loads checkpoints: transformers' classes, and the runner that fits."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from needlework.core.errors import InputError
from needlework.models.checkpoints import joint_sha256, read_facts, weight_files
from needlework.models.local import memory
from needlework.models.local.attention import Whole, faster_attention, use_fast_linears
from needlework.models.local.gguf import read_stamp
from needlework.models.local.memory import LocalOptions, rope_parameters, sliding_window, window_of, window_source
from needlework.models.local.model import LocalModel
from needlework.models.local.plain_llama import LoadedCheckpoint, Placement, open_plain, plain_config, stop_ids
from needlework.models.local.runners import GenerateRunner, GreedyRunner, Limits
from needlework.models.local.tree_runner import NAME, TreeRunner, tree_attention, why_not_over_a_tree
from needlework.models.tokenizers.tokenizer import Tokenizer

_LONGEST_CHECKED = 8192  # a window says what is possible, not what is asked: 128k of cache would refuse most machines


def load_folder(
    spec: str,
    folder: Path,
    options: LocalOptions,
    tokenizer: Tokenizer,
    cache_dir: Path,
    *,
    threads: int | None = None,
    longest: int | None = None,
) -> LocalModel:
    """Load a checkpoint. `longest`: tokens of the longest cell to come, for the memory check.

    Anything that keeps it from loading, memory included, raises `InputError`.
    """
    import torch

    if threads is not None:
        torch.set_num_threads(threads)
    placement = place(options)
    check_cache(options, placement)
    plain = plain_config(folder, options, placement)
    config: Any = None if plain is not None else read_config(spec, folder, options)
    facts: dict[str, Any] = plain if plain is not None else config.get_text_config(decoder=True).to_dict()
    window, source = (
        options.window or window_of(facts, options.rope_scaling),
        window_source(facts, options.rope_scaling),
    )
    local = sliding_window(facts)
    limits, room = _plan_memory(spec, folder, options, placement, facts, longest or min(window or 1, _LONGEST_CHECKED))
    opened = open_plain(folder, placement, plain, options.kernels, tokenizer, room) if plain is not None else None
    if opened is None:
        config = config or read_config(spec, folder, options)
        opened = open_by_transformers(spec, folder, options, placement, config, tokenizer, room)
    stamp = read_stamp(folder)
    identity = {
        "spec": spec,
        # A conversion's bytes depend on the version of the writer; its source's do not.
        "weights_sha256": str(stamp["source_sha256"]) if stamp else joint_sha256(weight_files(folder), cache_dir),
        **opened.facts,
        "kernels": opened.kernels,
        "sharing": opened.sharing,
        "window_source": "--model-arg window" if options.window else source,
        **({"sliding_window": local} if local else {}),
        "decoding": "greedy" if opened.penalty == 1.0 else f"greedy, repetition_penalty={opened.penalty:g}",
        **options.answer_changing(),
    }
    return LocalModel(
        opened.runner,
        tokenizer=tokenizer,
        window=window,
        vocabulary=opened.vocabulary,
        limits=limits,
        identity=identity,
        batch_size=1 if opened.sharing.startswith("none") else limits.rows,
        batch_tokens=memory.BATCH_TOKENS if placement.device == "cpu" else limits.tokens,
    )


def place(options: LocalOptions) -> Placement:
    """The device asked for, else the best there is; fp32 on a CPU, the checkpoint's own numbers elsewhere."""
    import torch

    cuda, mps = torch.cuda.is_available(), torch.backends.mps.is_available()
    device = options.device or ("cuda" if cuda else "mps" if mps else "cpu")
    kind = device.partition(":")[0]
    if kind not in ("cpu", "cuda", "mps") or (kind == "cuda" and not cuda) or (kind == "mps" and not mps):
        there = ", ".join(["cpu"] + ["cuda"] * cuda + ["mps"] * mps)
        raise InputError("--model-arg device", device, f"not on this machine; use one of {there}")
    return Placement(device, options.dtype or ("float32" if kind == "cpu" else "auto"))


def check_cache(options: LocalOptions, placement: Placement) -> None:
    """Refuse a kind of cache that this device or installation does not have."""
    import torch

    if options.cache == "offloaded" and not placement.device.startswith("cuda"):
        remedy = f"on {placement.device} keys and values are in main memory anyway; leave it away"
        raise InputError("--model-arg cache", options.cache, remedy)
    if options.cache == "quantized" and not hasattr(torch, "float8_e4m3fn"):
        raise InputError("--model-arg cache", options.cache, "this torch has no 8-bit floats; install a newer one")


def _plan_memory(
    spec: str, folder: Path, options: LocalOptions, placement: Placement, config: dict[str, Any], tokens: int
) -> tuple[Limits, int]:
    """What the runner may use, and the bytes that a second copy of the weights may take."""
    facts = read_facts(weight_files(folder))
    number_bytes = {"float32": 4, "float16": 2, "bfloat16": 2}.get(placement.dtype)
    weights = facts.elements * number_bytes if number_bytes else facts.stored_bytes
    number_bytes = number_bytes or (4 if facts.stored_bytes > 3 * facts.elements else 2)
    if options.quantization is not None:
        weights = 0  # how many bits they come to is the quantizer's secret
    sizes = memory.dimensions(config)
    attention = options.attn_implementation or "sdpa"
    kept = tokens * memory.token_bytes(sizes, 1 if options.cache == "quantized" else number_bytes)
    passing = memory.passing_bytes(sizes, number_bytes, tokens, options.prefill_chunk, attention)
    free, where = memory.available_bytes(placement.device, spread=options.device_map is not None)
    memory.require(spec, weights + passing + (0 if options.cache == "offloaded" else kept), free, where)
    room, kept_on = free - weights - passing, placement.device
    if options.cache == "offloaded":
        (room, _), kept_on = memory.available_bytes("cpu", spread=False), "cpu"
    limits = memory.plan(kept // tokens, tokens, options.prefill_chunk, room, kept_on)
    return limits, max(0, free - weights) // 4


def read_config(spec: str, folder: Path, options: LocalOptions) -> Any:
    """The configuration in a checkpoint's folder; `InputError` where it is none."""
    from transformers import AutoConfig

    try:
        return AutoConfig.from_pretrained(folder, trust_remote_code=options.trust_remote_code, local_files_only=True)
    except (OSError, ValueError, KeyError) as error:
        raise _unloadable(spec, error) from error


def open_by_transformers(
    spec: str,
    folder: Path,
    options: LocalOptions,
    placement: Placement,
    config: Any,
    tokenizer: Tokenizer,
    room: int,
) -> LoadedCheckpoint:
    """Load the weights and choose how they are run. `room`: bytes for a second copy of the weights."""
    text_config: Any = config.get_text_config(decoder=True)
    if options.rope_scaling is not None:
        trained = window_of({"max_position_embeddings": getattr(text_config, "max_position_embeddings", None)})
        own = text_config.rope_parameters or {}
        text_config.rope_parameters = rope_parameters(own, options.rope_scaling, trained)
    model = _load(spec, folder, options, placement, config)
    kernels = use_fast_linears(model, room) if options.kernels == "auto" else "plain"
    generation = model.generation_config
    penalty = options.repetition_penalty or getattr(generation, "repetition_penalty", None) or 1.0
    ends: list[int] = []
    for each in (generation, text_config):
        named = getattr(each, "eos_token_id", None)
        ends.extend(named if isinstance(named, list) else [] if named is None else [named])
    runner, sharing = choose_runner(
        model,
        stop_ids(ends, tokenizer),
        processors(generation, penalty),
        attention=options.attn_implementation,
        cache=options.cache,
        attend_whole=faster_attention() if kernels == "onednn" and _is_float32_here(model, options) else None,
    )
    return LoadedCheckpoint(
        runner,
        sharing,
        kernels,
        vocabulary=int(model.get_input_embeddings().weight.shape[0]),
        penalty=penalty,
        facts=_describe(model, placement.device),
    )


def _load(spec: str, folder: Path, options: LocalOptions, placement: Placement, config: Any) -> Any:
    import torch
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    said: Any = logging
    said.disable_progress_bar()  # a bar for a second's work, in the middle of pytest's output
    given: dict[str, Any] = {
        "config": config,
        "dtype": "auto" if placement.dtype == "auto" else getattr(torch, placement.dtype),
        "trust_remote_code": options.trust_remote_code,
        "local_files_only": True,
        "use_safetensors": True,
        "output_loading_info": True,
        "attn_implementation": options.attn_implementation,
        "device_map": options.device_map,
        "quantization_config": dict(options.quantization) if options.quantization else None,
    }
    given = {name: value for name, value in given.items() if value is not None}
    try:
        loader: Any = AutoModelForCausalLM
        model, info = loader.from_pretrained(folder, **given)
        missing = sorted(info.get("missing_keys", ()))
        if missing:  # transformers would fill them with random numbers
            raise ValueError(f"the checkpoint lacks {len(missing)} weights, such as {missing[0]}")
        if options.device_map is None and options.quantization is None:
            model = model.to(placement.device)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, ImportError, RuntimeError, MemoryError) as error:
        raise _unloadable(spec, error) from error
    return model.eval()


def processors(generation: Any, penalty: float) -> Callable[[Any, Any], Any] | None:
    """What `generate(do_sample=False)` would do to the logits with this checkpoint's settings; usually nothing."""
    import transformers as library

    chain: Any = library.LogitsProcessorList()
    if penalty != 1.0:
        chain.append(library.RepetitionPenaltyLogitsProcessor(penalty))
    if getattr(generation, "no_repeat_ngram_size", None):
        chain.append(library.NoRepeatNGramLogitsProcessor(generation.no_repeat_ngram_size))
    if getattr(generation, "suppress_tokens", None):
        chain.append(library.SuppressTokensLogitsProcessor(generation.suppress_tokens))
    return chain if len(chain) else None


def _is_float32_here(model: Any, options: LocalOptions) -> bool:
    import torch

    return options.device_map is None and model.device.type == "cpu" and model.dtype == torch.float32


def _describe(model: Any, device: str) -> dict[str, str | int | float | None]:
    """The facts of a loaded model that can change its answers."""
    import torch
    import transformers

    return {
        "dtype": str(model.dtype).removeprefix("torch."),
        "device": device.partition(":")[0],
        "attn_implementation": getattr(model.config, "_attn_implementation", None),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
    }


def _unloadable(spec: str, error: Exception) -> InputError:
    why = " ".join(str(error).split())[:300]
    return InputError("--model", spec, f"it cannot be loaded: {type(error).__name__}: {why}")


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
