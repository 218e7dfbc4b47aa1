"""Greedy decoding on tiny random models: sliding windows, and settings that change what is likeliest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from needlework.models.local.load import processors as settings_of
from needlework.models.local.runners import GreedyRunner, Limits


def tiny(sliding_window: int | None) -> Any:
    import torch
    from transformers import MistralConfig, MistralForCausalLM

    torch.manual_seed(1)
    config = MistralConfig(
        vocab_size=97,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=512,
        sliding_window=sliding_window,
        initializer_range=0.5,
        eos_token_id=None,
        pad_token_id=0,
    )
    model: Any = MistralForCausalLM(config)
    return model.eval()


def by_library(model: Any, ids: Any, **options: Any) -> tuple[int, ...]:
    import torch

    prompt = torch.from_numpy(ids.astype(np.int64))[None]
    given = {"attention_mask": torch.ones_like(prompt), "do_sample": False, "max_new_tokens": 10, **options}
    return tuple(model.generate(prompt, **given)[0, prompt.shape[1] :].tolist())


@pytest.mark.parametrize("sliding_window", [None, 8, 64])
def test_windows_that_slide(sliding_window: int | None) -> None:
    model = tiny(sliding_window)
    random = np.random.default_rng(0)
    first = random.integers(1, 97, 40).astype(np.int32)
    second = np.concatenate([first[:30], random.integers(1, 97, 10)]).astype(np.int32)
    runner = GreedyRunner(model, [])
    for ids in (first, second, first, first[:35], second):
        [found] = runner.run([ids], [10], Limits(7, 1, 0))
        assert found.ids == by_library(model, ids)
        assert not found.stopped
    # A window that has slid has dropped what a shorter prefix needs: computed again, never guessed.
    assert runner.run([first], [10], Limits(7, 1, 0))[0].cached == (0 if sliding_window == 8 else 30)


def test_a_checkpoints_own_settings_count() -> None:
    model = tiny(None)
    ids = np.random.default_rng(2).integers(1, 97, 20).astype(np.int32)
    model.generation_config.repetition_penalty = 1.7
    model.generation_config.no_repeat_ngram_size = 2
    model.generation_config.suppress_tokens = [5, 6]
    expected = by_library(model, ids)
    processors = settings_of(model.generation_config, 1.7)
    assert GreedyRunner(model, [], processors).run([ids], [10], Limits(64, 1, 0))[0].ids == expected


def test_only_the_last_logits_are_computed() -> None:
    model = tiny(None)
    shapes: list[tuple[int, ...]] = []
    model.lm_head.register_forward_hook(lambda _module, _inputs, output: shapes.append(tuple(output.shape)))
    GreedyRunner(model, []).run([np.arange(1, 50, dtype=np.int32)], [2], Limits(20, 1, 0))
    assert {shape[1] for shape in shapes} == {1}


def test_a_stop_token_ends_the_answer() -> None:
    model = tiny(None)
    ids = np.arange(1, 20, dtype=np.int32)
    answer = by_library(model, ids)
    [found] = GreedyRunner(model, [answer[3]]).run([ids], [10], Limits(64, 1, 0))
    assert found.stopped
    assert found.ids == answer[: answer.index(answer[3]) + 1]
