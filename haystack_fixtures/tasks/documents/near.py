"""The document that is most like another: a near miss for who looks for that one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import count

import numpy as np

from needlework.haystack_fixtures.documents.words import is_unspaced, pairs_of, word_runs


class Likeness:
    """How alike documents are: the cosine of their words, each weighted by how few documents have it (log N/n).

    A word counts once, however often it comes; text without spaces counts by pairs of neighbouring characters.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        numbers: defaultdict[str, int] = defaultdict(count().__next__)
        found = [np.array([numbers[word] for word in _words(text)], np.int32) for text in texts]
        words = np.concatenate([np.zeros(0, np.int32), *found])
        documents = np.repeat(np.arange(len(found)), [len(each) for each in found])
        counts = np.bincount(words, minlength=len(numbers))
        self._weights = np.log(len(found) / counts) ** 2
        self._holders = documents[np.argsort(words, kind="stable")]  # of the first word, of the second, ...
        self._ends = np.cumsum(counts)
        # Each document's words in the order of their weights: equal weights add up to equal sums, whatever the words.
        words = words[np.lexsort((self._weights[words], documents))]
        self._words = np.split(words, np.cumsum([len(each) for each in found[:-1]]))
        self._sizes = np.sqrt(np.bincount(documents, self._weights[words], len(found)))

    def nearest(self, number: int) -> list[int]:
        """The other documents, those most like one first; of those that are equally so the first."""
        shared = np.zeros(len(self._sizes))
        for word in self._words[number].tolist():
            holders = self._holders[self._ends[word - 1] if word else 0 : self._ends[word]]
            shared[holders] += self._weights[word]
        likeness = np.divide(shared, self._sizes, out=shared, where=self._sizes > 0)
        return [other for other in np.argsort(-likeness, kind="stable").tolist() if other != number]


def _words(text: str) -> set[str]:
    found = set(word_runs(text))
    for run in [run for run in found if len(run) > 1 and is_unspaced(run)]:
        found.remove(run)
        found.update(pairs_of(run))
    return found
