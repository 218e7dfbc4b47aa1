"""Words that mean nothing: three syllables, six letters, never one in another."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from needlework.haystack_fixtures.draws import pick

_CONSONANTS = "bdfgklmnprstvz"
_VOWELS = "aeiou"


def nonsense(rng: Random) -> Iterator[str]:
    """Different words, as many as are taken (there are 343,000)."""
    taken: set[str] = set()
    while True:
        word = "".join(pick(rng, _CONSONANTS) + pick(rng, _VOWELS) for _ in range(3))
        if word not in taken:
            taken.add(word)
            yield word
