"""Documents that are the same, or nearly: with two of them in a context, a position is two positions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from math import ceil

import numpy as np

from needlework.haystack_fixtures.documents.folder import OwnDocument
from needlework.haystack_fixtures.documents.shingles import Shingles, shingles_of

NEARLY = 0.9  # Jaccard similarity of the sets of shingles, from which two texts are twins
_ROUNDING = 1e-9


def twins(documents: Sequence[OwnDocument]) -> tuple[tuple[str, ...], ...]:
    """Return the groups of names whose texts are equal or nearly so, case, punctuation and spaces aside.

    A group holds whatever is joined by pairs of twins. Documents and groups keep their order. Only documents that share
    one of their rarest shingles are compared, and no twin is missed by that: of two sets with similarity s, sorted the
    same way, the first n - ceil(s n) + 1 of each have one in common (prefix filter, Chaudhuri et al. 2006).
    """
    sets = [shingles_of(each.text) for each in documents]
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


def _candidates(sets: Sequence[Shingles], members: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Pairs of documents that share a shingle among their rarest, and are near enough in size."""
    if len(members) < 2:
        return
    known, counts = np.unique(np.concatenate([sets[at] for at in members]), return_counts=True)
    known, counts = known[counts > 1], counts[counts > 1]
    if not len(known):
        return
    holders: dict[int, list[int]] = defaultdict(list)
    for at in members:
        shingles, size = sets[at], len(sets[at])
        places = np.searchsorted(known, shingles)
        shared = known.take(places, mode="clip") == shingles
        alone = size - np.count_nonzero(shared)  # the rarest of all: no other document has them
        most = size - ceil(NEARLY * size - _ROUNDING) + 1 - alone
        if most < 1:
            continue
        places = places[shared]
        rare = known[places[np.lexsort((places, counts[places]))[:most]]].tolist()
        others = dict.fromkeys(other for shingle in rare for other in holders[shingle])
        yield from (
            (other, at) for other in others if NEARLY * max(size, len(sets[other])) <= min(size, len(sets[other]))
        )
        for shingle in rare:
            holders[shingle].append(at)


def _similar(one: Shingles, other: Shingles) -> bool:
    shared = len(np.intersect1d(one, other, assume_unique=True))
    return shared >= NEARLY * (len(one) + len(other) - shared) - _ROUNDING
