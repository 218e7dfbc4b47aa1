"""The generated corpus: the same everywhere, never short, never twice the same sentence; its patterns and its cache."""

import hashlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.haystack_fixtures.corpora import corpus_named
from needlework.haystack_fixtures.corpora.generated import generate_documents, recipe_sha256


def sentences(text):
    """Split as bluntly as possible: whatever stands between two sentence ends, quotation marks aside."""
    pieces = (piece.strip(" \"“”'") for piece in re.split(r"[.!?。！？…\n]+", text))
    return [piece for piece in pieces if piece]


@pytest.mark.parametrize(
    ("language", "sha256"),
    [
        ("en", "22f77b41fae41912cff7c0b3aab346ee010fece117a0d30aa8e857d483997cc9"),
        ("zh", "29a333384a329d588f3cdabb62c0140ab401ae9aed882f6f1ed37dffbc423511"),
    ],
)
def test_the_first_document_of_seed_7_is_pinned(language, sha256):
    """If this changes on purpose, raise generated.VERSION: published haystacks change with it."""
    first = generate_documents(language, 7, 1)[0]
    assert hashlib.sha256(first.encode()).hexdigest() == sha256


@given(st.sampled_from(("en", "zh")), st.integers(-(2**70), 2**70), st.integers(0, 20_000), st.integers(0, 20_000))
def test_asking_for_more_only_appends_documents(language, seed, fewer, more):
    short = generate_documents(language, seed, fewer)
    long = generate_documents(language, seed, fewer + more)
    assert long[: len(short)] == short
    assert sum(map(len, short)) >= fewer
    assert sum(map(len, long)) >= fewer + more


@pytest.mark.parametrize(("language", "chars"), [("en", 300_000), ("zh", 100_000)])
def test_no_sentence_occurs_twice(language, chars):
    told = sentences("\n".join(generate_documents(language, 3, chars)))
    assert len(told) > 2_500
    assert len(set(told)) == len(told)


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    """Twenty thousand characters are enough to see how sizes and the cache work."""
    monkeypatch.setattr(corpus_named, "GENERATED_CHARS", {"en": 20_000, "zh": 20_000})


def generated(cache, language="en", seed=1, min_chars=0):
    return corpus_named.load_corpus("generated", language=language, seed=seed, min_chars=min_chars, cache_dir=cache)


@pytest.mark.parametrize(("wanted", "size"), [(0, 20_000), (20_000, 20_000), (20_001, 40_000), (70_000, 80_000)])
def test_the_size_doubles_until_it_is_enough(wanted, size, tmp_path):
    corpus = generated(tmp_path, min_chars=wanted)
    assert size <= corpus.chars < size + 5_000
    assert f"at least {size} characters" in corpus.source


def test_the_hash_is_the_recipe_whatever_the_size(tmp_path):
    short, long = generated(tmp_path), generated(tmp_path, min_chars=30_000)
    assert short.sha256 == long.sha256 == recipe_sha256("en", 1)
    assert long.documents[: len(short.documents)] == short.documents
    assert generated(tmp_path, seed=2).sha256 != short.sha256
    assert generated(tmp_path, language="zh").sha256 != short.sha256


def test_the_second_load_reads_the_cache(tmp_path, monkeypatch):
    first = generated(tmp_path)
    monkeypatch.setattr(corpus_named, "generate_documents", lambda *_: pytest.fail("generated again"))
    assert generated(tmp_path) == first
