"""A forward pass of Llama, Mistral and Qwen checkpoints."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from needlework.models.checkpoints import weight_files
from needlework.models.local.attention import faster_attention, use_fast_linears
from needlework.models.local.memory import LocalOptions
from needlework.models.local.model import Runner
from needlework.models.local.token_tree import TokenRows
from needlework.models.local.tree_runner import NAME, TreeRunner, tree_attention, why_not_over_a_tree
from needlework.models.tokenizers.tokenizer import Tokenizer

# transformers takes twice as long to import as torch. A checkpoint of this shape needs nothing of it: a dozen lines a
# layer, with query, key and value as one matrix product, and gate and up as one. What is not exactly of this shape
# (other kinds of rope, windows, quantized weights, names of tensors that are not known) is left to transformers.
#
# The arithmetic is that of transformers' `modeling_llama`, `modeling_qwen2` and `modeling_qwen3` (5.23).
ARCHITECTURES = ("LlamaForCausalLM", "MistralForCausalLM", "Qwen2ForCausalLM", "Qwen3ForCausalLM")
_BLOCK = 256  # rows that go through a layer together: what they need stays in the cache, and memory is used again


@dataclass(frozen=True, slots=True)
class LlamaShape:
    """What a configuration says about a model of this kind. `norm_eps` is added to mean squares; `tied`: the words'
    vectors are also what answers are compared with."""

    layers: int
    heads: int
    kv_heads: int
    head_size: int
    norm_eps: float
    rope_theta: float
    tied: bool


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer. `qkv` [(heads + 2 kv heads) x head size, hidden], `gate_up` [2 x inner size, hidden]: `nn.Linear`."""

    layer_idx: int
    attention_norm: Any
    qkv: Any
    query_norm: Any | None
    key_norm: Any | None
    out: Any
    mlp_norm: Any
    gate_up: Any
    down: Any


@dataclass(frozen=True, slots=True)
class Said:
    """What a forward pass gave: `logits` [1, places, vocabulary]."""

    logits: Any


