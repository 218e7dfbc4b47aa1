"""A needle must be the only place that gives its answer."""

from __future__ import annotations

from collections.abc import Sequence

import regex

from haystack_fixtures.errors import InputError

_WORDS = regex.compile(
    r"[\p{L}\p{M}\p{N}--[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]]", regex.V1
)


def check_unique(text: str, filler: str, needles: Sequence[tuple[str, str]], terms: Sequence[str]) -> None:
    """Raise `InputError` unless every needle stands in the prompt's text once and no term stands in the filler."""
    for name, needle in needles:
        if needle.strip() in filler:
            raise InputError("needle", name, "the haystack has this text already: use another corpus or needle")
        if text.count(needle) != 1:
            raise InputError("needle", name, "its text stands in the prompt more than once: give every needle its own")
    if not terms:
        return
    lowered = filler.lower()
    for term in terms:
        if occurs(term.lower(), lowered):
            raise InputError(
                "needle", term, "the haystack has this key or answer already: use another corpus or needle"
            )


def occurs(term: str, text: str) -> bool:
    """Whether a term stands in text by itself, not inside a longer word or number."""
    term = term.strip()
    start = text.find(term) if term else -1
    while start >= 0:
        end = start + len(term)
        if not _inside_word(text, start) and not _inside_word(text, end):
            return True
        start = text.find(term, start + 1)
    return False


def _inside_word(text: str, offset: int) -> bool:
    """Whether a word or number goes on over an offset."""
    if not 0 < offset < len(text):
        return False
    left, right = text[offset - 1], text[offset]
    return _WORDS.match(left) is not None and _WORDS.match(right) is not None
