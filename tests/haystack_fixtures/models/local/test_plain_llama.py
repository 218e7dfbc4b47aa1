"""Models of Llama's shape, computed without transformers: the same numbers as with it, or left to it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from needlework.models.checkpoints import weight_files
from needlework.models.local.memory import local_options
from needlework.models.local.plain_llama import Placement, plain_config, read_model, shape_of
from needlework.models.local.tree_runner import TreeRunner
from tests.haystack_fixtures.models.local.test_tree_equals_generate import answers_of, by_library, grid, tiny

CPU = Placement("cpu", "float32")
PLAIN = {
    "grouped heads": lambda: tiny("Llama"),
    "a head for each": lambda: tiny("Llama", num_key_value_heads=4),
    "head size of its own": lambda: tiny("Llama", head_dim=16),
    "tied words": lambda: tiny("Llama", tie_word_embeddings=True),
    "biases everywhere": lambda: tiny("Llama", attention_bias=True, mlp_bias=True),
    "another base of rope": lambda: tiny("Llama", rope_parameters={"rope_type": "default", "rope_theta": 77.0}),
    "without a window": lambda: tiny("Mistral", sliding_window=None),
    "biases of queries": lambda: tiny("Qwen2"),
    "normed queries": lambda: tiny("Qwen3", head_dim=16),
}
LEFT = {
    "another rope": lambda: tiny("Llama", rope_parameters={"rope_type": "linear", "factor": 2.0, "rope_theta": 100.0}),
    "a window": lambda: tiny("Mistral", sliding_window=6),
    "another activation": lambda: tiny("Llama", hidden_act="gelu"),
    "another architecture": lambda: tiny("Mixtral", num_local_experts=4, num_experts_per_tok=2),
}


def saved(model: Any, folder: Path) -> Path:
    for parameter in model.parameters():  # norms and biases start as ones and zeros, which would hide a mix-up
        parameter.data += 0.1 * parameter.data.new_tensor(np.random.default_rng(0).normal(size=parameter.shape))
    model.save_pretrained(folder)
    return folder


def changed(folder: Path, name: str, **values: Any) -> Path:
    path = folder / name
    found = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**found, **values}), encoding="utf-8")
    return folder


@pytest.mark.parametrize("kind", PLAIN)
def test_logits_and_answers_are_those_of_transformers(kind: str, tmp_path: Path) -> None:
    import torch

    library = PLAIN[kind]()
    config = plain_config(saved(library, tmp_path), local_options({}), CPU)
    assert config is not None
    shape = shape_of(config)
    assert shape is not None
    model = read_model(weight_files(tmp_path), shape, torch.float32)
    assert model is not None
    ids, rows = torch.arange(3, 60)[None], torch.arange(57)
    with torch.inference_mode():
        ours = model(input_ids=ids, position_ids=rows[None], logits_to_keep=rows).logits
        torch.testing.assert_close(ours, library(input_ids=ids).logits)
    prompts = grid()
    assert answers_of(TreeRunner(model, ()), prompts) == by_library(library, prompts)


@pytest.mark.parametrize("kind", LEFT)
def test_what_is_not_of_this_shape_is_left_to_transformers(kind: str, tmp_path: Path) -> None:
    assert plain_config(saved(LEFT[kind](), tmp_path), local_options({}), CPU) is None


@pytest.mark.parametrize(
    "asked",
    [
        {"attn_implementation": "eager"},
        {"rope_scaling": '{"rope_type": "linear", "factor": 2.0}'},
        {"repetition_penalty": "1.2"},
        {"cache": "quantized"},
        {"quantization": '{"load_in_8bit": true}'},
    ],
    ids=lambda asked: next(iter(asked)),
)
def test_what_only_transformers_does_is_left_to_it(asked: dict[str, str], tmp_path: Path) -> None:
    folder = saved(tiny("Llama"), tmp_path)
    assert plain_config(folder, local_options({}), CPU) is not None
    assert plain_config(folder, local_options(asked), CPU) is None
    assert plain_config(folder, local_options({}), Placement("cuda", "float32")) is None
    assert plain_config(changed(folder, "generation_config.json", suppress_tokens=[5]), local_options({}), CPU) is None


def test_tensors_that_the_configuration_does_not_tell_of(tmp_path: Path) -> None:
    import torch
    from safetensors.torch import load_file, save_file

    folder = saved(tiny("Llama"), tmp_path)
    config = plain_config(folder, local_options({}), CPU)
    assert config is not None
    shape = shape_of(config)
    assert shape is not None
    path = folder / "model.safetensors"
    whole = load_file(path)
    for other in (
        {**whole, "model.layers.0.self_attn.sinks": torch.ones(4)},
        {name: tensor for name, tensor in whole.items() if name != "model.layers.1.mlp.up_proj.weight"},
        {**whole, "model.layers.0.self_attn.q_proj.bias": torch.ones(32)},  # and none of keys and values
    ):
        save_file(other, path)
        assert read_model(weight_files(folder), shape, torch.float32) is None


def test_both_ends_of_text_count(tmp_path: Path) -> None:
    folder = changed(saved(tiny("Llama"), tmp_path), "generation_config.json", eos_token_id=[4, 6])
    config = plain_config(changed(folder, "config.json", eos_token_id=5), local_options({}), CPU)
    assert config is not None
    assert config["eos_token_id"] == [4, 6, 5]


def test_the_embedded_model_needs_no_transformers(cache_dir: Path, chat: Callable[..., Any]) -> None:
    code = """
import sys
from pathlib import Path
from needlework.models.specs import load_model, resolve_tokenizer
from needlework.models.served.connection import ServerOptions
folder = Path(sys.argv[1])
tokenizer = resolve_tokenizer("smollm2", {}, None, folder)
model = load_model(
    "smollm2", model_args={}, tokenizer=tokenizer, connection=ServerOptions(), cache_dir=folder, threads=1
)
print(model.identity["code"], model.identity["sharing"], "transformers" in sys.modules, "accelerate" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code, str(cache_dir)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["needlework", "batched", "False", "False"]
