"""Tokenizers for the tests in this folder."""

from tests.toy_tokenizers import tokenizer, tokenizers

__all__ = ["tokenizer", "tokenizers"]
