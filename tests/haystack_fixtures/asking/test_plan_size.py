"""What a plan says of window, memory and cards."""

import json

import pytest

from needlework.models.local.memory import Described, described
from needlework.pipeline.plan import size_lines

# Llama-3.1-8B as its card tells it: 131,072 bytes of keys and values a token in 16 bit, 14.96 GiB of weights.
LLAMA = {
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 14336,
    "max_position_embeddings": 131_072,
}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    with (tmp_path / "model.safetensors").open("wb") as file:
        file.truncate(16_060_000_000)  # a hole: no disk is used
    return tmp_path


def test_a_model_is_described_by_the_configuration_beside_it_or_its_tokenizer(folder, tmp_path):
    whole = Described(window=131_072, token_bytes=131_072, weights_bytes=16_060_000_000)
    scaled = {"rope_scaling": '{"rope_type": "yarn", "factor": 2.0}'}
    local = f"hf:{folder}"
    assert described(local, {}, None, tmp_path) == whole
    assert described(local, scaled, None, tmp_path).window == 262_144
    assert described(local, {"window": "4096"}, None, tmp_path).window == 4096
    # A server may have been given less memory than the model was trained for: its window is not known.
    assert described("openai:x", {}, str(folder), tmp_path) == Described(None, 131_072, 16_060_000_000)
    assert described("openai:x", {"window": "9000"}, "tiktoken:cl100k_base", tmp_path) == Described(window=9000)


@pytest.mark.parametrize("config", ["", "[]", "{}", '{"hidden_size": 0}'])
def test_a_configuration_that_says_nothing_is_none(tmp_path, config):
    (tmp_path / "config.json").write_text(config)
    assert described("openai:x", {}, str(tmp_path), tmp_path) == Described()


@pytest.mark.parametrize(
    ("model", "lengths", "card_gib", "lines"),
    [
        (
            Described(window=8192),
            [4000, 8192, 16_000, 16_000, 32_000],
            None,
            ["3 of 5 trials are over its window of 8,192 tokens and would be skipped: length 16000 32000"],
        ),
        (Described(window=8192), [4000, 8192], None, []),
        (  # an 8B model at a million tokens, by hand: 122.07 GiB and 14.96 GiB over cards of 72 usable
            Described(token_bytes=131_072, weights_bytes=16_060_000_000),
            [1_000_000, 4000],
            80,
            [
                "keys and values of 1,000,000 tokens: 122.07 GiB in 16 bit, 61.04 GiB in 8 bit; weights 14.96 GiB",
                "cards of 80 GiB for one request: 2 in 16 bit, 2 in 8 bit",
            ],
        ),
        (
            Described(),
            [4000],
            80,
            ["no memory can be told: give --tokenizer FOLDER, with the model's config.json in it"],
        ),
    ],
)
def test_window_memory_and_cards(model, lengths, card_gib, lines):
    assert list(size_lines(model, lengths, card_gib)) == lines
