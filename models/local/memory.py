"""Arguments of local models, whether one fits into memory, what is known before it is loaded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from needlework.core.errors import InputError, nearest
from needlework.models.model import bool_arg, check_known, choice_arg, float_arg, int_arg, json_arg
from needlework.models.specs import ModelSpec, checkpoint, parse_spec, runs_here

# More answers written together gain little on a CPU, where 16 rows keep the arithmetic units busy.
MOST_ROWS = 16
MOST_ROWS_GPU = 64
# What a CPU computes in about a minute: nobody should wait longer for a sign, or lose more to a kill.
BATCH_TOKENS = 16_384
_SHARE_OF_RAM = 0.5  # other programs run here as well
_SHARE_OF_GPU = 0.85


@dataclass(frozen=True, slots=True)
class Limits:
    """What a decoder may use: `chunk` prompt tokens in a forward pass, `rows` answers written at once, each of up to
    `tokens` tokens with its prompt (more only where a prompt needs it)."""

    chunk: int
    rows: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Dimensions:
    """The sizes of a decoder that memory depends on."""

    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    hidden: int
    intermediate: int


def dimensions(config: Mapping[str, Any]) -> Dimensions:
    """Read a (text) configuration; what it leaves out is taken from what usually stands there."""
    hidden = int(config.get("hidden_size") or config.get("n_embd") or 0)
    heads = int(config.get("num_attention_heads") or config.get("n_head") or 1)
    return Dimensions(
        layers=int(config.get("num_hidden_layers") or config.get("n_layer") or 1),
        heads=heads,
        kv_heads=int(config.get("num_key_value_heads") or heads),
        head_dim=int(config.get("head_dim") or hidden // heads),
        hidden=hidden,
        intermediate=int(config.get("intermediate_size") or 4 * hidden),
    )


def token_bytes(sizes: Dimensions, number_bytes: int) -> int:
    """Keys and values of one token in all layers."""
    return 2 * sizes.layers * sizes.kv_heads * sizes.head_dim * number_bytes


def plan(token: int, longest: int, chunk: int, room: int, device: str) -> Limits:
    """What a decoder may keep in `room` bytes of a device, when prompt and answer have up to `longest` tokens.

    `token`: bytes of one token's keys and values. As many answers together as fit beside those before them, whose
    prompts are kept. At least one, whose memory `require` has checked.
    """
    most, share = (MOST_ROWS_GPU, _SHARE_OF_GPU) if device.startswith("cuda") else (MOST_ROWS, _SHARE_OF_RAM)
    return Limits(chunk, max(1, min(most, int(room * share) // (2 * token * longest))), longest)


def passing_bytes(sizes: Dimensions, number_bytes: int, tokens: int, chunk: int, attention: str) -> int:
    """Memory that one prefill chunk needs while it is computed, keys and values left out."""
    chunk = min(chunk, tokens)
    # One layer's keys and values are copied whenever the cache grows, repeated for each group of heads.
    growing = 2 * sizes.heads * sizes.head_dim * tokens * number_bytes
    activations = chunk * (10 * sizes.hidden + 3 * sizes.intermediate) * number_bytes
    mask = chunk * tokens * number_bytes
    scores = 2 * sizes.heads * mask if attention == "eager" else 0
    return growing + activations + mask + scores


def require(spec: str, needed: int, available: int, where: str) -> None:
    """Refuse a model that does not fit, before it is loaded."""
    if needed > available:
        raise InputError(
            "--model",
            spec,
            f"it needs about {gib(needed)} and {where} has {gib(available)} free; "
            "use shorter lengths, a smaller dtype or another device (--model-arg)",
        )


def gib(size: int) -> str:
    """Bytes in GiB, as people write them."""
    return f"{size / 2**30:,.2f} GiB"


def available_bytes(device: str, spread: bool) -> tuple[int, str]:
    """Free memory of a device and its name; with `spread` (a device map), of all cards together.

    Layers are spread evenly, so the card with the least free memory counts for each; main memory does not: a model that
    runs partly from there is hundreds of times slower, and no one would know why.
    """
    import psutil
    import torch

    free_ram = int(psutil.virtual_memory().available)
    if spread and (cards := [torch.cuda.mem_get_info(each)[0] for each in range(torch.cuda.device_count())]):
        told = f"{len(cards)} cards, the fullest with {gib(min(cards))}," if len(cards) > 1 else "the card"
        return len(cards) * min(cards), told
    if device.startswith("cuda"):
        return int(torch.cuda.mem_get_info(device)[0]), device
    return free_ram, "this machine"


DTYPES = ("auto", "float32", "float16", "bfloat16")
CACHES = ("plain", "offloaded", "quantized")
KERNELS = ("auto", "plain")
DEFAULT_CHUNK = 2048
# What transformers scales by; a checkpoint's own code may know more.
ROPE_TYPES = ("default", "linear", "dynamic", "yarn", "longrope", "llama3", "proportional", "axial")
# What configurations call the length. LLaMA's long variants of 2023 have the scaled one in `max_sequence_length`.
_LENGTHS = ("max_position_embeddings", "n_positions", "max_sequence_length", "max_seq_len", "seq_length", "n_ctx")


@dataclass(frozen=True, slots=True)
class LocalOptions:
    """How a local model is loaded and run.

    `quantization` is a transformers quantization config and `rope_scaling` changes the rope parameters of the
    checkpoint, both as JSON objects. `window` overrides what the configuration says. `repetition_penalty` overrides
    the checkpoint's own, which greedy decoding would apply. `cache`: keys and values `plain`, `offloaded` to main
    memory, or `quantized` to 8 bits, which changes answers. `kernels`: `plain` leaves float32 layers as torch has them.
    """

    device: str | None = None
    dtype: str | None = None
    attn_implementation: str | None = None
    device_map: str | None = None
    trust_remote_code: bool = False
    revision: str | None = None
    rope_scaling: Mapping[str, Any] | None = None
    quantization: Mapping[str, Any] | None = None
    prefill_chunk: int = DEFAULT_CHUNK
    window: int | None = None
    repetition_penalty: float | None = None
    cache: str = "plain"
    kernels: str = "auto"

    def answer_changing(self) -> dict[str, str]:
        """The options that belong to the model's identity, beside those that it reports itself."""
        found: dict[str, str] = {}
        if self.revision:
            found["revision"] = self.revision
        if self.rope_scaling:
            found["rope_scaling"] = json.dumps(self.rope_scaling, sort_keys=True)
        if self.quantization:
            found["quantization"] = json.dumps(self.quantization, sort_keys=True)
        if self.cache == "quantized":
            found["cache"] = "quantized to float8_e4m3fn"
        return found


