"""Specs, `--model-arg`, windows and keys: what is accepted, what is refused, and how the refusal reads."""

import pytest

from needlework.core.errors import InputError
from needlework.core.redact import redactor, url_secrets, without_credentials
from needlework.models.local.memory import (
    Dimensions,
    Limits,
    dimensions,
    local_options,
    passing_bytes,
    plan,
    require,
    rope_parameters,
    sliding_window,
    token_bytes,
    window_of,
)
from needlework.models.served.connection import ServerOptions, address, is_loopback, served_options
from needlework.models.specs import parse_spec, resolve_tokenizer


@pytest.mark.parametrize("spec", ["gpt-4o", "hf:", "smollm2:x", "mock:clever", "mock:error=x"])
def test_a_wrong_spec_names_the_right_ones(spec):
    with pytest.raises(InputError, match=r"\A[^\n]*(use one of|write )[^\n]*\Z"):
        parse_spec(spec)


def test_a_served_model_of_unknown_tokenizer_asks_for_one(tmp_path):
    with pytest.raises(InputError, match=r"give --tokenizer FOLDER, tiktoken:NAME, or server \(its own counter\)"):
        resolve_tokenizer("openai:my-own-finetune", {}, None, tmp_path)
    assert resolve_tokenizer("openai:gpt-4", {}, None, tmp_path).encode("hello").ids.size == 1
    chosen = resolve_tokenizer("openai:my-own-finetune", {}, "tiktoken:cl100k_base", tmp_path)
    assert chosen.encode("hello").ids.size == 1


YARM = '{"rope_type": "yarm", "factor": 2.0}'


@pytest.mark.parametrize(
    ("args", "told"),
    [
        ({"dtipe": "float32"}, "dtipe"), ({"dtype": "int3"}, "dtype"), ({"cache": "none"}, "cache"),
        ({"kernels": "fast"}, "kernels"), ({"prefill_chunk": "0"}, "prefill_chunk"),
        ({"prefill_chunk": "many"}, "prefill_chunk"), ({"rope_scaling": "[1]"}, "rope_scaling"),
        ({"rope_scaling": "{"}, "rope_scaling"), ({"trust_remote_code": "maybe"}, "trust_remote_code"),
        ({"window": "-5"}, "window"), ({"repetition_penalty": "nan"}, "repetition_penalty"),
        ({"rope_scaling": YARM}, "'yarm': is unknown: use one of default, linear, .*llama3"),
        ({"rope_scaling": '{"type": 3}'}, "'3': is unknown: use one of default"),
    ],
)  # fmt: skip
def test_wrong_local_arguments(args, told):
    with pytest.raises(InputError, match=told):
        local_options(args)


def test_local_arguments_have_types():
    options = local_options({"dtype": "bfloat16", "prefill_chunk": "1024", "rope_scaling": '{"factor": 2}'})
    assert (options.dtype, options.prefill_chunk, options.rope_scaling) == ("bfloat16", 1024, {"factor": 2})
    assert not options.trust_remote_code
    assert options.answer_changing() == {"rope_scaling": '{"factor": 2}'}
    assert local_options({"rope_scaling": YARM, "trust_remote_code": "true"}).rope_scaling["rope_type"] == "yarm"


def test_served_arguments(monkeypatch):
    monkeypatch.setenv("TEAM", "blue")
    args = {"header.X-Team": "ENV:TEAM", "header.X-Plain": "p", "temperature": "none", "seed": "3"}
    options = served_options(args)
    assert options.headers == {"X-Team": "blue", "X-Plain": "p"}
    assert (options.temperature, options.seed) == (None, 3)
    assert served_options({}).temperature == 0.0


@pytest.mark.parametrize(
    "args",
    [
        {"header.X": "ENV:NOT_SET_ANYWHERE"},
        {"azure_deployment": "d"},
        {"proxy": "somewhere"},
        {"extra_body": "1"},
        {"max_tokens_field": "tokens"},
        {"temperatur": "0"},
        {"temperature": "-1"},
    ],
)
def test_wrong_served_arguments(args):
    with pytest.raises(InputError, match="--model-arg"):
        served_options(args)


YARN = {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}
LENGTH = "max_position_embeddings"


@pytest.mark.parametrize(
    ("config", "asked", "window", "source"),
    [
        ({LENGTH: 8192, "rope_parameters": {"rope_type": "default"}}, None, 8192, f"config: {LENGTH}"),
        ({LENGTH: 32768, "rope_scaling": YARN}, None, 131072, f"config: {LENGTH} 32768, yarn scaling by 4"),
        (
            {LENGTH: 131072, "rope_parameters": {"rope_type": "linear", "factor": 8.0}}, None, 131072,
            f"config: {LENGTH}; its linear scaling by 8 names no start and is taken as part of it",
        ),
        ({LENGTH: 4096, "rope_parameters": {"full_attention": {"factor": 8.0}}}, None, 4096, f"config: {LENGTH}"),
        ({"n_positions": 1024}, None, 1024, "config: n_positions"),
        ({"max_seq_len": 2048}, None, 2048, "config: max_seq_len"),
        ({"seq_length": 32768}, None, 32768, "config: seq_length"),
        ({LENGTH: 4096, "max_sequence_length": 16384}, None, 16384, f"config: {LENGTH}"),
        # Phi-3: the long factors are part of the stated length
        ({LENGTH: 131072, "rope_parameters": {"rope_type": "longrope"}}, None, 131072, f"config: {LENGTH}"),
        # DeepSeek-V3
        ({LENGTH: 163840, "rope_scaling": YARN | {"factor": 4}}, None, 163840, f"config: {LENGTH}"),
        ({LENGTH: 8192}, {"type": "yarn", "factor": 2.0}, 16384, f"config: {LENGTH} 8192, yarn scaling by 2"),
        ({LENGTH: True}, None, None, "the configuration does not tell"),
        ({}, None, None, "the configuration does not tell"),
    ],
)  # fmt: skip
def test_windows_and_where_they_come_from(config, asked, window, source):
    assert window_of(config, asked) == (window, source)


