"""The content words of long texts: those of `scoring.content_words`, looked up once for each word that occurs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from functools import lru_cache

from scoring.content_words import content_words

_TOKEN = re.compile(r"\w+(?:['’.,]\w+)*")
_REMEMBERED = 1 << 17


def words_of(text: str) -> set[str]:
    """The content words of a text, function words too: what is looked for in it has none."""
    found: set[str] = set()
    for token in set(_TOKEN.findall(text.casefold())):
        found |= _of_token(token)
    return found


def places_of(wanted: Set[str], text: str) -> Iterator[tuple[int, Set[str]]]:
    """Where the wanted content words stand in a text, in order: (start, those that the word there has)."""
    held = {token: found for token in set(_TOKEN.findall(text.casefold())) if (found := _of_token(token) & wanted)}
    if held:
        for match in _TOKEN.finditer(text):
            here = held.get(match[0].casefold())
            if here:
                yield match.start(), here


@lru_cache(_REMEMBERED)
def _of_token(token: str) -> frozenset[str]:
    return content_words(token)
