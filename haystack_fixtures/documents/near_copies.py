"""Words of documents, and documents that are like each other."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from itertools import count
from math import ceil
from typing import TYPE_CHECKING

import numpy as np
import regex
from numpy.typing import NDArray

if TYPE_CHECKING:
    from needlework.haystack_fixtures.documents.readers import OwnDocument

NEARLY = 0.9  # Jaccard similarity of the sets of shingles, from which two texts are twins
SHINGLE = 5  # words in a row; characters where words have no spaces between them
_ROUNDING = 1e-9
Shingles = NDArray[np.uint64]
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}"
_WORD = regex.compile(rf"[{_UNSPACED}]|[[\p{{L}}\p{{N}}\p{{M}}_]--[{_UNSPACED}]]+", regex.V1)
# Plain letters before a plain character come first: sets of properties take three times as long.
_RUN = regex.compile(rf"[a-z0-9]++(?=[\n -~])|[{_UNSPACED}]++|[\w--[_{_UNSPACED}]]++", regex.V1)
_IS_UNSPACED = regex.compile(f"[{_UNSPACED}]")


def word_runs(text: str) -> list[str]:
    """The words of a text in order, case and compatibility forms folded.

    Text without spaces between words (Chinese, Japanese) comes in runs, up to what is none of it.
    """
    return _RUN.findall(unicodedata.normalize("NFKC", text).casefold())


def unspaced_pairs(run: str) -> list[str]:
    """The pairs of neighbouring characters of a run without spaces between words; none for a word."""
    if run < "\u2e80" or not _IS_UNSPACED.match(run):  # no such script stands before that
        return []
    return [run[at : at + 2] for at in range(len(run) - 1)]


def twins(documents: Sequence[OwnDocument]) -> tuple[tuple[str, ...], ...]:
    """Return the groups of names whose texts are equal or nearly so, case, punctuation and spaces aside.

    A group holds whatever is joined by pairs of twins. Documents and groups keep their order. Only documents that share
    one of their rarest shingles are compared, and no twin is missed by that: of two sets with similarity s, sorted the
    same way, the first n - ceil(s n) + 1 of each have one in common (prefix filter, Chaudhuri et al. 2006).
    """
    sets = [_shingles_of(document.text) for document in documents]
    head = list(range(len(sets)))  # of each document, an earlier one of its group or itself

    def root(at: int) -> int:
        while head[at] != at:
            at = head[at]
        return at

    known, counts = np.unique(np.concatenate([np.empty(0, np.uint64), *sets]), return_counts=True)
    holders: dict[int, list[int]] = defaultdict(list)
    for at, shingles in enumerate(sets):
        rarest = np.lexsort((shingles, counts[known.searchsorted(shingles)]))
        first = shingles[rarest[: len(shingles) - ceil(NEARLY * len(shingles) - _ROUNDING) + 1]].tolist()
        for other in dict.fromkeys(other for shingle in first for other in holders[shingle]):
            one, two = sorted((root(other), root(at)))
            if one != two and _are_twins(sets[other], shingles):
                head[two] = one
        for shingle in first:
            holders[shingle].append(at)
    groups: dict[int, list[str]] = defaultdict(list)
    for at, document in enumerate(documents):
        groups[root(at)].append(document.name)
    return tuple(tuple(names) for names in groups.values() if len(names) > 1)


def _are_twins(one: Shingles, other: Shingles) -> bool:
    smaller, larger = sorted((len(one), len(other)))
    if smaller < NEARLY * larger - _ROUNDING:
        return False
    shared = len(np.intersect1d(one, other, assume_unique=True))
    return shared >= NEARLY * (smaller + larger - shared) - _ROUNDING


def _shingles_of(text: str) -> Shingles:
    """The hashes of a text's shingles, without case, punctuation and spaces: sorted, each once.

    They hold in this process alone. A text of fewer words is one shingle; one that has no words counts whole.
    """
    words = _WORD.findall(text.casefold()) or [text.casefold()]
    hashes = np.fromiter(map(hash, words), np.int64, len(words)).view(np.uint64)
    count = max(1, len(words) - SHINGLE + 1)
    mixed = np.zeros(count, np.uint64)
    for offset in range(min(SHINGLE, len(words))):
        mixed = (mixed + hashes[offset : offset + count]) * _MULTIPLIER
        mixed ^= mixed >> np.uint64(32)
    return np.unique(mixed)


class DocumentSimilarity:
    """Similarity of documents: the cosine of their words, each weighted by its rarity (log N/n).

    A word counts once, however often it comes; text without spaces counts by pairs of neighbouring characters.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        numbers: defaultdict[str, int] = defaultdict(count().__next__)
        numbered = [np.array([numbers[word] for word in _words(text)], np.int32) for text in texts]
        words = np.concatenate([np.zeros(0, np.int32), *numbered])
        documents = np.repeat(np.arange(len(numbered)), [len(each) for each in numbered])
        counts = np.bincount(words, minlength=len(numbers))
        self._weights = np.log(len(numbered) / counts) ** 2
        self._holders = documents[np.argsort(words, kind="stable")]  # of the first word, of the second, ...
        self._ends = np.cumsum(counts)
        # Each document's words in the order of their weights: equal weights add up to equal sums, whatever the words.
        words = words[np.lexsort((self._weights[words], documents))]
        self._words = np.split(words, np.cumsum([len(each) for each in numbered[:-1]]))
        self._sizes = np.sqrt(np.bincount(documents, self._weights[words], len(numbered)))

    def nearest(self, number: int) -> list[int]:
        """The other documents, those most like one first; of those that are equally so the first."""
        shared = np.zeros(len(self._sizes))
        for word in self._words[number].tolist():
            holders = self._holders[self._ends[word - 1] if word else 0 : self._ends[word]]
            shared[holders] += self._weights[word]
        likeness = np.divide(shared, self._sizes, out=shared, where=self._sizes > 0)
        return [other for other in np.argsort(-likeness, kind="stable").tolist() if other != number]


def _words(text: str) -> set[str]:
    return {word for run in word_runs(text) for word in unspaced_pairs(run) or [run]}
