"""Load a folder with a checkpoint as a `LocalModel`: device, dtype, memory check, window, and which way it is run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.models.checksums import joint_sha256
from needlework.haystack_fixtures.models.local import memory
from needlework.haystack_fixtures.models.local.args import LocalOptions, sliding_window, window_of, window_source
from needlework.haystack_fixtures.models.local.by_transformers import open_by_transformers, read_config
from needlework.haystack_fixtures.models.local.gguf.cache import read_stamp
from needlework.haystack_fixtures.models.local.greedy_runner import Limits
from needlework.haystack_fixtures.models.local.model import LocalModel
from needlework.haystack_fixtures.models.local.open_plain import open_plain, plain_config
from needlework.haystack_fixtures.models.local.opened import Placement
from needlework.haystack_fixtures.models.local.weights import read_facts, weight_files
from needlework.haystack_fixtures.tokenizers.tokenizer import Tokenizer

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
