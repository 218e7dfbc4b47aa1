"""Words and sentences of generated tasks: the tables in `data/`, and draws from them."""

import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from functools import cache, lru_cache
from importlib import resources
from itertools import chain, islice
from random import Random
from typing import Any

from needlework.core.draws import below, draws, pick, sample, shuffled

_CONSONANTS = "bdfgklmnprstvz"
_VOWELS = "aeiou"
_JOINTS = {"en": "-", "zh": ""}  # between the two words of a compound


@cache
def _file(name: str) -> Mapping[str, Any]:
    text = (resources.files("needlework.haystack_fixtures.tasks") / "data" / f"{name}.toml").read_text("utf-8")
    return tomllib.loads(text)


@cache
def table(name: str, language: str, *keys: str) -> Mapping[str, Any]:
    """The table of one language (`en`, `zh`) in `data/NAME.toml`, or the one that `keys` lead to in it."""
    content: Any = _file(name)[language]
    for key in keys:
        content = content[key]
    return dict(content)


def question_text(name: str, language: str, kind: str, /, **fields: Any) -> str:
    """The question of one kind in `data/NAME.toml`, filled in."""
    return str(table(name, language, "questions")[kind]).format(**fields)


@cache
def words(name: str, language: str, kind: str) -> tuple[str, ...]:
    """The words of one kind in `data/NAME.toml`, which blanks part."""
    return tuple(table(name, language)[kind].split())


@cache
def phrases(name: str, language: str, kind: str) -> tuple[str, ...]:
    """The phrases of one kind in `data/NAME.toml`, which semicolons or line ends part."""
    return tuple(phrase.strip() for phrase in re.split("[;\n]", table(name, language)[kind].strip()))


@cache
def people(language: str) -> tuple[str, ...]:
    """All names of people; none is part of another."""
    parts = table("people", language)
    if "names" in parts:
        return words("people", language, "names")
    return tuple(surname + names for surname in parts["surnames"].split() for names in parts["given"].split())


def draw_people(rng: Random, language: str, count: int) -> list[str]:
    """Different names."""
    return sample(rng, people(language), count)


def nonsense(rng: Random) -> Iterator[str]:
    """Different words of no language, as many as are taken (there are 343,000)."""
    taken: set[str] = set()
    while True:
        word = "".join(pick(rng, _CONSONANTS) + pick(rng, _VOWELS) for _ in range(3))
        if word not in taken:
            taken.add(word)
            yield word


@cache
def single_words(language: str) -> tuple[str, ...]:
    """Adjectives, nouns and verbs; none comes twice."""
    return tuple(word for kind in ("adjectives", "nouns", "verbs") for word in words("ruler", language, kind))


def compounds(rng: Random, language: str, barred: Collection[str] = ()) -> Iterator[str]:
    """Adjectives with nouns (`amber-lantern`), each once; none with a `barred` word in it.

    There are 78,000 in Chinese, 1.7 million in English.
    """
    adjectives, nouns = (words("ruler", language, kind) for kind in ("adjectives", "nouns"))
    seen: set[tuple[int, int]] = set()
    while len(seen) < len(adjectives) * len(nouns):
        pair = below(rng, len(adjectives)), below(rng, len(nouns))
        if pair not in seen:
            seen.add(pair)
            word = f"{adjectives[pair[0]]}{_JOINTS[language]}{nouns[pair[1]]}"
            if not any(other in word for other in barred):
                yield word


def first_words(parts: tuple[object, ...], language: str, apart: int, count: int) -> tuple[str, ...]:
    """The first words of a stream drawn for these `parts`: single ones, then compounds, each once.

    None of the first `apart` is part of another word, or has one in it.
    """
    return _first_words(parts, language, apart, rounded_up(count))[:count]


def rounded_up(count: int) -> int:
    """Round `count` up by at most a quarter: many counts share a result.
    Lists of several sizes are tried for one prompt, and what is made for one of them serves the next."""
    step = 1 << max(0, count.bit_length() - 3)
    return -(-count // step) * step


@lru_cache(4)
def _first_words(parts: tuple[object, ...], language: str, apart: int, count: int) -> tuple[str, ...]:
    rng = draws(*parts)
    order = shuffled(rng, single_words(language))
    first = list(islice((word for word in order if word in _solitary(language)), apart))
    rest = (word for word in order if word not in first)
    return tuple(islice(chain(first, rest, compounds(rng, language, first)), count))


@cache
def _solitary(language: str) -> frozenset[str]:
    """The single words that are no part of another and have none in them."""
    known = set(single_words(language))
    text = " ".join(single_words(language))
    return frozenset(word for word in known if text.count(word) == 1 and not known & _shorter_pieces(word))


def _shorter_pieces(word: str) -> set[str]:
    size = len(word)
    return {word[start:end] for start in range(size) for end in range(start + 1, size + 1)} - {word}


def draw_person(rng: Random, language: str) -> str:
    """A whole name."""
    first_name, surname = (pick(rng, words("ruler", language, kind)) for kind in ("given", "surnames"))
    return f"{first_name} {surname}" if language == "en" else f"{surname}{first_name}"


def draw_town(rng: Random, language: str) -> str:
    """A town's name."""
    return "".join(pick(rng, words("ruler", language, kind)) for kind in ("towns", "town_ends"))