def shape_of(config: Mapping[str, Any]) -> LlamaShape | None:
    """The shape that a `config.json` describes; `None` where it is not exactly this kind of model."""
    rope = config.get("rope_parameters") or config.get("rope_scaling") or {}
    theta = rope.get("rope_theta", config.get("rope_theta"))
    needed = ("num_hidden_layers", "num_attention_heads", "hidden_size", "rms_norm_eps", "max_position_embeddings")
    windowed = config.get("sliding_window") is not None and config.get("use_sliding_window") is not False
    layer_types = config.get("layer_types") or ()
    if (
        config.get("architectures") not in [[name] for name in ARCHITECTURES]
        or not all(isinstance(config.get(name), int | float) for name in needed)
        or not isinstance(theta, int | float)
        or rope.get("rope_type", rope.get("type", "default")) != "default"
        or config.get("hidden_act") != "silu"
        or windowed
        or any(kind != "full_attention" for kind in layer_types)
        or "quantization_config" in config
    ):
        return None
    heads = int(config["num_attention_heads"])
    return LlamaShape(
        layers=int(config["num_hidden_layers"]),
        heads=heads,
        kv_heads=int(config.get("num_key_value_heads") or heads),
        head_size=int(config.get("head_dim") or config["hidden_size"] // heads),
        norm_eps=float(config["rms_norm_eps"]),
        rope_theta=float(theta),
        tied=config.get("tie_word_embeddings") is True,
    )


class PlainLlama:
    """A model of this shape on a CPU, called by `TreeRunner` as it calls transformers' models."""

    def __init__(self, shape: LlamaShape, embedding: Any, layers: Sequence[Layer], norm: Any, head: Any) -> None:
        self.shape = shape
        self._embedding = embedding
        self._layers = tuple(layers)
        self._norm = norm
        self._head = head
        self.device = embedding.device
        self.dtype = embedding.dtype
        self.vocabulary = int(embedding.shape[0])

    def beginning(self, layers: int) -> PlainLlama:
        """The same model with its first layers alone."""
        return PlainLlama(self.shape, self._embedding, self._layers[:layers], self._norm, self._head)

    def modules(self) -> Iterator[Any]:
        """The linear layers, the vocabulary's last."""
        for layer in self._layers:
            yield from (layer.qkv, layer.out, layer.gate_up, layer.down)
        yield self._head

    def __call__(
        self,
        *,
        input_ids: Any,
        position_ids: Any,
        logits_to_keep: Any,
        tree_rows: TokenRows | None = None,
        **_more: Any,
    ) -> Said:
        """Logits of the rows `logits_to_keep` [places]; `input_ids`, `position_ids`: [1, rows].

        Without `tree_rows` each row sees those before it. What else transformers' models are told (`use_cache`) changes
        nothing: keys and values are kept by `tree_rows` alone.
        """
        import torch

        hidden: Any = torch.nn.functional.embedding(input_ids[0], self._embedding)
        turns = [turn.split(_BLOCK) for turn in self._turns(position_ids[0])]
        heads = hidden.new_empty(len(hidden), self.shape.heads + 2 * self.shape.kv_heads, self.shape.head_size)
        for layer in self._layers:
            for block, *turn, into in zip(hidden.split(_BLOCK), *turns, heads.split(_BLOCK), strict=True):
                self._ask(layer, self._normed(block, layer.attention_norm), turn, into)
            seen = self._attend(layer, heads.transpose(0, 1), tree_rows)
            if layer is self._layers[-1]:  # no other row is looked at any more
                hidden, seen = hidden[logits_to_keep], seen[logits_to_keep]
            for block, found in zip(hidden.split(_BLOCK), seen.split(_BLOCK), strict=True):
                block += layer.out(found)
                gate, up = layer.gate_up(self._normed(block, layer.mlp_norm)).chunk(2, -1)
                block += layer.down(torch.nn.functional.silu(gate).mul_(up))
        return Said(self._head(self._normed(hidden, self._norm))[None])

    def _ask(self, layer: Layer, given: Any, turn: Sequence[Any], into: Any) -> None:
        """Queries, keys and values of some rows [rows, heads + 2 kv heads, head size]."""
        import torch

        shape, turned = self.shape, -self.shape.kv_heads
        heads = layer.qkv(given).view(into.shape)
        into[:, turned:] = heads[:, turned:]
        heads = heads[:, :turned]
        if layer.query_norm is not None:
            query, key = heads[:, : shape.heads], heads[:, shape.heads :]
            heads = torch.cat([self._normed(query, layer.query_norm), self._normed(key, layer.key_norm)], 1)
        cosines, sines = turn
        (first, second), (left, right) = heads.chunk(2, -1), into[:, :turned].chunk(2, -1)
        torch.mul(first, cosines, out=left).sub_(second * sines)
        torch.mul(second, cosines, out=right).add_(first * sines)

    def _attend(self, layer: Layer, heads: Any, rows: TokenRows | None) -> Any:
        """What the rows see [rows, heads x head size]; `heads` [heads + 2 kv heads, rows, head size]."""
        import torch

        shape = self.shape
        query, key, value = heads[None].split([shape.heads, shape.kv_heads, shape.kv_heads], 1)
        if rows is None:
            attention = torch.nn.functional.scaled_dot_product_attention
            seen = attention(query, key, value, is_causal=True, enable_gqa=True).transpose(1, 2)
        else:
            seen, _ = tree_attention(layer, query, key, value, None, tree_rows=rows)
        return seen[0].flatten(1)

    def _normed(self, given: Any, weight: Any) -> Any:
        """Root mean square normalisation, in 32 bits as transformers does it."""
        exact = given.float()
        exact = exact * (exact.pow(2).mean(-1, keepdim=True) + self.shape.norm_eps).rsqrt()
        return weight * exact.to(given.dtype)

    def _turns(self, positions: Any) -> tuple[Any, Any]:
        """Cosines and sines [rows, 1, head size / 2] of rotary position embeddings."""
        import torch

        size = self.shape.head_size
        steps = 1.0 / (self.shape.rope_theta ** (torch.arange(0, size, 2, dtype=torch.float) / size))
        angles = positions[:, None, None].float() * steps
        return angles.cos().to(self.dtype), angles.sin().to(self.dtype)


def read_model(files: Sequence[Path], shape: LlamaShape, dtype: Any) -> PlainLlama | None:
    """Read the weights; `None` where the files' tensors are not exactly those that this shape has."""
    import torch
    from safetensors import safe_open

    found: dict[str, Any] = {}
    for path in files:
        with safe_open(path, framework="pt") as stream:
            found.update((name, stream.get_tensor(name)) for name in stream.keys())  # noqa: SIM118

    def joined(*names: str) -> Any:
        """One `nn.Linear` of several that read the same input."""
        weights = [found.pop(f"{name}.weight") for name in names]
        biases = [found.pop(f"{name}.bias") for name in names if f"{name}.bias" in found]
        linear = torch.nn.Linear(1, 1, bias=False, device="meta")
        linear.weight = _frozen(torch.cat(weights).to(dtype))
        if biases:
            linear.bias = _frozen(torch.cat(biases).to(dtype))
        linear.out_features, linear.in_features = linear.weight.shape
        if biases and linear.bias.shape != linear.weight.shape[:1]:
            raise KeyError(names[0])  # a bias on some of them alone
        return linear

    def vector(name: str) -> Any:
        return found.pop(name).to(dtype)

    try:
        layers = []
        for each in range(shape.layers):
            own = f"model.layers.{each}"
            attention, mlp = f"{own}.self_attn", f"{own}.mlp"
            normed = f"{attention}.q_norm.weight" in found
            layers.append(
                Layer(
                    layer_idx=each,
                    attention_norm=vector(f"{own}.input_layernorm.weight"),
                    qkv=joined(f"{attention}.q_proj", f"{attention}.k_proj", f"{attention}.v_proj"),
                    query_norm=vector(f"{attention}.q_norm.weight") if normed else None,
                    key_norm=vector(f"{attention}.k_norm.weight") if normed else None,
                    out=joined(f"{attention}.o_proj"),
                    mlp_norm=vector(f"{own}.post_attention_layernorm.weight"),
                    gate_up=joined(f"{mlp}.gate_proj", f"{mlp}.up_proj"),
                    down=joined(f"{mlp}.down_proj"),
                )
            )
        norm = vector("model.norm.weight")
        embedding = found["model.embed_tokens.weight"]
        head = joined("model.embed_tokens" if shape.tied else "lm_head")
        embedding = head.weight if shape.tied else found.pop("model.embed_tokens.weight").to(dtype)
    except KeyError:
        return None
    return None if found else PlainLlama(shape, embedding, layers, norm, head)


def _frozen(tensor: Any) -> Any:
    import torch

    return torch.nn.Parameter(tensor, requires_grad=False)


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
) -> LoadedCheckpoint | None:
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
    return LoadedCheckpoint(
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


# Chat models end their turn with one of these; some checkpoints name only the end of the text.
_TURN_ENDS = ("<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<end_of_turn>", "<|end|>", "<|endoftext|>", "</s>")


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a model goes and in which numbers; `dtype` is a torch dtype name or `auto`."""

    device: str
    dtype: str


@dataclass(frozen=True, slots=True)
class LoadedCheckpoint:
    """A checkpoint that is ready to run.

    `sharing`: how work is shared between prompts; `kernels`: of its linear layers; `vocabulary`: tokens that it knows;
    `penalty`: of repetitions, 1 for none; `facts`: what can change its answers, by name.
    """

    runner: Runner
    sharing: str
    kernels: str
    vocabulary: int
    penalty: float
    facts: Mapping[str, str | int | float | None]


def stop_ids(ends: Sequence[int], tokenizer: Tokenizer) -> list[int]:
    """Ids that end an answer: those that the checkpoint names, and the ends of a turn that its tokenizer knows."""
    found = set(ends)
    for text in _TURN_ENDS:
        ids = tokenizer.encode(text).ids
        if len(ids) == 1:  # a token of its own, not spelt out
            found.add(int(ids[0]))
    return sorted(found)
