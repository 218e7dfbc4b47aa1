"""Documents by their words, made once: which have an answer's words, and which are most like a question."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray

from needlework.haystack_fixtures.documents.folder import OwnDocument
from needlework.scoring.answers.content_words import content_words, words_to_look_up

_Numbers = NDArray[np.int32]
_NONE: _Numbers = np.empty(0, np.int32)


@dataclass(frozen=True, slots=True)
class Likeness:
    """How like a question a document is: it has `shared` of the question's `words` content words."""

    number: int
    shared: int
    words: int


class DocumentIndex:
    """Documents are numbers here: their places in `documents`. `numbers`: by name."""

    def __init__(self, documents: Sequence[OwnDocument]) -> None:
        self.documents = tuple(documents)
        self.numbers = {each.name: number for number, each in enumerate(self.documents)}
        holders: dict[str, list[int]] = defaultdict(list)
        for number, each in enumerate(self.documents):
            for word in words_to_look_up(each.text):
                holders[word].append(number)
        self._holders = {word: np.array(numbers, np.int32) for word, numbers in holders.items()}

    def support(self, answers: Sequence[str], numbers: Collection[int]) -> float:
        """The share (0..1) of an answer's content words that stand in these documents together, of the best answer."""
        wanted = list(numbers)
        shares = [
            sum(bool(np.isin(wanted, self._holders.get(word, _NONE)).any()) for word in words) / len(words)
            for answer in answers
            if (words := content_words(answer))
        ]
        return max(shares, default=0.0)

    def having(self, answer: str) -> list[int]:
        """The documents that have all content words of an answer, so all that say it in the same words.

        One Chinese character may stand in a pair, and does not tell: all documents for an answer of such.
        """
        holders = [self._holders.get(word, _NONE) for word in content_words(answer) if len(word) > 1 or word.isascii()]
        if not holders:
            return list(range(len(self.documents)))
        having, *others = sorted(holders, key=len)
        for each in others:
            having = np.intersect1d(having, each, assume_unique=True)
        found: list[int] = having.tolist()
        return found

    def likeness(self, question: str) -> list[Likeness]:
        """The documents that share content words with a question, the likest first: rarer words count for more."""
        words = content_words(question)
        scores = np.zeros(len(self.documents))
        shared = np.zeros(len(self.documents), np.int32)
        for word in sorted(words):  # in one order, so that equal scores are equal in every process
            holders = self._holders.get(word, _NONE)
            if len(holders):
                scores[holders] += log(1 + len(self.documents) / len(holders))
                shared[holders] += 1
        order = np.argsort(-scores, kind="stable")[: np.count_nonzero(shared)]
        return [
            Likeness(number, count, len(words))
            for number, count in zip(order.tolist(), shared[order].tolist(), strict=True)
        ]
