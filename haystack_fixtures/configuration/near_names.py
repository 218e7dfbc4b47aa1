"""The name that was probably meant: ours, or one of a published system's."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher, get_close_matches

# What is this much like a name of ours is one of them, whatever others call theirs.
_OURS = 0.75


def nearest(word: str, ours: Iterable[str], theirs: Iterable[str] = ()) -> str:
    """The nearest of the names, empty where none is near."""
    ours = list(ours)
    found = get_close_matches(word, ours, n=1, cutoff=_OURS) or get_close_matches(word, [*ours, *theirs], n=1)
    return found[0] if found and _begins_alike(word, found[0]) else ""


def _begins_alike(word: str, name: str) -> bool:
    """Whether the name has more of the word than some letters here and there."""
    longest = SequenceMatcher(None, word, name, autojunk=False).find_longest_match().size
    return 2 * longest >= min(len(word), len(name))