@pytest.mark.parametrize(
    ("config", "size"),
    [
        ({"max_position_embeddings": 32768, "sliding_window": 4096}, 4096),
        ({"max_position_embeddings": 32768, "sliding_window": 4096, "use_sliding_window": False}, None),
        ({"max_position_embeddings": 4096, "sliding_window": 4096}, None),
        ({"max_position_embeddings": 32768, "sliding_window": None}, None),
        ({"sliding_window": 512, "layer_types": ["sliding_attention", "full_attention"]}, 512),
        ({"sliding_window": 512, "layer_types": ["full_attention"]}, None),
    ],
)
def test_sliding_windows_are_noted(config, size):
    assert sliding_window(config) == size


def test_rope_scaling_keeps_the_rest_of_the_checkpoints_rope():
    given = {"type": "yarn", "factor": 2.0}
    own = {"rope_type": "default", "rope_theta": 10000.0}
    assert rope_parameters(own, given, 8192) == {
        "rope_type": "yarn",
        "rope_theta": 10000.0,
        "factor": 2.0,
        "original_max_position_embeddings": 8192,
    }


def test_memory_grows_with_length_and_eager_attention():
    sizes = dimensions(
        {"hidden_size": 576, "num_attention_heads": 9, "num_key_value_heads": 3, "num_hidden_layers": 30}
    )
    assert sizes == Dimensions(layers=30, heads=9, kv_heads=3, head_dim=64, hidden=576, intermediate=2304)
    assert token_bytes(sizes, 4) == 2 * 30 * 3 * 64 * 4
    short, long, eager = (
        passing_bytes(sizes, 4, tokens, 512, attention)
        for tokens, attention in ((4000, "sdpa"), (8000, "sdpa"), (8000, "eager"))
    )
    assert short < long
    assert eager > long + 9 * 512 * 8000 * 4
    # Keys and values are copied for every head of attention, not for the three that are stored.
    assert long - short == 4 * (4000 * 2 * 9 * 64 + 4000 * 512)
    with pytest.raises(InputError, match=r"needs about 2\.00 GiB and cuda has 1\.00 GiB"):
        require("hf:x", 2 * 2**30, 2**30, "cuda")


def test_answers_are_written_together_as_memory_allows():
    token, prompt = 1000, 2000
    assert plan(token, prompt, 512, 2 * 2 * 5 * token * prompt, "cpu") == Limits(512, 5, prompt)
    assert plan(token, prompt, 512, 2**40, "cpu") == Limits(512, 16, prompt)
    assert plan(token, prompt, 512, 2**40, "cuda:1").rows > 16
    assert plan(token, prompt, 512, 0, "cpu") == Limits(512, 1, prompt)  # whether one fits is asked before


def test_a_missing_key_is_refused_except_on_this_machine(monkeypatch):
    monkeypatch.delenv("MY_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert all(map(is_loopback, ["http://localhost:1/v1", "http://127.0.0.5/v1", "http://[::1]:8/v1"]))
    assert not any(map(is_loopback, ["https://api.openai.com/v1", "http://localhost.evil.com", "http://10.0.0.1"]))
    options = served_options({})
    assert address(ServerOptions("http://127.0.0.1:8000/v1", "MY_KEY"), options)[1] == ""
    for url in (None, "https://example.org/v1"):
        with pytest.raises(InputError, match="MY_KEY"):
            address(ServerOptions(url, "MY_KEY"), options)
    with pytest.raises(InputError, match="--base-url") as caught:
        address(ServerOptions("user:passw0rd@host:80", "MY_KEY"), options)
    assert "passw0rd" not in str(caught.value)


def test_dummy_keys_do_not_eat_words():
    assert redactor(["", "a", None]).clean("a banana") == "a banana"
    assert redactor(["abcd-efgh"]).clean("x abcd-efgh y") == "x *** y"
    assert redactor(["abcd-efgh"]).clean("cut off: 'abcd-ef'") == "cut off: '***'"
    assert url_secrets("http://u:p%40ss@h/v1?key=k") == ("u", "p%40ss", "key=k", "k", "u:p@ss", "p@ss")
    assert without_credentials("http://u:p@h:8/v1?key=k") == "http://h:8/v1"
