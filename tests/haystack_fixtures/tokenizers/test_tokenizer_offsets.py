"""Tokenizers: round trips, offsets, specials in a text."""

import numpy as np
import pytest
from hypothesis import given

from needlework.core.errors import InputError
from needlework.core.prompts import Message
from needlework.models.tokenizers.tokenizer import load_tokenizer
from tests.strategies import texts


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


def test_a_token_starts_at_its_space(tokenizers):
    for name in ("cl100k", "o200k", "smollm2"):
        if name in tokenizers:
            assert tokenizers[name].encode("one two").starts.tolist() == [0, 3]


def test_tokens_of_one_character_share_its_offset(tokenizers):
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
