"""Documents that are the same, or nearly: with two of them in a context, a position is two positions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import count
from math import ceil

import numpy as np
import regex
from numpy.typing import NDArray

from haystack_fixtures.documents.folder import OwnDocument

NEARLY = 0.9  # Jaccard similarity of the sets of shingles, from which two texts are twins
SHINGLE = 5  # words in a row; characters where words have no spaces between them
_WORD = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}]|[\p{L}\p{N}\p{M}_]+")
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_ROUNDING = 1e-9
Shingles = NDArray[np.uint64]


def twins(documents: Sequence[OwnDocument]) -> tuple[tuple[str, ...], ...]:
    """Return the groups of names whose texts are equal or nearly so, case, punctuation and spaces aside.

    A group holds whatever is joined by pairs of twins. Documents and groups keep their order. Only documents that share
    one of their rarest shingles are compared, and no twin is missed by that: of two sets with similarity s, sorted the
    same way, the first n - ceil(s n) + 1 of each have one in common (prefix filter, Chaudhuri et al. 2006).
    """
    sets = _shingle_sets([each.text for each in documents])
    head = list(range(len(sets)))  # of each document, an earlier one of its group or itself

    def root(at: int) -> int:
        while head[at] != at:
            head[at] = head[head[at]]
            at = head[at]
        return at

    same: dict[bytes, int] = {}
    for at, shingles in enumerate(sets):
        head[at] = same.setdefault(shingles.tobytes(), at)
    for one, other in _candidates(sets, list(same.values())):
        first, second = sorted((root(one), root(other)))
        if first != second and _similar(sets[one], sets[other]):
            head[second] = first
    groups: dict[int, list[str]] = defaultdict(list)
    for at, each in enumerate(documents):
        groups[root(at)].append(each.name)
    return tuple(tuple(names) for names in groups.values() if len(names) > 1)


def _shingle_sets(texts: Sequence[str]) -> list[Shingles]:
    """The hashes of each text's shingles, sorted, each once. A text of fewer words is one shingle."""
    numbers: defaultdict[str, int] = defaultdict(count(1).__next__)
    sets = []
    for text in texts:
        words = _WORD.findall(text.casefold()) or [text]
        ids = np.fromiter(map(numbers.__getitem__, words), np.uint64, len(words))
        many = max(1, len(ids) - SHINGLE + 1)
        mixed = np.zeros(many, np.uint64)
        for offset in range(min(SHINGLE, len(ids))):
            mixed = _stirred((mixed + ids[offset : offset + many]) * _MULTIPLIER)
        sets.append(np.unique(mixed))
    return sets


def _stirred(values: Shingles) -> Shingles:
    return values ^ (values >> np.uint64(32))


def _candidates(sets: Sequence[Shingles], members: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Pairs of documents that share a shingle among their rarest, and are near enough in size."""
    if len(members) < 2:
        return
    known, counts = np.unique(np.concatenate([sets[at] for at in members]), return_counts=True)
    holders: dict[int, list[int]] = defaultdict(list)
    for at in members:
        shingles, size = sets[at], len(sets[at])
        shared_by = counts[np.searchsorted(known, shingles)]
        prefix = np.lexsort((shingles, shared_by))[: size - ceil(NEARLY * size - _ROUNDING) + 1]
        rare = shingles[prefix][shared_by[prefix] > 1].tolist()
        others = dict.fromkeys(other for shingle in rare for other in holders[shingle])
        yield from (
            (other, at) for other in others if NEARLY * max(size, len(sets[other])) <= min(size, len(sets[other]))
        )
        for shingle in rare:
            holders[shingle].append(at)


def _similar(one: Shingles, other: Shingles) -> bool:
    shared = len(np.intersect1d(one, other, assume_unique=True))
    return shared >= NEARLY * (len(one) + len(other) - shared) - _ROUNDING
