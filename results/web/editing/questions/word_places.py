"""Where content words stand in a long text: each word that occurs is looked at once."""

from __future__ import annotations

from collections.abc import Iterator, Set
from functools import lru_cache

import regex

from needlework.scoring.answers.content_words import content_words

_TOKEN = regex.compile(r"\w++(?:['’.,]\w++)*+")
_REMEMBERED = 1 << 17


def word_places(wanted: Set[str], text: str) -> Iterator[tuple[int, Set[str]]]:
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
