"""Many prompts over one tree: every answer is that of transformers' own generate, for many kinds of models."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from needlework.core.errors import InputError
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.haystack_fixtures.tasks.catalogue import grid as grid_of
from needlework.haystack_fixtures.trials.builder import TrialBuilder
from needlework.models.local.attention import plain_part
from needlework.models.local.load import choose_runner
from needlework.models.local.load import processors as settings_of
from needlework.models.local.model import LocalModel
from needlework.models.local.runners import GreedyRunner, Limits
from needlework.models.local.token_tree import Ids, tree_size
from needlework.models.local.tree_runner import TreeRunner
from needlework.models.specs import prepare
from needlework.models.tokenizers.tokenizer import Tokenizer

NEW = 7
PLENTY = Limits(chunk=64, rows=16, tokens=10**6)
SIZES = {
    "vocab_size": 97,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
    "initializer_range": 0.5,
    "eos_token_id": None,
    "bos_token_id": None,
    "pad_token_id": 0,
}


def tiny(family: str, **changes: Any) -> Any:
    import torch
    import transformers

    torch.manual_seed(1)
    library: Any = transformers
    config = getattr(library, f"{family}Config")(**{**SIZES, **changes})
    return getattr(library, f"{family.removesuffix('Text')}ForCausalLM")(config).eval()


def grid() -> list[Ids]:
    """Needles at depths in haystacks of two lengths, three questions behind one of them, and one prompt twice."""
    random = np.random.default_rng(0)
    haystack = random.integers(3, 97, 48)
    cells = [
        np.concatenate([haystack[:depth], [1, 2, 1], haystack[depth:size], [2]])
        for size in (30, 48)
        for depth in (0, 10, 20, size)
    ]
    questions = [np.concatenate([cells[-1], random.integers(3, 97, size)]) for size in (2, 5, 9)]
    return [each.astype(np.int32) for each in (*cells, *questions, cells[2], cells[-1][:20])]


def by_library(model: Any, prompts: Sequence[Ids], **options: Any) -> list[tuple[int, ...]]:
    import torch

    answers = []
    for ids in prompts:
        prompt = torch.from_numpy(ids.astype(np.int64))[None]
        given = {"attention_mask": torch.ones_like(prompt), "do_sample": False, "max_new_tokens": NEW, **options}
        answers.append(tuple(model.generate(prompt, **given)[0, prompt.shape[1] :].tolist()))
    return answers


def answers_of(runner: Any, prompts: Sequence[Ids], limits: Limits = PLENTY) -> list[tuple[int, ...]]:
    return [found.ids for found in runner.run(prompts, [NEW] * len(prompts), limits)]


LAYERS_OF_TWO_KINDS = {
    "sliding_window": 6,
    "layer_types": ["sliding_attention", "full_attention"],
    "use_sliding_window": True,
    "max_window_layers": 0,
}
BATCHED: dict[str, Callable[[], Any]] = {
    "grouped queries": lambda: tiny("Llama"),
    "one key head": lambda: tiny("Llama", num_key_value_heads=1),
    "all heads": lambda: tiny("Llama", num_key_value_heads=4),
    "llama3 rope": lambda: tiny(
        "Llama",
        rope_parameters={
            "rope_type": "llama3",
            "rope_theta": 100.0,
            "factor": 4.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 16,
        },
    ),
    "biases": lambda: tiny("Qwen2"),
    "some layers sliding": lambda: tiny("Qwen2", **LAYERS_OF_TWO_KINDS),
    "normed queries": lambda: tiny("Qwen3", head_dim=16),
    "sliding": lambda: tiny("Mistral", sliding_window=6),
    "sliding, not reached": lambda: tiny("Mistral", sliding_window=64),
    "gemma 3": lambda: tiny(
        "Gemma3Text",
        head_dim=16,
        query_pre_attn_scalar=8,
        initializer_range=0.2,
        sliding_window=6,
        layer_types=["sliding_attention", "full_attention"],
    ),
    "experts": lambda: tiny("Mixtral", num_local_experts=4, num_experts_per_tok=2),
    "learned positions": lambda: tiny("OPT", ffn_dim=64, word_embed_proj_dim=32),
}
PREFIX = {
    "soft caps": (lambda: tiny("Gemma2", head_dim=16, query_pre_attn_scalar=8, sliding_window=6), "softcap"),
    "no interface": (lambda: tiny("Bloom", n_head=4, n_layer=2), "does not take another attention"),
}
DYNAMIC = {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 100.0}
ALONE = {
    "recurrent": (lambda: tiny("Mamba"), "state of another kind"),
    "rope by length": (lambda: tiny("Llama", rope_parameters=DYNAMIC, max_position_embeddings=32), "rope type dynamic"),
}


@pytest.mark.parametrize("kind", BATCHED)
def test_answers_are_those_of_generate(kind: str) -> None:
    model, prompts = BATCHED[kind](), grid()
    expected = by_library(model, prompts)
    runner, sharing = choose_runner(model, (), None)
    assert sharing == "batched"
    assert len(set(expected)) > 5  # random weights that say the same everywhere would prove nothing
    assert answers_of(runner, prompts) == expected
    for limits in (Limits(5, 3, 10**6), Limits(64, 16, 70), Limits(7, 1, 0)):
        runner.forget()
        assert answers_of(runner, prompts, limits) == expected
    assert answers_of(runner, prompts[::-1]) == expected[::-1]  # over what is left of the calls before


@pytest.mark.parametrize("kind", PREFIX)
def test_models_that_take_no_other_attention_go_one_by_one(kind: str) -> None:
    make, why = PREFIX[kind]
    model, prompts = make(), grid()
    expected = by_library(model, prompts)
    runner, sharing = choose_runner(model, (), None)
    assert sharing.startswith("prefix: ")
    assert why in sharing
    assert answers_of(runner, prompts) == expected


@pytest.mark.parametrize("kind", ALONE)
def test_models_whose_state_serves_one_prompt_only(kind: str) -> None:
    make, why = ALONE[kind]
    prompts = grid()
    expected = [by_library(make(), [prompt])[0] for prompt in prompts]
    runner, sharing = choose_runner(make(), (), None)
    assert sharing.startswith("none: ")
    assert why in sharing
    assert answers_of(runner, prompts) == expected


def test_a_users_own_attention_is_kept() -> None:
    model = tiny("Llama")
    runner, sharing = choose_runner(model, (), None, attention="eager")
    assert isinstance(runner, GreedyRunner)
    assert sharing == "prefix: attn_implementation=eager was asked for"


def test_a_model_that_comes_out_differently_is_not_run_over_a_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("needlework.models.local.tree_runner.join_parts", lambda outs, sums: outs.mean(0))
    model = tiny("Llama")
    _, sharing = choose_runner(model, (), None)
    assert sharing.startswith("prefix: tried out, its answers came out differently")
    assert model.config._attn_implementation == "sdpa"


@pytest.mark.parametrize("limits", [PLENTY, Limits(5, 16, 10**6)])
def test_as_many_tokens_are_computed_as_the_prefix_tree_has(limits: Limits) -> None:
    rows = 0

    def count(_module: Any, inputs: Any, _output: Any) -> None:
        nonlocal rows
        rows += inputs[0].shape[0] * inputs[0].shape[1]

    model, prompts = tiny("Llama"), grid()
    runner, _ = choose_runner(model, (), None)
    model.model.layers[0].mlp.register_forward_hook(count)
    found = runner.run(prompts, [1] * len(prompts), limits)
    assert rows == sum(len(prompt) - each.cached for prompt, each in zip(prompts, found, strict=True))
    assert rows == tree_size(prompts)
    found = runner.run(prompts, [1] * len(prompts), limits)
    assert rows == tree_size(prompts)  # nothing is computed a second time
    assert [each.cached for each in found] == [len(prompt) for prompt in prompts]


def test_answers_together_take_as_many_passes_as_the_longest() -> None:
    model, prompts = tiny("Llama"), grid()
    runner, _ = choose_runner(model, (), None)
    shapes: list[int] = []
    model.lm_head.register_forward_hook(lambda _module, inputs, _output: shapes.append(inputs[0].shape[1]))
    runner.run(prompts, [2, 5] + [3] * (len(prompts) - 2), PLENTY)
    together = len(prompts)
    assert shapes[-4:] == [together, together - 1, 1, 1]
    assert sum(shapes[:-4]) <= together + len(shapes)  # prefill: logits where a prompt ends, no others


def test_a_stop_token_ends_its_answer_only() -> None:
    model, prompts = tiny("Llama"), grid()
    expected = by_library(model, prompts)
    stop = expected[0][2]
    cut = [each[: each.index(stop) + 1] if stop in each else each for each in expected]
    assert len({len(each) for each in cut}) > 1
    runner, _ = choose_runner(model, [stop], None)
    found = runner.run(prompts, [NEW] * len(prompts), PLENTY)
    assert [each.ids for each in found] == cut
    assert [each.stopped for each in found] == [stop in each for each in expected]


def test_settings_that_look_back_see_each_prompt_alone() -> None:
    model, prompts = tiny("Llama"), grid()
    model.generation_config.repetition_penalty = 1.7
    model.generation_config.no_repeat_ngram_size = 2
    model.generation_config.suppress_tokens = [5, 6]
    expected = by_library(model, prompts)
    settings = settings_of(model.generation_config, 1.7)
    assert answers_of(choose_runner(model, (), settings)[0], prompts) == expected
    recurrent = tiny("Mamba")
    recurrent.generation_config.repetition_penalty = 1.7
    expected = by_library(recurrent, prompts[:3])
    settings = settings_of(recurrent.generation_config, 1.7)
    assert answers_of(choose_runner(recurrent, (), settings)[0], prompts[:3]) == expected


def test_times_add_up() -> None:
    runner, _ = choose_runner(tiny("Llama"), (), None)
    prompts = grid()
    begun = time.perf_counter()
    found = runner.run(prompts, [NEW] * len(prompts), PLENTY)
    assert 0 < sum(each.latency_s for each in found) <= time.perf_counter() - begun
    assert all(each.ttft_s <= each.latency_s for each in found)


def test_a_failure_leaves_no_half_filled_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    model, prompts = tiny("Llama"), grid()
    expected = by_library(model, prompts)
    runner, _ = choose_runner(model, (), None)
    forward, calls = model.forward, iter(range(99))

    def fail_once(*args: Any, **kwargs: Any) -> Any:
        if next(calls) == 3:
            raise MemoryError
        return forward(*args, **kwargs)

    monkeypatch.setattr(model, "forward", fail_once)
    with pytest.raises(MemoryError):
        answers_of(runner, prompts, Limits(30, 16, 10**6))
    assert answers_of(runner, prompts) == expected


def test_keys_and_values_kept_elsewhere() -> None:
    model, prompts = tiny("Mistral", sliding_window=6), grid()
    expected = by_library(model, prompts)
    choose_runner(model, (), None)
    runner = TreeRunner(model, (), store="cpu")
    assert answers_of(runner, prompts) == expected


def test_a_quantized_cache() -> None:
    model, prompts = tiny("Llama"), grid()
    runner, sharing = choose_runner(model, (), None, cache="quantized")
    assert sharing == "none: the cache is quantized"
    from transformers import QuantizedCache

    expected = [by_library(model, [each], past_key_values=QuantizedCache("fp8", model.config))[0] for each in prompts]
    assert answers_of(runner, prompts) == expected
    with pytest.raises(InputError, match="not for this model"):
        choose_runner(tiny("Mistral", sliding_window=6), (), None, cache="quantized")


@pytest.mark.parametrize("causal", [False, True])
def test_the_plain_kernel_is_that_of_the_device(causal: bool) -> None:
    import torch

    from needlework.models.local.attention import part_for

    random = torch.Generator().manual_seed(0)
    query, keys, values = (torch.randn(2, 3, size, 16, generator=random) for size in (5, 5 if causal else 9, 9))
    values = values[:, :, : keys.shape[2]]
    out, total = part_for(query)(query, keys, values, causal, 0.3)
    plain_out, plain_total = plain_part(query, keys, values, causal, 0.3)
    torch.testing.assert_close(out, plain_out)
    torch.testing.assert_close(total, plain_total)
    torch.testing.assert_close(
        out, torch.nn.functional.scaled_dot_product_attention(query, keys, values, is_causal=causal, scale=0.3)
    )


@pytest.mark.slow
def test_cells_of_a_real_grid(cache_dir: Path, smol: LocalModel, smol_tokenizer: Tokenizer, tmp_path: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM

    settings = resolve_settings({"lengths": "500,900", "depths": "0,30,60,100"}, {}, tmp_path)
    builder = TrialBuilder(settings, smol_tokenizer, cache_dir)
    cells = [(series.suite, cell) for series in grid_of(settings) for cell in series.cells]
    prompts = [builder.build(suite, cell).prompt.ids for suite, cell in cells]
    loader: Any = AutoModelForCausalLM
    library_model = loader.from_pretrained(prepare(cache_dir), dtype=torch.float32).eval()
    expected = by_library(library_model, prompts)
    assert smol._runner is not None
    assert [each.ids for each in smol._runner.run(prompts, [NEW] * len(prompts), PLENTY)] == [
        each[: each.index(2) + 1] if 2 in each else each for each in expected
    ]
