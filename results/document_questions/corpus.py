"""The documents by their content words: which hold an answer, and which are most like a question."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import log

from haystack_fixtures.documents.folder import OwnDocument
from scoring.content_words import content_words
from scoring.normalize import normalize, normalize_value
from scoring.values import find_whole

SHARED = 0.5  # of a question's content words: what another document has at least, to be taken for its answer


class Corpus:
    """Documents by name, in their order. A word is looked up, so that no question is held against all of them."""

    def __init__(self, documents: Sequence[OwnDocument]) -> None:
        self._texts = {each.name: each.text for each in documents}
        self._words = {each.name: content_words(each.text) for each in documents}
        self._holders: dict[str, set[str]] = {}
        for name, words in self._words.items():
            for word in words:
                self._holders.setdefault(word, set()).add(name)

    def support(self, answers: Sequence[str], names: Collection[str]) -> float:
        """The share (0..1) of an answer's content words that stand in these documents together, of the best answer."""
        there = frozenset[str]().union(*(self._words[name] for name in names))
        shares = [len(words & there) / len(words) for answer in answers if (words := content_words(answer))]
        return max(shares, default=0.0)

    def rivals(self, question: str, answers: Sequence[str], own: Collection[str]) -> list[str]:
        """Documents, but for the `own` ones, that could be taken for the question's: the most alike first.

        Such a document has one of the answers in the same words (case, quotes, digits' commas aside), and at least
        `SHARED` of the question's content words.
        """
        asked = content_words(question)
        found: dict[str, float] = {}
        for answer in answers:
            value = normalize_value(answer)
            for name in self._having(content_words(answer)):
                share = len(asked & self._words[name]) / len(asked) if asked else 0.0
                if name not in own and share >= SHARED and find_whole(normalize(self._texts[name]), value):
                    found[name] = share
        return sorted(found, key=lambda name: (-found[name], name))

    def nearest(self, question: str, own: Collection[str], count: int) -> list[str]:
        """The documents, but for the `own` ones, that share most with a question; a rare word counts for more."""
        scores: dict[str, float] = {}
        for word in sorted(content_words(question)):
            holders = self._holders.get(word, set())
            for name in holders:
                scores[name] = scores.get(name, 0.0) + log(1 + len(self._texts) / len(holders))
        others = (name for name in scores if name not in own)
        return sorted(others, key=lambda name: (-scores[name], name))[:count]

    def _having(self, words: Collection[str]) -> Collection[str]:
        """The documents that have all of these words; one character may stand in a pair of them, and does not tell."""
        holders = [self._holders.get(word, set()) for word in words if len(word) > 1 or word.isascii()]
        return set.intersection(*holders) if holders else self._texts.keys()
