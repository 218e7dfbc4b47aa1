"""Names of people in statements."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from random import Random

from needlework.haystack_fixtures.draws import sample


def draw_people(rng: Random, language: str, count: int) -> list[str]:
    """Different names, none part of another."""
    return sample(rng, _names(language), count)


@cache
def _names(language: str) -> tuple[str, ...]:
    file = resources.files("needlework.haystack_fixtures.tasks") / "data" / "people.toml"
    table = tomllib.loads(file.read_text(encoding="utf-8"))[language]
    if "names" in table:
        return tuple(table["names"].split())
    return tuple(surname + given for surname in table["surnames"].split() for given in table["given"].split())


def people(language: str) -> tuple[str, ...]:
    """All names."""
    return _names(language)
