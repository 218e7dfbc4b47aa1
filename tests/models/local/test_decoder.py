"""Many prompts, read and answered together: every answer is that of transformers' own generate, for many models.

torch and transformers are imported by the tests that use them: each worker collects all tests, few run these.
"""

from itertools import pairwise

import numpy as np
import pytest

from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.haystack_fixtures.tasks.catalogue import grid as grid_of
from needlework.haystack_fixtures.trials.builder import TrialBuilder
from needlework.models.local.decoder import common_prefix, decoder_for
from needlework.models.local.load import processors as settings_of
from needlework.models.local.memory import Limits
from needlework.models.specs import prepare

NEW = 7
PLENTY = Limits(chunk=64, rows=16, tokens=0)
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


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    import torch

    torch.set_num_threads(1)  # threads that wait for each other cost tiny models more than all the rest


def tiny(family, **changes):
    import torch
    import transformers

    torch.manual_seed(1)
    config = getattr(transformers, f"{family}Config")(**{**SIZES, **changes})
    return getattr(transformers, f"{family.removesuffix('Text')}ForCausalLM")(config).eval()


def grid():
    """Needles at depths in haystacks of two lengths, three questions behind one of them, and one prompt twice."""
    random = np.random.default_rng(0)
    haystack = random.integers(3, 97, 48)
    cells = [
        np.concatenate([haystack[:depth], [1, 2, 1], haystack[depth:size], [2]])
        for size in (30, 48)
        for depth in (0, 10, 20, size)
    ]
    questions = [np.concatenate([cells[-1], random.integers(3, 97, size)]) for size in (2, 5, 9)]
    return [each.astype(np.int32) for each in (*cells, *questions, cells[2])]


def tree_size(prompts):
    """Tokens to compute: nodes of the prompts' prefix tree, and the last token of one that is asked again."""
    ordered = sorted(prompts, key=lambda ids: ids.astype(">u4").tobytes())
    shared = (min(common_prefix(one, other), len(other) - 1) for one, other in pairwise(ordered))
    return sum(map(len, prompts)) - sum(shared)


def by_library(model, prompts, **options):
    import torch

    answers = []
    for ids in prompts:
        prompt = torch.from_numpy(ids.astype(np.int64))[None]
        given = {"attention_mask": torch.ones_like(prompt), "do_sample": False, "max_new_tokens": NEW, **options}
        answers.append(tuple(model.generate(prompt, **given)[0, prompt.shape[1] :].tolist()))
    return answers


def answers_of(decoder, prompts, limits=PLENTY):
    return [tuple(generated.ids) for generated in decoder.run(prompts, [NEW] * len(prompts), limits)]


TWO_KINDS = {"sliding_window": 6, "layer_types": ["sliding_attention", "full_attention"]}
LLAMA3_ROPE = {
    "rope_type": "llama3",
    "rope_theta": 100.0,
    "factor": 4.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 16,
}
GEMMA = {"head_dim": 16, "query_pre_attn_scalar": 8, "initializer_range": 0.2}
BATCHED = {
    "Llama": lambda: tiny("Llama"),
    "Llama, one key head": lambda: tiny("Llama", num_key_value_heads=1),
    "Llama, rope of Llama 3": lambda: tiny("Llama", rope_parameters=LLAMA3_ROPE),
    "Llama, eager": lambda: tiny("Llama", attn_implementation="eager"),
    "Mistral": lambda: tiny("Mistral", sliding_window=None),
    "Mistral, sliding": lambda: tiny("Mistral", sliding_window=6),
    "Mistral, a window not reached": lambda: tiny("Mistral", sliding_window=64),
    "Mixtral": lambda: tiny("Mixtral", num_local_experts=4, num_experts_per_tok=2),
    "Qwen 2, some layers sliding": lambda: tiny("Qwen2", **TWO_KINDS, use_sliding_window=True, max_window_layers=0),
    "Qwen 3": lambda: tiny("Qwen3", head_dim=16),
    "Gemma 2, with soft caps": lambda: tiny("Gemma2", **GEMMA, sliding_window=6),
    "Gemma 3": lambda: tiny("Gemma3Text", **GEMMA, **TWO_KINDS),
    "Phi": lambda: tiny("Phi"),
    "Phi 3": lambda: tiny("Phi3"),
    "OPT, with learned positions": lambda: tiny("OPT", ffn_dim=64, word_embed_proj_dim=32),
    "Bloom, with biases by distance": lambda: tiny("Bloom", n_head=4, n_layer=2),
}
DYNAMIC = {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 100.0}
ALONE = {
    "recurrent": (lambda: tiny("Mamba"), "state of another kind"),
    "rope by length": (lambda: tiny("Llama", rope_parameters=DYNAMIC, max_position_embeddings=32), "rope type dynamic"),
    "both kinds of layers": (
        lambda: tiny("Lfm2", layer_types=["conv", "full_attention"]),
        "its cache has layers of another kind",
    ),
}


