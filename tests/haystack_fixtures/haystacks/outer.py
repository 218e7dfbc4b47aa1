"""Prompts of these tests, but for their contexts."""

from needlework.core.prompts import Message
from needlework.haystack_fixtures.corpora.corpus import Corpus
from needlework.haystack_fixtures.haystacks.frame import OuterText
from needlework.haystack_fixtures.haystacks.source import EncodedDocuments, order_source


def outer(tokenizer, before, after, budget, reserved=0):
    """One message of the user, as plain text."""

    def messages(context):
        return (Message("user", f"{before}{context}{after}"),)

    return OuterText(before, after, tokenizer.bos, messages, budget, tokenizer.encode, reserved)


def corpus_of(*texts):
    return Corpus("test", "en", "none", "none", texts)


def open_source(corpus, tokenizer, *, seed, repeat, min_tokens, cache_dir):
    documents = EncodedDocuments(corpus, tokenizer, cache_dir)
    return order_source(documents, seed=seed, repeat=repeat, min_tokens=min_tokens)
