"""llama-server's names of options, as fields of xllamacpp's parameters."""

import pytest

from needlework.models.engines.xllamacpp_server import options, put

xllamacpp = pytest.importorskip("xllamacpp")


def parsed(words):
    params = xllamacpp.CommonParams()
    for name, given in options(words.split()):
        put(params, name, given)
    return params


@pytest.mark.parametrize(
    ("words", "field", "value"),
    [
        ("--ctx-size 4096", "n_ctx", 4096),
        ("--flash-attn on", "flash_attn_type", xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_ENABLED),
        ("--cache-type-k q8_0", "cache_type_k", xllamacpp.ggml_type.GGML_TYPE_Q8_0),
        ("--no-context-shift", "ctx_shift", False),
        ("--no-kv-offload", "no_kv_offload", True),
        ("--rope-freq-scale 0.5", "rope_freq_scale", 0.5),
        ("--chat-template llama2", "use_jinja", False),
        ("--chat-template {{messages}}", "use_jinja", True),
    ],
)
def test_an_option_is_set(words, field, value):
    assert getattr(parsed(words), field) == value


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--nope 1", "no option --nope"),
        ("--cache-type-k q9", "there is no type 'q9'"),
        ("--parallel two", "is no int"),
        ("--flash-attn", "needs a value"),
        ("loose", "belongs to no option"),
    ],
)
def test_an_option_that_is_wrong_is_one_line(words, told):
    with pytest.raises(ValueError, match=told):
        parsed(words)
