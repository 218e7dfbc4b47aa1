"""Loads checkpoints by transformers' classes, and makes their float32 layers faster on a CPU."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from needlework.core.errors import InputError
from needlework.models.checkpoints import STAMP, count_weights, joint_sha256, json_table, weight_files
from needlework.models.local import memory
from needlework.models.local.decoder import Processors, decoder_for
from needlework.models.local.memory import Limits, LocalOptions, rope_parameters, sliding_window, window_of
from needlework.models.local.model import LocalModel
from needlework.models.tokenizers.tokenizer import Tokenizer

_LONGEST_CHECKED = 8192  # a window says what is possible, not what is asked: 128k of cache would refuse most machines
# Chat models end their turn with one of these; some checkpoints name only the end of the text.
_TURN_ENDS = ("<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<end_of_turn>", "<|end|>", "<|endoftext|>", "</s>")


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
    import transformers

    if threads is not None:
        torch.set_num_threads(threads)
    options, device = choose_device(options)
    config = _read_config(spec, folder, options)
    text_config = config.get_text_config(decoder=True)
    sizes = text_config.to_dict()
    window, window_source = window_of(sizes, options.rope_scaling)
    if options.window:
        window, window_source = options.window, "--model-arg window"
    limits, room = _plan_memory(spec, folder, options, device, sizes, longest or min(window or 1, _LONGEST_CHECKED))
    if options.rope_scaling is not None:
        trained, _ = window_of({"max_position_embeddings": getattr(text_config, "max_position_embeddings", None)})
        text_config.rope_parameters = rope_parameters(text_config.rope_parameters or {}, options.rope_scaling, trained)
    model = _load(spec, folder, options, config)
    kernels = use_fast_linears(model, room) if options.kernels == "auto" else "plain"
    penalty = options.repetition_penalty or getattr(model.generation_config, "repetition_penalty", None) or 1.0
    stops = stop_ids((model.generation_config, text_config), tokenizer)
    store = "cpu" if options.cache == "offloaded" else None
    decoder = decoder_for(model, stops, processors(model.generation_config, penalty), store)
    stamp = json_table(folder / STAMP)
    local = sliding_window(sizes)
    identity = {
        "spec": spec,
        # A conversion's bytes depend on the version of the writer; its source's do not.
        "weights_sha256": str(stamp["source_sha256"]) if stamp else joint_sha256(weight_files(folder), cache_dir),
        "dtype": str(model.dtype).removeprefix("torch."),
        "device": device.partition(":")[0],
        "attn_implementation": getattr(model.config, "_attn_implementation", None),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "kernels": kernels,
        "sharing": decoder.sharing,
        "window_source": window_source,
        **({"sliding_window": local} if local else {}),
        "decoding": "greedy" if penalty == 1.0 else f"greedy, repetition_penalty={penalty:g}",
        **options.answer_changing(),
    }
    return LocalModel(
        decoder=decoder,
        tokenizer=tokenizer,
        window=window,
        vocabulary=int(model.get_input_embeddings().weight.shape[0]),
        limits=limits,
        identity=identity,
        batch_size=1 if decoder.sharing.startswith("none") else limits.rows,
        batch_tokens=memory.BATCH_TOKENS if device == "cpu" else limits.rows * limits.tokens,
    )


def choose_device(options: LocalOptions) -> tuple[LocalOptions, str]:
    """Options with the device asked for, else the best one; fp32 on a CPU, the checkpoint's numbers elsewhere."""
    import torch

    available = ["cpu"] + ["mps"] * torch.backends.mps.is_available() + ["cuda"] * torch.cuda.is_available()
    device = options.device or available[-1]
    kind = device.partition(":")[0]
    if kind not in available:
        raise InputError("--model-arg device", device, f"not on this machine; use one of {', '.join(available)}")
    if options.cache == "offloaded" and kind != "cuda":
        remedy = f"on {device} keys and values are in main memory anyway; leave it away"
        raise InputError("--model-arg cache", options.cache, remedy)
    return replace(options, device=device, dtype=options.dtype or ("float32" if kind == "cpu" else "auto")), device


def processors(generation: Any, penalty: float) -> Processors | None:
    """The logits processors of `generate(do_sample=False)` for this checkpoint; usually none."""
    import transformers

    chain: Any = transformers.LogitsProcessorList()
    if penalty != 1.0:
        chain.append(transformers.RepetitionPenaltyLogitsProcessor(penalty))
    if getattr(generation, "no_repeat_ngram_size", None):
        chain.append(transformers.NoRepeatNGramLogitsProcessor(generation.no_repeat_ngram_size))
    if getattr(generation, "suppress_tokens", None):
        chain.append(transformers.SuppressTokensLogitsProcessor(generation.suppress_tokens))
    return chain if len(chain) else None