def local_options(args: Mapping[str, str]) -> LocalOptions:
    """Read the arguments; an unknown name or a value of the wrong type raises `InputError`."""
    check_known(args, [field.name for field in fields(LocalOptions)])
    return LocalOptions(
        device=args.get("device"),
        dtype=choice_arg(args, "dtype", DTYPES),
        attn_implementation=args.get("attn_implementation"),
        device_map=args.get("device_map"),
        trust_remote_code=bool_arg(args, "trust_remote_code", False),
        revision=args.get("revision"),
        rope_scaling=_rope_scaling(args),
        quantization=json_arg(args, "quantization"),
        prefill_chunk=int_arg(args, "prefill_chunk", 1) or DEFAULT_CHUNK,
        window=int_arg(args, "window", 1),
        repetition_penalty=float_arg(args, "repetition_penalty", 0.01),
        cache=choice_arg(args, "cache", CACHES) or "plain",
        kernels=choice_arg(args, "kernels", KERNELS) or "auto",
    )


def _rope_scaling(args: Mapping[str, str]) -> Mapping[str, Any] | None:
    """What rope parameters to change. Raises `InputError` for a kind that nothing knows, before anything is loaded."""
    given = json_arg(args, "rope_scaling")
    kind = None if given is None else given.get("rope_type", given.get("type"))
    if kind is not None and kind not in ROPE_TYPES and not bool_arg(args, "trust_remote_code", False):
        near = nearest(str(kind), ROPE_TYPES)
        remedy = f"did you mean {near}? Known: " if near else "use "
        raise InputError("--model-arg rope_scaling rope_type", kind, f"is unknown: {remedy}{', '.join(ROPE_TYPES)}")
    return given


def rope_parameters(own: Mapping[str, Any], given: Mapping[str, Any], trained: int | None) -> dict[str, Any]:
    """The checkpoint's rope parameters with those of `--model-arg rope_scaling` put over them.

    `type` may be written for `rope_type`, as older configurations do. `trained` is the window before scaling.
    """
    changes = {("rope_type" if name == "type" else name): value for name, value in given.items()}
    if trained and "original_max_position_embeddings" not in own and changes.get("rope_type") in ("yarn", "llama3"):
        changes.setdefault("original_max_position_embeddings", trained)
    if own and all(isinstance(value, Mapping) for value in own.values()):  # one set for each kind of layer
        return {kind: {**value, **changes} for kind, value in own.items()}
    return {**own, **changes}


