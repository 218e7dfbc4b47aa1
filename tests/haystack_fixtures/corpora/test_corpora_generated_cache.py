"""Generated corpora: how long they are, and the cache behind them."""

from __future__ import annotations

from pathlib import Path

import pytest

from needlework.haystack_fixtures.corpora import corpus_named
from needlework.haystack_fixtures.corpora.files import Corpus
from needlework.haystack_fixtures.corpora.generated import recipe_sha256


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty thousand characters are enough to see how sizes and the cache work."""
    monkeypatch.setattr(corpus_named, "GENERATED_CHARS", {"en": 20_000, "zh": 20_000})


def generated(cache: Path, language: str = "en", seed: int = 1, min_chars: int = 0) -> Corpus:
    return corpus_named.load_corpus("generated", language=language, seed=seed, min_chars=min_chars, cache_dir=cache)


@pytest.mark.parametrize(("wanted", "size"), [(0, 20_000), (20_000, 20_000), (20_001, 40_000), (70_000, 80_000)])
def test_the_size_doubles_until_it_is_enough(wanted: int, size: int, tmp_path: Path) -> None:
    corpus = generated(tmp_path, min_chars=wanted)
    assert size <= corpus.chars < size + 5_000
    assert f"at least {size} characters" in corpus.source


def test_the_hash_is_the_recipe_whatever_the_size(tmp_path: Path) -> None:
    short, long = generated(tmp_path), generated(tmp_path, min_chars=30_000)
    assert short.sha256 == long.sha256 == recipe_sha256("en", 1)
    assert long.documents[: len(short.documents)] == short.documents
    assert generated(tmp_path, seed=2).sha256 != short.sha256
    assert generated(tmp_path, language="zh").sha256 != short.sha256


def test_the_second_load_reads_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = generated(tmp_path)
    monkeypatch.setattr(corpus_named, "generate_documents", lambda *_: pytest.fail("generated again"))
    assert generated(tmp_path) == first
