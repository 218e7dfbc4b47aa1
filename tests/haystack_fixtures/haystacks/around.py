"""What stands around the contexts of these tests."""

from __future__ import annotations

from pathlib import Path

from needlework.core.prompts import Message
from needlework.haystack_fixtures.corpora.files import Corpus, documents_sha256
from needlework.haystack_fixtures.haystacks.frame import Surroundings
from needlework.haystack_fixtures.haystacks.source import EncodedDocuments, HaystackSource, order_source
from needlework.models.tokenizers.tokenizer import Tokenizer


def around(tokenizer: Tokenizer, before: str, after: str, budget: int, reserved: int = 0) -> Surroundings:
    """One message of the user, as plain text."""

    def messages(context: str) -> tuple[Message, ...]:
        return (Message("user", f"{before}{context}{after}"),)

    return Surroundings(before, after, tokenizer.bos, messages, budget, tokenizer.encode, reserved)


def corpus_of(*texts: str) -> Corpus:
    return Corpus("test", "en", "none", "none", texts, documents_sha256(texts))


def open_source(
    corpus: Corpus, tokenizer: Tokenizer, *, seed: int, repeat: int, min_tokens: int, cache_dir: Path
) -> HaystackSource:
    documents = EncodedDocuments(corpus, tokenizer, cache_dir)
    return order_source(documents, seed=seed, repeat=repeat, min_tokens=min_tokens)
