"""What can be known of a model before it is loaded: its window, and what its text costs in memory."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.models.local.args import local_options, window_of
from needlework.haystack_fixtures.models.local.memory import dimensions, token_bytes
from needlework.haystack_fixtures.models.model_named import ModelSpec, checkpoint, parse_spec, runs_here

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
    given = _tokens(model_args.get("window"))
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


def _tokens(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() else None
