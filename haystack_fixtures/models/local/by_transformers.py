"""Open a checkpoint through transformers: any architecture that it knows, its own arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.models.local.args import LocalOptions, rope_parameters, window_of
from needlework.haystack_fixtures.models.local.attention_whole import faster_attention
from needlework.haystack_fixtures.models.local.choose_runner import choose_runner
from needlework.haystack_fixtures.models.local.kernels import use_fast_linears
from needlework.haystack_fixtures.models.local.opened import Opened, Placement, stop_ids
from needlework.haystack_fixtures.tokenizers.tokenizer import Tokenizer


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
) -> Opened:
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
    return Opened(
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
