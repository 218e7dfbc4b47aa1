"""Will it fit? Memory that a local model needs, against what is there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.models.local.greedy_runner import Limits

# More answers written together gain little on a CPU, where 16 rows keep the arithmetic units busy.
MOST_ROWS = 16
MOST_ROWS_GPU = 64
# What a CPU computes in about a minute: nobody should wait longer for a sign, or lose more to a kill.
BATCH_TOKENS = 16_384
_SHARE_OF_RAM = 0.5  # other programs run here as well
_SHARE_OF_GPU = 0.85


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
    """What a runner may keep in `room` bytes of a device, when prompt and answer have up to `longest` tokens.

    `token`: bytes of one token's keys and values. As many answers together as fit with their prompts, sharing not
    counted on: the run's longest cells may share nothing. At least one, whose memory `require` has checked.
    """
    most, share = (MOST_ROWS_GPU, _SHARE_OF_GPU) if device.startswith("cuda") else (MOST_ROWS, _SHARE_OF_RAM)
    rows = max(1, min(most, int(room * share) // (token * longest)))
    return Limits(chunk, rows, rows * longest)


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
    return f"{size / 2**30:.2f} GiB"


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
