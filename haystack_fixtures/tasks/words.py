"""Words and sentences of generated tasks: the tables in `data/`, and draws from them."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from random import Random
from typing import Any

from needlework.core.draws import pick, sample

_CONSONANTS = "bdfgklmnprstvz"
_VOWELS = "aeiou"


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
