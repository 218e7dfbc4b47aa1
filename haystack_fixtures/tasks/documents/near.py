"""The document that is most like another: a near miss for who looks for that one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from math import fsum, log, sqrt

import regex

_WORD = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}]+|[\p{L}\p{M}\p{N}]+")
_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}]")


class Likeness:
    """How alike documents are: the cosine of their words, each weighted by how few documents have it (log N/n).

    A word counts once, however often it comes; text without spaces counts by pairs of neighbouring characters.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._words = [_words(text) for text in texts]
        counts = Counter(word for words in self._words for word in words)
        self._weights = {word: log(len(texts) / count) ** 2 for word, count in counts.items()}
        self._sizes = [sqrt(fsum(self._weights[word] for word in words)) for words in self._words]

    def nearest(self, number: int, left_out: Collection[int]) -> int | None:
        """The document most like one, itself and others left out; the first of those that are equally so."""
        left = {number, *left_out}
        others = [other for other in range(len(self._words)) if other not in left]
        return max(others, key=lambda other: self._likeness(number, other), default=None)

    def _likeness(self, one: int, other: int) -> float:
        size = self._sizes[one] * self._sizes[other]
        return fsum(self._weights[word] for word in self._words[one] & self._words[other]) / size if size else 0.0


def _words(text: str) -> frozenset[str]:
    found: set[str] = set()
    for match in _WORD.finditer(text.casefold()):
        word = match[0]
        if _UNSPACED.match(word) and len(word) > 1:
            found.update(word[at : at + 2] for at in range(len(word) - 1))
        else:
            found.add(word)
    return frozenset(found)
