"""Our own filler text: everyday prose that no model has seen, without end and without a repeated sentence.

The text follows from `VERSION`, the tables under `data/`, the language and the seed, on every machine and Python
version: only `random.Random(int).random()` is drawn from.
"""

from __future__ import annotations

import hashlib

from needlework.haystack_fixtures.corpora.story import write_story
from needlework.haystack_fixtures.corpora.tables import load_kit, tables_sha256
from needlework.haystack_fixtures.draws import draws
from needlework.haystack_fixtures.errors import InputError

VERSION = 1  # raise it when code changes the text; the tables' hash notices changed tables by itself
LANGUAGES = ("en", "zh")


def generate_documents(language: str, seed: int, min_chars: int) -> tuple[str, ...]:
    """Short stories with at least `min_chars` characters in all (one story at least).

    Asking for more characters only appends stories. No sentence occurs twice, in the whole tuple: "sentence" is the
    text between two of `. ! ? 。 ！ ？` or line ends, so that short lines of dialogue count as well.
    """
    if language not in LANGUAGES:
        raise InputError("generated corpus, language", language, f"choose one of {', '.join(LANGUAGES)}")
    kit = load_kit(language)
    rng = draws(f"needlework generated {VERSION} {language} {seed}")
    seen: set[bytes] = set()
    documents: list[str] = []
    chars = 0
    while chars < min_chars or not documents:
        story = write_story(kit, rng, seen)
        documents.append(story)
        chars += len(story)
    return tuple(documents)


def recipe_sha256(language: str, seed: int) -> str:
    """Identity of the endless text that a language and a seed stand for: version, tables, language, seed."""
    recipe = f"needlework generated {VERSION} {tables_sha256(language)} {language} {seed}"
    return hashlib.sha256(recipe.encode()).hexdigest()