def stop_ids(configs: Sequence[Any], tokenizer: Tokenizer) -> list[int]:
    """Ids that end an answer: those of a checkpoint's configurations, and ends of a turn."""
    ids: set[int] = set()
    for config in configs:
        ends = getattr(config, "eos_token_id", None)
        ids.update(ends if isinstance(ends, list) else [] if ends is None else [ends])
    for text in _TURN_ENDS:
        encoded = tokenizer.encode(text).ids
        if len(encoded) == 1:  # a token of its own, not spelt out
            ids.add(int(encoded[0]))
    return sorted(ids)


def _plan_memory(
    spec: str, folder: Path, options: LocalOptions, device: str, config: dict[str, Any], tokens: int
) -> tuple[Limits, int]:
    """The decoder's limits, and the bytes that a second copy of the weights may take."""
    numbers, stored_bytes = count_weights(weight_files(folder))
    number_bytes = {"float32": 4, "float16": 2, "bfloat16": 2}.get(options.dtype or "")
    weights = numbers * number_bytes if number_bytes else stored_bytes
    number_bytes = number_bytes or (4 if stored_bytes > 3 * numbers else 2)
    if options.quantization is not None:
        weights = 0  # the quantizer does not tell how many bits it takes
    sizes = memory.dimensions(config)
    attention = options.attn_implementation or "sdpa"
    cache = tokens * memory.token_bytes(sizes, number_bytes)
    passing = memory.passing_bytes(sizes, number_bytes, tokens, options.prefill_chunk, attention)
    free, where = memory.available_bytes(device, spread=options.device_map is not None)
    offloaded = options.cache == "offloaded"
    memory.require(spec, weights + passing + (0 if offloaded else cache), free, where)
    room = memory.available_bytes("cpu", spread=False)[0] if offloaded else free - weights - passing
    cache_device = "cpu" if offloaded else device
    limits = memory.plan(cache // tokens, tokens, options.prefill_chunk, room, cache_device)
    return limits, max(0, free - weights) // 4


def _read_config(spec: str, folder: Path, options: LocalOptions) -> Any:
    from transformers import AutoConfig

    loader: Any = AutoConfig
    try:
        return loader.from_pretrained(folder, trust_remote_code=options.trust_remote_code, local_files_only=True)
    except (OSError, ValueError, KeyError) as error:
        raise _unloadable(spec, error) from error


def _load(spec: str, folder: Path, options: LocalOptions, config: Any) -> Any:
    import torch
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    messages: Any = logging
    messages.disable_progress_bar()  # a bar for a second's work, in the middle of pytest's output
    arguments: dict[str, Any] = {
        "config": config,
        "dtype": "auto" if options.dtype == "auto" else getattr(torch, str(options.dtype)),
        "trust_remote_code": options.trust_remote_code,
        "local_files_only": True,
        "use_safetensors": True,
        "output_loading_info": True,
        "attn_implementation": options.attn_implementation,
        "device_map": options.device_map,
        "quantization_config": dict(options.quantization) if options.quantization else None,
    }
    arguments = {name: value for name, value in arguments.items() if value is not None}
    loader: Any = AutoModelForCausalLM
    try:
        model, info = loader.from_pretrained(folder, **arguments)
        missing = sorted(info.get("missing_keys", ()))
        if missing:  # transformers would fill them with random numbers
            raise ValueError(f"the checkpoint lacks {len(missing)} weights, such as {missing[0]}")
        if options.device_map is None and options.quantization is None:
            model = model.to(options.device)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, ImportError, RuntimeError, MemoryError) as error:
        raise _unloadable(spec, error) from error
    return model.eval()


def _unloadable(spec: str, error: Exception) -> InputError:
    why = " ".join(str(error).split())[:300]
    return InputError("--model", spec, f"it cannot be loaded: {type(error).__name__}: {why}")


# torch multiplies float32 matrices with MKL, which on AMD processors takes a path half as fast as the machine; and it
# arranges the weights anew in every call, which costs most for a few rows (answers written together). oneDNN does
# neither. With AVX-512 prompts are read 1.8 times as fast.
#
# This rests on two operators that are private to torch (`torch.ops.mkldnn._linear_pointwise` and
# `_reorder_linear_weight`, as of torch 2.13), and on a layer's `forward` that is replaced on the instance. Where either
# operator is missing, takes other arguments, fails, gives other numbers than torch's own product or is not faster, the
# layers stay as they are: the answers are the same, later. `--model-arg kernels=plain` leaves them so from the start.

