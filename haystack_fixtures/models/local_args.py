"""`--model-arg` of models that run on this machine, and what they mean for its configuration."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from haystack_fixtures.models.args import bool_arg, check_known, choice_arg, float_arg, int_arg, json_arg

DTYPES = ("auto", "float32", "float16", "bfloat16")
DEFAULT_CHUNK = 1024
KNOWN = (
    "attn_implementation",
    "device",
    "device_map",
    "dtype",
    "prefill_chunk",
    "quantization",
    "repetition_penalty",
    "revision",
    "rope_scaling",
    "trust_remote_code",
    "window",
)


@dataclass(frozen=True, slots=True)
class LocalOptions:
    """How a local model is loaded and run.

    `quantization` is a transformers quantization config and `rope_scaling` changes the rope parameters of the
    checkpoint, both as JSON objects. `window` overrides what the configuration says. `repetition_penalty` overrides
    the checkpoint's own, which greedy decoding would apply.
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

    def answer_changing(self) -> dict[str, str]:
        """The options that belong to the model's identity, beside those that it reports itself."""
        found: dict[str, str] = {}
        if self.revision:
            found["revision"] = self.revision
        if self.rope_scaling:
            found["rope_scaling"] = json.dumps(self.rope_scaling, sort_keys=True)
        if self.quantization:
            found["quantization"] = json.dumps(self.quantization, sort_keys=True)
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
        rope_scaling=json_arg(args, "rope_scaling"),
        quantization=json_arg(args, "quantization"),
        prefill_chunk=int_arg(args, "prefill_chunk", 1) or DEFAULT_CHUNK,
        window=int_arg(args, "window", 1),
        repetition_penalty=float_arg(args, "repetition_penalty", 0.01),
    )


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
    stated = config.get("max_position_embeddings") or config.get("n_positions")
    trained = int(stated) if isinstance(stated, int) and stated > 0 else None
    scaling = config.get("rope_parameters") or config.get("rope_scaling") or {}
    if given is not None:
        return _scaled(given, trained, trained)
    return _scaled(scaling, trained, None) if isinstance(scaling, Mapping) else trained


def _scaled(scaling: Mapping[str, Any], trained: int | None, start: int | None) -> int | None:
    original = scaling.get("original_max_position_embeddings") or start
    factor = scaling.get("factor")
    if not isinstance(original, int) or not isinstance(factor, int | float):
        return trained
    return max(trained or 0, int(original * factor))
