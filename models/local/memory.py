"""Local models before they are loaded: their arguments, their memory, their window."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta

from needlework.core.errors import InputError
from needlework.core.options import positive
from needlework.models.checkpoints import json_table
from needlework.models.model import json_object, read_args
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
    """A decoder's limits."""

    chunk: int  # prompt tokens in a forward pass
    rows: int  # answers written at once
    tokens: int  # of each with its prompt (more only where a prompt needs it)


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
    """Read a (text) configuration; sizes that it leaves out have their usual values."""
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
    """The limits of a decoder in `room` bytes, when prompt and answer have up to `longest` tokens.

    `token`: bytes of one token's keys and values. As many answers together as fit beside those before them, whose
    prompts stay in memory. At least one, whose memory `require` has checked.
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
        shortage = f"it needs about {gib(needed)} and {where} has {gib(available)} free"
        remedy = "use shorter lengths, a smaller dtype or another device (--model-arg)"
        raise InputError("--model", spec, f"{shortage}; {remedy}")


def gib(size: int) -> str:
    """Bytes in GiB, as people write them."""
    return f"{size / 2**30:,.2f} GiB"


def available_bytes(device: str, spread: bool) -> tuple[int, str]:
    """Free memory of a device and its name; with `spread` (a device map), of all cards together.

    Layers are spread evenly, so the card with the least free memory counts for all; main memory does not: a model that
    runs partly from there is hundreds of times slower.
    """
    import psutil
    import torch

    if spread and (cards := [torch.cuda.mem_get_info(card)[0] for card in range(torch.cuda.device_count())]):
        name = f"{len(cards)} cards, the fullest with {gib(min(cards))}," if len(cards) > 1 else "the card"
        return len(cards) * min(cards), name
    if device.startswith("cuda"):
        return int(torch.cuda.mem_get_info(device)[0]), device
    return int(psutil.virtual_memory().available), "this machine"


# What transformers scales by; a checkpoint's own code may know more.
ROPE_TYPES = ("default", "linear", "dynamic", "yarn", "longrope", "llama3", "proportional", "axial")
# What configurations call the length. LLaMA's long variants of 2023 have the scaled one in `max_sequence_length`.
_LENGTHS = ("max_position_embeddings", "n_positions", "max_sequence_length", "max_seq_len", "seq_length", "n_ctx")


@dataclass(frozen=True, slots=True)
class LocalOptions:
    """The `--model-arg`s of local models."""

    device: str | None = None
    dtype: Literal["auto", "float32", "float16", "bfloat16"] | None = None
    attn_implementation: str | None = None
    device_map: str | None = None
    trust_remote_code: bool = False
    revision: str | None = None
    rope_scaling: Annotated[Mapping[str, Any] | None, json_object] = None  # changes of the checkpoint's rope parameters
    quantization: Annotated[Mapping[str, Any] | None, json_object] = None  # a transformers quantization config
    prefill_chunk: Annotated[int, Meta(ge=1)] = 2048
    window: Annotated[int, Meta(ge=1)] | None = None  # in place of the configuration's
    repetition_penalty: Annotated[float | None, positive] = None  # in place of the checkpoint's own
    cache: Literal["plain", "offloaded"] = "plain"  # keys and values where the model is, or `offloaded` to main memory
    kernels: Literal["auto", "plain"] = "auto"  # `plain` leaves float32 layers as torch has them

    def answer_changing(self) -> dict[str, str]:
        """The options that belong to the model's identity, beside those that it reports itself."""
        objects = {"rope_scaling": self.rope_scaling, "quantization": self.quantization}
        facts = {name: json.dumps(value, sort_keys=True) for name, value in objects.items() if value}
        return facts | ({"revision": self.revision} if self.revision else {})


def local_options(args: Mapping[str, str]) -> LocalOptions:
    """Read the arguments; an unknown name or a value of the wrong type raises `InputError`."""
    options = read_args(LocalOptions, args)
    scaling = options.rope_scaling or {}
    kind = scaling.get("rope_type", scaling.get("type"))
    if kind is not None and kind not in ROPE_TYPES and not options.trust_remote_code:
        raise InputError("--model-arg rope_scaling rope_type", kind, f"is unknown: use one of {', '.join(ROPE_TYPES)}")
    return options


