"""`--model-arg` of models that run on this machine, and what they mean for its configuration."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from needlework.haystack_fixtures.errors import InputError, nearest
from needlework.haystack_fixtures.models.args import bool_arg, check_known, choice_arg, float_arg, int_arg, json_arg

DTYPES = ("auto", "float32", "float16", "bfloat16")
CACHES = ("plain", "offloaded", "quantized")
KERNELS = ("auto", "plain")
DEFAULT_CHUNK = 2048
# What transformers scales by; a checkpoint's own code may know more.
ROPE_TYPES = ("default", "linear", "dynamic", "yarn", "longrope", "llama3", "proportional", "axial")
KNOWN = (
    "attn_implementation",
    "cache",
    "device",
    "device_map",
    "dtype",
    "kernels",
    "prefill_chunk",
    "quantization",
    "repetition_penalty",
    "revision",
    "rope_scaling",
    "trust_remote_code",
    "window",
)
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
    check_known(args, KNOWN)
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
