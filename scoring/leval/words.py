"""Words of texts with Chinese in them. L-Eval is English; Chinese is our extension."""

from __future__ import annotations

import logging
from functools import cache
from typing import Any, Protocol

import regex

_HAN = regex.compile(r"\p{Han}")
_RUN = regex.compile(r"\p{Han}+")
_PUNCTUATION = regex.compile(r"[\p{P}\p{S}]+")
REMEDY = "pip install 'needlework[leval]'"


class MissingPackageError(ImportError):
    """A package of the extra `leval` is not installed; its text is one line with the remedy."""


class Tokenizer(Protocol):
    """What rouge-score asks of a tokenizer."""

    def tokenize(self, text: str) -> list[str]:
        """Return the words of a text."""


def has_chinese(*texts: str) -> bool:
    """Whether a Chinese character stands in one of the texts."""
    return any(_HAN.search(text) for text in texts)


def spaced(text: str) -> str:
    """Chinese as words between spaces (jieba), punctuation of every script as spaces, the rest as it is."""
    words = _segmenter()
    return _PUNCTUATION.sub(" ", _RUN.sub(lambda match: f" {' '.join(words.lcut(match[0]))} ", text))


class SpacedWords:
    """Splits where `spaced` does, in small letters, for rouge-score."""

    def tokenize(self, text: str) -> list[str]:
        """Return the words of a text."""
        return spaced(text).lower().split()


@cache
def _segmenter() -> Any:
    try:
        import jieba
    except ImportError:
        raise MissingPackageError(f"Chinese text needs jieba: {REMEDY}") from None
    jieba.setLogLevel(logging.WARNING)
    return jieba.Tokenizer()
