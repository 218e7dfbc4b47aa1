"""Words of documents, and documents that are like each other."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from itertools import chain, count
from typing import TYPE_CHECKING, Any

import numpy as np
import regex
from numpy.typing import NDArray

if TYPE_CHECKING:
    from needlework.haystack_fixtures.documents.readers import OwnDocument

NEARLY = 0.9  # Jaccard similarity of the sets of shingles, from which two texts are twins
SHINGLE = 5  # words in a row; characters where words have no spaces between them
_ROUNDING, _DIGITS = 1e-9, 9  # of sums of weights
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

    A group holds whatever is joined by pairs of twins. Documents and groups keep their order.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    sets = [_shingles_of(document.text) for document in documents]
    sizes = np.array([len(each) for each in sets])
    _, shingles = np.unique(np.concatenate([np.empty(0, np.uint64), *sets]), return_inverse=True)
    holds = _table(shingles, sizes, np.ones(len(shingles), np.int32))
    holders = holds.T.tocsr()
    pairs: list[tuple[int, int]] = []
    for one in range(len(sets)):  # a row at a time: all documents may share a head
        shared = (holds[[one]] @ holders).toarray().ravel()
        twin = shared >= NEARLY * (sizes[one] + sizes - shared) - _ROUNDING
        pairs += [(one, other) for other in np.flatnonzero(twin).tolist()]
    graph = coo_array((np.ones(len(pairs)), np.array(pairs).T), (len(sets), len(sets)))
    groups: dict[int, list[str]] = defaultdict(list)
    for document, group in zip(documents, connected_components(graph)[1].tolist(), strict=True):
        groups[group].append(document.name)
    return tuple(tuple(names) for names in groups.values() if len(names) > 1)


def _table(numbers: NDArray[np.int64], sizes: NDArray[np.int64], values: NDArray[Any]) -> Any:
    """A sparse matrix with a row for each document: `values` at its `sizes` numbers."""
    from scipy.sparse import csr_array

    bounds = np.concatenate(([0], np.cumsum(sizes)))
    return csr_array((values, numbers, bounds), (len(sizes), numbers.max(initial=0) + 1))


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
        known: defaultdict[str, int] = defaultdict(count().__next__)
        numbered = [[known[word] for word in sorted(_words(text))] for text in texts]
        words = np.fromiter(chain.from_iterable(numbered), np.int64)
        weights = np.log(len(texts) / np.bincount(words))[words]
        rows = _table(words, np.array(list(map(len, numbered))), weights)
        sizes = np.sqrt((rows * rows).sum(axis=1))
        self._unit = rows / np.where(sizes > 0, sizes, 1)[:, None]

    def nearest(self, number: int) -> list[int]:
        """The other documents, those most like one first; of those that are equally so the first."""
        likeness = (self._unit @ self._unit[[number]].T).toarray().ravel().round(_DIGITS)
        return [other for other in np.argsort(-likeness, kind="stable").tolist() if other != number]


def _words(text: str) -> set[str]:
    return {word for run in word_runs(text) for word in unspaced_pairs(run) or [run]}
