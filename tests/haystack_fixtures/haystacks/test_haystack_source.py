"""Haystack sources: seeded order, passes, prefixes, the cache."""

from itertools import pairwise

import numpy as np
import pytest

from needlework.core.errors import InputError
from tests.haystack_fixtures.haystacks.outer import corpus_of, open_source


def story(number, sentences=60):
    paragraphs = [
        " ".join(f"In part {number}.{paragraph} the keeper saw ship {number * 1000 + line}." for line in range(4))
        for paragraph in range(sentences // 4)
    ]
    return "\n\n".join(paragraphs)


MANY = corpus_of(*(story(number) for number in range(12)))
ONE = corpus_of(story(3, 200))


@pytest.fixture
def opened(tokenizers, tmp_path):
    def open_(corpus, *, seed=1, repeat=0, min_tokens=3000):
        return open_source(
            corpus, tokenizers["cl100k"], seed=seed, repeat=repeat, min_tokens=min_tokens, cache_dir=tmp_path
        )

    return open_


def test_tokens_are_those_of_the_whole_text(tokenizer, tmp_path):
    for corpus, tokens in ((MANY, 4000), (ONE, 20_000), (corpus_of("Short.", "Tiny one", "你好。"), 200)):
        source = open_source(corpus, tokenizer, seed=0, repeat=1, min_tokens=tokens, cache_dir=tmp_path)
        whole = tokenizer.encode(source.text)
        assert np.array_equal(source.encoded.ids, whole.ids)
        assert np.array_equal(source.encoded.starts, whole.starts)
        assert len(whole.ids) >= tokens
        assert source.ends_tokens.tolist() == [int((whole.starts < end).sum()) for end in source.ends]
        assert source.ends[-1] == len(source.text)


@pytest.mark.parametrize("corpus", [MANY, ONE], ids=["many", "one"])
def test_shorter_is_a_prefix_of_longer_and_nothing_repeats_before_all_is_used(opened, corpus):
    for short, long in pairwise(opened(corpus, min_tokens=tokens) for tokens in (500, 3000, 30_000)):
        assert long.text.startswith(short.text)
        assert long.ends[: len(short.ends)].tolist() == short.ends.tolist()
    source = opened(corpus, min_tokens=25_000)
    sentences = [line for line in source.text[: source.corpus_chars].split(" the keeper saw ")[1:] if line]
    assert len(sentences) == len(set(sentences)) == sum(text.count(" the keeper saw ") for text in corpus.documents)
    assert source.text[source.corpus_chars :].startswith(source.text[:1000])


class Refusing:
    """A tokenizer that has been told to encode short texts only."""

    def __init__(self, inner):
        self._inner = inner

    def __getattr__(self, name):
        return getattr(self._inner, name)

    def encode(self, text):
        assert len(text) < 1400, "a cached document was encoded again"
        return self._inner.encode(text)


def test_a_document_is_encoded_once(tokenizers, tmp_path):
    tokenizer = tokenizers["cl100k"]
    first = open_source(MANY, tokenizer, seed=1, repeat=0, min_tokens=5000, cache_dir=tmp_path)
    again = open_source(MANY, Refusing(tokenizer), seed=1, repeat=0, min_tokens=5000, cache_dir=tmp_path)
    assert np.array_equal(first.encoded.ids, again.encoded.ids)
    assert np.array_equal(first.ends, again.ends)
    with pytest.raises(AssertionError):  # another tokenizer has other files
        open_source(MANY, Refusing(tokenizers["o200k"]), seed=1, repeat=0, min_tokens=5000, cache_dir=tmp_path)


@pytest.mark.parametrize("damage", [b"", b"not such a file.", None], ids=["empty", "not_tokens", "cut_off"])
def test_a_damaged_cache_is_made_again(tokenizers, tmp_path, damage):
    tokenizer = tokenizers["cl100k"]
    first = open_source(MANY, tokenizer, seed=1, repeat=0, min_tokens=5000, cache_dir=tmp_path)
    files = sorted(tmp_path.rglob("*.tokens"))
    assert files
    for file in files:
        content = file.read_bytes()
        file.write_bytes(content[: len(content) // 2] if damage is None else damage)
    again = open_source(MANY, tokenizer, seed=1, repeat=0, min_tokens=5000, cache_dir=tmp_path)
    assert np.array_equal(first.encoded.ids, again.encoded.ids)
    assert sorted(tmp_path.rglob("*.tokens")) == files  # no temporary files are left
    open_source(MANY, Refusing(tokenizer), seed=1, repeat=0, min_tokens=5000, cache_dir=tmp_path)


def test_a_corpus_without_text_is_refused(opened):
    for documents in ((), ("",), (" \n ", "\t")):
        with pytest.raises(InputError, match="--corpus"):
            opened(corpus_of(*documents))