# One of each kind of attention, of positions and of layers; the others are slow.
QUICK = {
    "Llama", "Llama, rope of Llama 3", "Mistral, sliding", "Mixtral", "Qwen 2, some layers sliding",
    "Gemma 2, with soft caps", "OPT, with learned positions", "Bloom, with biases by distance",
}  # fmt: skip


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[] if kind in QUICK else pytest.mark.slow) for kind in BATCHED]
)
def test_answers_are_those_of_generate(kind):
    model, prompts = BATCHED[kind](), grid()
    expected = by_library(model, prompts)
    decoder = decoder_for(model, (), None)
    assert decoder.sharing == "batched"
    assert len(set(expected)) > 5  # random weights that say the same everywhere would prove nothing
    assert answers_of(decoder, prompts) == expected
    for limits in (Limits(5, 3, 0), Limits(7, 1, 100)):
        decoder.forget()
        assert answers_of(decoder, prompts, limits) == expected
    assert answers_of(decoder, prompts[::-1]) == expected[::-1]  # with what is kept of the calls before


@pytest.mark.parametrize("kind", ALONE)
def test_models_whose_state_serves_one_prompt_only(kind):
    make, why = ALONE[kind]
    prompts = grid()
    expected = [by_library(make(), [prompt])[0] for prompt in prompts]
    decoder = decoder_for(make(), (), None)
    assert decoder.sharing.startswith("none: ")
    assert why in decoder.sharing
    assert answers_of(decoder, prompts) == expected


def test_a_model_whose_answers_come_out_differently_together_goes_one_by_one(monkeypatch):
    model, prompts = tiny("Llama"), grid()
    expected, forward = by_library(model, prompts), type(model).forward

    def without_positions(self, position_ids=None, **given):
        return forward(self, **given)

    monkeypatch.setattr(type(model), "forward", without_positions)
    monkeypatch.setattr(
        "needlework.models.local.decoder.inspect.signature",
        lambda _: type("Signature", (), {"parameters": ("input_ids", "past_key_values", "use_cache", "position_ids")}),
    )
    decoder = decoder_for(model, (), None)
    assert decoder.sharing.startswith("prefix: tried out, its answers came out differently")
    assert answers_of(decoder, prompts) == expected


@pytest.mark.parametrize("limits", [PLENTY, Limits(5, 16, 0), Limits(64, 1, 0), Limits(64, 1, 100)])
def test_as_many_tokens_are_computed_as_the_prefix_tree_has(limits):
    model, prompts = tiny("Mistral", sliding_window=6), grid()
    decoder = decoder_for(model, (), None)
    sizes = []  # of what goes through the first layer
    model.model.layers[0].mlp.register_forward_hook(
        lambda _module, inputs, _output: sizes.append(inputs[0].shape[0] * inputs[0].shape[1])
    )
    generated = decoder.run(prompts, [1] * len(prompts), limits)
    assert sum(sizes) == tree_size(prompts)
    assert sum(sizes) == sum(len(prompt) - each.cached for prompt, each in zip(prompts, generated, strict=True))