def window_of(config: Mapping[str, Any], given: Mapping[str, Any] | None = None) -> int | None:
    """Tokens that fit, by a (text) configuration and the rope scaling asked for.

    Scaling that is part of a checkpoint counts only where it names the length it starts from: others (Gemma 3) have
    their scaled length in `max_position_embeddings` already.
    """
    trained = _trained(config)
    if given is not None:
        return _scaled(given, trained, trained)
    return _scaled(_scaling(config), trained, None)


def window_source(config: Mapping[str, Any], given: Mapping[str, Any] | None = None) -> str:
    """Where `window_of` has its number from, in words for the manifest."""
    name = next((name for name in _LENGTHS if _tokens(config.get(name))), None)
    if name is None:
        return "the configuration does not tell"
    window, trained = window_of(config, given), _trained(config)
    scaling = given if given is not None else _scaling(config)
    kind, factor = scaling.get("rope_type") or scaling.get("type"), scaling.get("factor")
    if window != trained:
        return f"config: {name} {trained}, {kind} scaling by {factor:g}"
    if isinstance(factor, int | float) and "original_max_position_embeddings" not in scaling:
        return f"config: {name}; its {kind} scaling by {factor:g} names no start and is taken as part of it"
    return f"config: {name}"


def sliding_window(config: Mapping[str, Any]) -> int | None:
    """How far back the layers with local attention see, in tokens; `None` where every layer sees the whole text."""
    size = _tokens(config.get("sliding_window"))
    used = config.get("use_sliding_window") is not False
    layers = config.get("layer_types")
    local = any("sliding" in str(layer) for layer in layers) if isinstance(layers, list) else True
    window = window_of(config)
    return size if size and used and local and (window is None or size < window) else None


def _trained(config: Mapping[str, Any]) -> int | None:
    stated = [tokens for name in _LENGTHS if (tokens := _tokens(config.get(name)))]
    return max(stated) if stated else None


def _scaling(config: Mapping[str, Any]) -> Mapping[str, Any]:
    scaling = config.get("rope_parameters") or config.get("rope_scaling")
    return scaling if isinstance(scaling, Mapping) else {}


def _tokens(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _scaled(scaling: Mapping[str, Any], trained: int | None, start: int | None) -> int | None:
    original = scaling.get("original_max_position_embeddings") or start
    factor = scaling.get("factor")
    if not isinstance(original, int) or not isinstance(factor, int | float):
        return trained
    return max(trained or 0, int(original * factor))


_BF16 = 2


@dataclass(frozen=True, slots=True)
class Described:
    """Of a model that is not loaded. What is not known is `None`.

    `window`: tokens. `token_bytes`: keys and values of one token, in 16 bit. `weights_bytes`: of the files, as stored.
    """

    window: int | None = None
    token_bytes: int | None = None
    weights_bytes: int | None = None


def described(spec: str, model_args: Mapping[str, str], tokenizer: str | None, cache_dir: Path) -> Described:
    """What the configuration beside a local model says, or the one beside the tokenizer that counts for a served one.

    No weights are read, and no server is asked. Raises `InputError` as loading the tokenizer does.
    """
    local = runs_here(spec)
    folder = _folder(parse_spec(spec) if local else _spec_of(tokenizer), model_args, cache_dir)
    config = _text_config(folder)
    text = model_args.get("window", "")
    given = int(text) if text.isdecimal() else None
    if config is None:
        return Described(window=given)
    scaling = local_options(model_args).rope_scaling if local else None
    weights = sum(file.stat().st_size for file in folder.glob("*.safetensors")) if folder else 0
    return Described(
        window=given or (window_of(config, scaling) if local else None),  # a server may have been given less
        token_bytes=token_bytes(dimensions(config), _BF16),
        weights_bytes=weights or None,
    )


def _spec_of(tokenizer: str | None) -> ModelSpec | None:
    kind, _, name = (tokenizer or "").partition(":")
    if tokenizer and not name and Path(tokenizer).expanduser().is_dir():
        return ModelSpec("hf", tokenizer)
    return ModelSpec(kind, name) if tokenizer == "smollm2" or (kind == "hf" and name) else None


def _folder(spec: ModelSpec | None, model_args: Mapping[str, str], cache_dir: Path) -> Path | None:
    # A plug-in's model that runs here has no folder that we know of.
    known = spec is not None and spec.kind in ("smollm2", "hf", "gguf")
    return checkpoint(spec, model_args, cache_dir, weights=False) if spec is not None and known else None


def _text_config(folder: Path | None) -> dict[str, Any] | None:
    """The configuration of the part that reads text."""
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8")) if folder else None
    except (OSError, ValueError, InputError):
        return None
    text = config.get("text_config", config) if isinstance(config, dict) else None
    return text if isinstance(text, dict) and dimensions(text).hidden else None
