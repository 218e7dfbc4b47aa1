"""Tokenizers, each of which is a parameter: `tokenizer`; by name: `tokenizers`."""

from tests.toy_tokenizers import tokenizer, tokenizers

__all__ = ["tokenizer", "tokenizers"]