def rope_parameters(own_rope: Mapping[str, Any], scaling: Mapping[str, Any], trained: int | None) -> dict[str, Any]:
    """The checkpoint's rope parameters with those of `--model-arg rope_scaling` put over them.

    `type` may be written for `rope_type`, as older configurations do. `trained`: the window before scaling, in tokens.
    """
    changes = {("rope_type" if name == "type" else name): value for name, value in scaling.items()}
    starts = changes.get("rope_type") in ("yarn", "llama3") and "original_max_position_embeddings" not in own_rope
    if trained and starts:
        changes.setdefault("original_max_position_embeddings", trained)
    if own_rope and all(isinstance(value, Mapping) for value in own_rope.values()):  # a set for each kind of layer
        return {kind: {**value, **changes} for kind, value in own_rope.items()}
    return {**own_rope, **changes}


def window_of(config: Mapping[str, Any], scaling: Mapping[str, Any] | None = None) -> tuple[int | None, str]:
    """The window by a (text) configuration and the `scaling` asked for, and its source.

    Scaling that is part of a checkpoint counts only where it names the length it starts from: others (Gemma 3) have
    their scaled length in `max_position_embeddings` already.
    """
    stated = {name: tokens for name in _LENGTHS if (tokens := _tokens(config.get(name)))}
    if not stated:
        return None, "the configuration does not tell"
    name, trained = next(iter(stated)), max(stated.values())
    of_checkpoint = config.get("rope_parameters") or config.get("rope_scaling")
    start = trained if scaling is not None else None
    rope = scaling if scaling is not None else of_checkpoint if isinstance(of_checkpoint, Mapping) else {}
    original, factor = rope.get("original_max_position_embeddings") or start, rope.get("factor")
    kind = rope.get("rope_type") or rope.get("type")
    if not isinstance(factor, int | float):
        return trained, f"config: {name}"
    if not isinstance(original, int):
        return trained, f"config: {name}; its {kind} scaling by {factor:g} names no start and is taken as part of it"
    if int(original * factor) <= trained:
        return trained, f"config: {name}"
    return int(original * factor), f"config: {name} {trained}, {kind} scaling by {factor:g}"


def sliding_window(config: Mapping[str, Any]) -> int | None:
    """The span of layers with local attention, in tokens; `None` if every layer sees the whole text."""
    size = _tokens(config.get("sliding_window"))
    used = config.get("use_sliding_window") is not False
    layers = config.get("layer_types")
    local = any("sliding" in str(layer) for layer in layers) if isinstance(layers, list) else True
    window, _source = window_of(config)
    return size if size and used and local and (window is None or size < window) else None


def _tokens(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


_BF16 = 2


@dataclass(frozen=True, slots=True)
class Described:
    """Known facts of a model that is not loaded; `None` for unknown ones."""

    window: int | None = None  # tokens
    token_bytes: int | None = None  # keys and values of one token, in 16 bit
    weights_bytes: int | None = None  # of the files, as stored


def describe(spec: str, model_args: Mapping[str, str], tokenizer: str | None, cache_dir: Path) -> Described:
    """The facts in the configuration of a local model, or beside a served model's tokenizer.

    No weights are read, and no server is asked. Raises `InputError` as loading the tokenizer does.
    """
    local = runs_here(spec)
    text = model_args.get("window", "")
    window = int(text) if text.isdecimal() else None
    source = parse_spec(spec) if local else _spec_of(tokenizer)
    if source is None or source.kind not in ("smollm2", "hf", "gguf"):  # a plug-in's model has no known folder
        return Described(window)
    folder = checkpoint(source, model_args, cache_dir, weights=False)
    config = json_table(folder / "config.json")
    config = config.get("text_config", config)  # of the part that reads text
    if not isinstance(config, dict) or not dimensions(config).hidden:
        return Described(window)
    if window is None and local:  # a server may have been given less
        window, _source = window_of(config, local_options(model_args).rope_scaling)
    weights = sum(file.stat().st_size for file in folder.glob("*.safetensors"))
    return Described(window, token_bytes(dimensions(config), _BF16), weights or None)


def _spec_of(tokenizer: str | None) -> ModelSpec | None:
    kind, _, name = (tokenizer or "").partition(":")
    if tokenizer and not name and Path(tokenizer).expanduser().is_dir():
        return ModelSpec("hf", tokenizer)
    return ModelSpec(kind, name) if tokenizer == "smollm2" or (kind == "hf" and name) else None
