"""Open a checkpoint of Llama's shape without transformers, where nothing was asked for that only transformers does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from needlework.haystack_fixtures.models.local.args import LocalOptions
from needlework.haystack_fixtures.models.local.attention_whole import faster_attention
from needlework.haystack_fixtures.models.local.kernels import use_fast_linears
from needlework.haystack_fixtures.models.local.opened import Opened, Placement, stop_ids
from needlework.haystack_fixtures.models.local.plain_llama import PlainLlama, read_model, shape_of
from needlework.haystack_fixtures.models.local.tree_attention import NAME
from needlework.haystack_fixtures.models.local.tree_runner import TreeRunner
from needlework.haystack_fixtures.models.local.try_tree import why_not_over_a_tree
from needlework.haystack_fixtures.models.local.weights import weight_files
from needlework.haystack_fixtures.tokenizers.tokenizer import Tokenizer

# Settings of `generation_config.json` that change what greedy decoding writes. transformers knows how.
_CHANGES_ANSWERS = (
    "repetition_penalty", "no_repeat_ngram_size", "suppress_tokens", "begin_suppress_tokens", "bad_words_ids",
    "forced_bos_token_id", "forced_eos_token_id", "encoder_repetition_penalty", "sequence_bias", "min_length",
    "min_new_tokens",
)  # fmt: skip
_TRIED_LAYERS = 2  # whether this torch's attention can be put together from parts shows in the first ones
_NEUTRAL: tuple[object, ...] = (None, 0, 1, [])


def plain_config(folder: Path, options: LocalOptions, placement: Placement) -> dict[str, Any] | None:
    """The configuration of a checkpoint that can be opened this way, its ends of text with those of generation.

    On a CPU alone: elsewhere weights take longer to load than transformers does, and its kernels are what users have.
    """
    asked = (options.attn_implementation, options.device_map, options.quantization, options.rope_scaling)
    if (
        placement.device != "cpu"
        or placement.dtype == "auto"
        or any(asked)
        or options.cache != "plain"
        or (options.repetition_penalty or 1.0) != 1.0
    ):
        return None
    config = _read(folder / "config.json")
    generation = _read(folder / "generation_config.json")
    if any(generation.get(name) not in _NEUTRAL for name in _CHANGES_ANSWERS) or shape_of(config) is None:
        return None
    ends = [each for named in (generation, config) for each in _ids(named.get("eos_token_id"))]
    return {**config, "eos_token_id": ends}


def open_plain(
    folder: Path, placement: Placement, config: Mapping[str, Any], kernels: str, tokenizer: Tokenizer, room: int
) -> Opened | None:
    """Read the weights and try the token tree on them; `None` where this model is not as its configuration says.

    `kernels`: `auto` or `plain`; `room`: bytes for a second copy of the weights.
    """
    import torch

    shape = shape_of(config)
    assert shape is not None
    model = read_model(weight_files(folder), shape, getattr(torch, placement.dtype))
    if model is None:
        return None
    tried = model.beginning(_TRIED_LAYERS)
    if why_not_over_a_tree(tried, model.vocabulary, partial(_logits, tried)) is not None:
        return None
    used = use_fast_linears(model, room) if kernels == "auto" else "plain"
    return Opened(
        TreeRunner(
            model,
            stop_ids(config["eos_token_id"], tokenizer),
            attend_whole=faster_attention() if used == "onednn" else None,
        ),
        "batched",
        used,
        vocabulary=model.vocabulary,
        penalty=1.0,
        facts={
            "dtype": placement.dtype,
            "device": "cpu",
            "attn_implementation": NAME,
            "torch": torch.__version__,
            "code": "needlework",
        },
    )


def _logits(model: PlainLlama, ids: Any) -> Any:
    import torch

    rows = torch.arange(ids.shape[1])
    return model(input_ids=ids, position_ids=rows[None], logits_to_keep=rows).logits


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _ids(named: Any) -> list[int]:
    return [each for each in (named if isinstance(named, list) else [named]) if isinstance(each, int)]
