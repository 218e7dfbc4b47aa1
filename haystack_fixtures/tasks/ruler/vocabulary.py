"""The words of RULER's tasks: keys, word lists and names, from our own data files."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from itertools import islice
from random import Random

from needlework.haystack_fixtures.draws import below, draws, pick, shuffled

_JOINTS = {"en": "-", "zh": ""}


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Words of one language. Adjectives, nouns and verbs have no word in common; the rest are parts of names.

    `joint` stands between the two words of a compound.
    """

    adjectives: tuple[str, ...]
    nouns: tuple[str, ...]
    verbs: tuple[str, ...]
    given: tuple[str, ...]
    surnames: tuple[str, ...]
    towns: tuple[str, ...]
    town_ends: tuple[str, ...]
    joint: str

    @property
    def words(self) -> tuple[str, ...]:
        """All single words."""
        return self.adjectives + self.nouns + self.verbs


@cache
def vocabulary(language: str) -> Vocabulary:
    """The words of `en` or `zh`."""
    file = resources.files("needlework.haystack_fixtures.tasks") / "data" / f"ruler.{language}.toml"
    tables = tomllib.loads(file.read_text(encoding="utf-8"))
    return Vocabulary(**{name: tuple(words.split()) for name, words in tables.items()}, joint=_JOINTS[language])


def compounds(rng: Random, words: Vocabulary, barred: Collection[str] = ()) -> Iterator[str]:
    """Adjectives with nouns (`amber-lantern`), each once; none with a `barred` word in it.

    There are 78,000 in Chinese, 1.7 million in English.
    """
    seen: set[tuple[int, int]] = set()
    while len(seen) < len(words.adjectives) * len(words.nouns):
        pair = below(rng, len(words.adjectives)), below(rng, len(words.nouns))
        if pair not in seen:
            seen.add(pair)
            word = f"{words.adjectives[pair[0]]}{words.joint}{words.nouns[pair[1]]}"
            if not any(other in word for other in barred):
                yield word


def word_stream(rng: Random, words: Vocabulary, apart: int) -> Iterator[str]:
    """Words in a drawn order, each once: the single ones, then compounds.

    None of the first `apart` is part of another word, or has one in it.
    """
    order = shuffled(rng, words.words)
    first = list(islice((word for word in order if word in _solitary(words)), apart))
    yield from first
    yield from (word for word in order if word not in first)
    yield from compounds(rng, words, first)


def first_words(parts: tuple[object, ...], language: str, apart: int, count: int) -> tuple[str, ...]:
    """The first words of a stream that is drawn for these `parts`."""
    return _first_words(parts, language, apart, enough(count))[:count]


def enough(count: int) -> int:
    """A number that is at most a quarter above `count`, and the same for many: lists of several sizes are tried for one
    prompt, and what is made for one of them serves the next."""
    step = 1 << max(0, count.bit_length() - 3)
    return -(-count // step) * step


@lru_cache(4)
def _first_words(parts: tuple[object, ...], language: str, apart: int, count: int) -> tuple[str, ...]:
    return tuple(islice(word_stream(draws(*parts), vocabulary(language), apart), count))


@cache
def _solitary(words: Vocabulary) -> frozenset[str]:
    """The single words that are no part of another and have none in them."""
    known, text = set(words.words), " ".join(words.words)
    return frozenset(
        word
        for word in words.words
        if text.count(word) == 1 and not any(word[i:j] in known for i, j in _pieces(len(word)))
    )


def _pieces(size: int) -> Iterator[tuple[int, int]]:
    """Where the shorter pieces of a word of that size begin and end."""
    return ((start, end) for start in range(size) for end in range(start + 1, size + 1) if end - start < size)


def person(rng: Random, language: str) -> str:
    """A whole name."""
    words = vocabulary(language)
    given, surname = pick(rng, words.given), pick(rng, words.surnames)
    return f"{given} {surname}" if language == "en" else f"{surname}{given}"


def town(rng: Random, language: str) -> str:
    """A town's name."""
    words = vocabulary(language)
    return f"{pick(rng, words.towns)}{pick(rng, words.town_ends)}"