# Rows of a layer's input, from the first up to the next: one answer, answers written together, prompts.
_FIRST_ROWS = (1, 3, 96)
_TRIED_ROWS = (1, 16, 512)
_TRIED_LAYERS = 8  # one after the other, as in the model: what is tried twice in a row comes from the cache
_TRIES = 5
_TOLERANCE = 1e-5  # of the largest number; the order of additions differs
_GAIN = 1.25  # below this it is not worth a second copy of the weights, and chance could decide
Product = Callable[[Any, Any, Any], Any]  # rows, weights, bias
Pack = Callable[[Any, int], Any]  # weights, rows they are meant for


def use_fast_linears(model: Any, room: int) -> str:
    """Make a model's linear layers faster if possible; returns the name of their kernels.

    `room`: bytes that may be used for weights in oneDNN's order, beside the usual ones.
    """
    import torch

    linears: list[Any] = [module for module in model.modules() if type(module) is torch.nn.Linear]
    layers = [each for each in linears if each.weight.dtype == torch.float32 and each.weight.device.type == "cpu"]
    kernels = operators()
    if not layers or kernels is None:
        return "plain"
    fast, pack = kernels
    if sum(layer.weight.numel() * 4 for layer in layers) > room:
        pack = lambda weight, _rows: weight  # noqa: E731
    with torch.inference_mode():
        # The last layer is the vocabulary's.
        largest = max(layers[:-1] or layers, key=lambda layer: int(layer.weight.numel()))
        tried = [layer for layer in layers if layer.weight.shape == largest.weight.shape][:_TRIED_LAYERS]
        weights = [pack(layer.weight, max(_TRIED_ROWS)) for layer in tried]
        gains = [_is_faster(tried, weights, rows, fast) for rows in _TRIED_ROWS]
    if not any(gains):
        return "plain"
    for layer in layers:
        layer.forward = _forward(layer, gains, fast, pack)
    return "onednn"


def operators() -> tuple[Product, Pack] | None:
    """oneDNN's product, and its reordering of weights for some number of rows; `None` if missing."""
    import torch

    backend: Any = torch.backends.mkldnn
    linear = getattr(torch.ops.mkldnn, "_linear_pointwise", None)
    pack = getattr(torch.ops.mkldnn, "_reorder_linear_weight", None)
    if not backend.is_available() or linear is None or pack is None:
        return None
    return lambda rows, weight, bias: linear(rows, weight, bias, "none", [], ""), pack


def _is_faster(layers: Sequence[Any], weights: Sequence[Any], rows: int, fast: Product) -> bool:
    """Whether `fast` gives these layers' numbers in less time: the best of alternating tries."""
    import torch

    inputs = torch.randn(rows, layers[0].weight.shape[1], generator=torch.Generator().manual_seed(0))
    usual = torch.nn.functional.linear
    layer = layers[0]
    try:
        expected, computed = usual(inputs, layer.weight, layer.bias), fast(inputs, weights[0], layer.bias)
    except (RuntimeError, TypeError):
        return False
    if float((expected - computed).abs().max()) > _TOLERANCE * float(expected.abs().max()):
        return False
    count = 1 if rows > _FIRST_ROWS[2] else len(layers)  # many rows take long enough for one layer to tell

    def seconds(product: Product, layer_weights: Sequence[Any]) -> float:
        begun = time.perf_counter()
        for layer, weight in zip(layers[:count], layer_weights, strict=False):
            product(inputs, weight, layer.bias)
        return time.perf_counter() - begun

    times = [(seconds(usual, [layer.weight for layer in layers]), seconds(fast, weights)) for _ in range(_TRIES)]
    return min(slow for slow, _ in times) > _GAIN * min(quick for _, quick in times)


def _forward(layer: Any, gains: list[bool], fast: Product, pack: Pack) -> Callable[[Any], Any]:
    import torch

    usual = torch.nn.functional.linear
    few, many = _FIRST_ROWS[1:]
    packed: list[Any] = []  # on first use, so that loading a model stays quick

    def forward(inputs: Any) -> Any:
        rows = inputs.numel() // inputs.shape[-1]
        if not rows or not gains[(rows >= few) + (rows >= many)]:
            return usual(inputs, layer.weight, layer.bias)
        if not packed:
            packed.append(pack(layer.weight, max(_TRIED_ROWS)))
        return fast(inputs, packed[0], layer.bias)

    return forward