def test_the_next_call_begins_where_the_last_one_ended():
    model, prompts = tiny("Llama"), grid()
    decoder = decoder_for(model, (), None)
    decoder.run(prompts, [1] * len(prompts), PLENTY)
    generated = decoder.run(prompts, [1] * len(prompts), PLENTY)
    assert [each.cached for each in generated] == [len(prompt) - 1 for prompt in prompts]
    decoder.forget()
    assert decoder.run(prompts[:1], [1], PLENTY)[0].cached == 0


def test_answers_together_take_as_many_passes_as_the_longest():
    model, prompts = tiny("Llama"), grid()
    decoder = decoder_for(model, (), None)
    shapes = []
    model.lm_head.register_forward_hook(lambda _module, inputs, _output: shapes.append(tuple(inputs[0].shape[:2])))
    decoder.run(prompts, [2, 5] + [3] * (len(prompts) - 2), PLENTY)
    together = len(prompts)
    assert shapes[-4:] == [(together, 1), (together - 1, 1), (1, 1), (1, 1)]
    assert set(shapes[:-4]) == {(1, 1)}  # prefill: logits of a piece's last token, no others


def test_a_stop_token_ends_its_answer_only():
    model, prompts = tiny("Llama"), grid()
    expected = by_library(model, prompts)
    stop = expected[0][2]
    cut = [each[: each.index(stop) + 1] if stop in each else each for each in expected]
    assert len({len(each) for each in cut}) > 1
    decoder = decoder_for(model, [stop], None)
    for _ in range(2):  # the second time with rows that changed places
        generated = decoder.run(prompts, [NEW] * len(prompts), PLENTY)
        assert [tuple(each.ids) for each in generated] == cut
        assert [each.stopped for each in generated] == [stop in each for each in expected]


def test_settings_that_look_back_see_each_prompt_alone():
    for model in (tiny("Llama"), tiny("Mamba")):
        prompts = grid()[:5]
        model.generation_config.repetition_penalty = 1.7
        model.generation_config.no_repeat_ngram_size = 2
        model.generation_config.suppress_tokens = [5, 6]
        expected = by_library(model, prompts)
        settings = settings_of(model.generation_config, 1.7)
        assert answers_of(decoder_for(model, (), settings), prompts) == expected


@pytest.mark.parametrize("rows", [1, 16])
def test_a_failure_leaves_no_half_filled_rows(rows, monkeypatch):
    model, prompts = tiny("Llama"), grid()
    expected = by_library(model, prompts)
    decoder = decoder_for(model, (), None)
    lm_head, calls = model.lm_head.forward, iter(range(9999))

    def fail_once(given):
        if next(calls) == 3:
            raise MemoryError
        return lm_head(given)

    monkeypatch.setattr(model.lm_head, "forward", fail_once)
    with pytest.raises(MemoryError):
        answers_of(decoder, prompts, Limits(30, rows, 0))
    assert answers_of(decoder, prompts) == expected


def test_keys_and_values_in_main_memory():
    model, prompts = tiny("Mistral", sliding_window=6), grid()
    decoder = decoder_for(model, (), None, store="cpu")
    assert decoder.sharing == "batched"
    assert answers_of(decoder, prompts) == by_library(model, prompts)


@pytest.mark.slow
def test_cells_of_a_real_grid(cache_dir, smol_tokenizer, tmp_path):
    settings = resolve_settings({"lengths": "500,900", "depths": "0,30,60,100"}, {}, tmp_path)
    builder = TrialBuilder(settings, smol_tokenizer, cache_dir)
    cells = [(series.suite, cell) for series in grid_of(settings) for cell in series.cells]
    prompts = [builder.build(suite, cell).prompt.ids for suite, cell in cells]
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(prepare(cache_dir), dtype=torch.float32).eval()
    assert answers_of(decoder_for(model, [2], None), prompts) == by_library(model, prompts)
