"""Families: people, each a parent or grandparent of the one before, and statements that say so.

NeedleBench's chains (its multi-needle reasoning and its Ancestral Trace Challenge), with names and wording of our own.
Every link goes one or two generations back: a parent is one, a grandparent two.
"""

from __future__ import annotations

import random
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import pairwise

from needlework.haystack_fixtures.draws import below, pick, sample

Relations = tuple[tuple[str, ...], ...]
"""Words for the elder one by generations: those of one generation back, those of two."""


@dataclass(frozen=True, slots=True)
class Chain:
    """`people`: from the youngest to the eldest. `statements[i]` says what `people[i + 1]` is to `people[i]`, and
    `generations[i]` how far back that is. Nothing follows from them but this one line of descent."""

    people: tuple[str, ...]
    statements: tuple[str, ...]
    generations: tuple[int, ...]

    @property
    def youngest(self) -> str:
        """The one that all others are ancestors of."""
        return self.people[0]

    @property
    def eldest(self) -> str:
        """The one that has no ancestor in the statements."""
        return self.people[-1]


@dataclass(frozen=True, slots=True)
class _Tables:
    """`women`, `men`: first names, each of women before those of men; `words`: theirs, relations by generations."""

    first: tuple[str, ...]
    women: int
    families: tuple[str, ...]
    joiner: str
    mother: Relations
    father: Relations
    statements: tuple[str, ...]


def draw_chain(rng: random.Random, language: str, links: int) -> Chain:
    """A chain of so many statements (1 or more), no two people of the same name.

    As long as there are enough of them, no two share a first or a family name either: then every word of a name tells
    who is meant. Raises `ValueError` for more people than there are names.
    """
    tables = _tables(language)
    people = _people(rng, tables, links + 1)
    statements, generations = [], []
    for (younger, _), (elder, woman) in pairwise(people):
        back = below(rng, 2)
        relation = pick(rng, (tables.mother if woman else tables.father)[back])
        template = pick(rng, tables.statements)
        statements.append(template.format(elder=elder, younger=younger, relation=relation))
        generations.append(back + 1)
    return Chain(tuple(name for name, _ in people), tuple(statements), tuple(generations))


def _people(rng: random.Random, tables: _Tables, count: int) -> Sequence[tuple[str, bool]]:
    """Names, and whether it is a woman's."""
    first, families = len(tables.first), len(tables.families)
    if count <= min(first, families):
        drawn = list(zip(sample(rng, range(first), count), sample(rng, range(families), count), strict=True))
    else:
        drawn = [divmod(number, families) for number in sample(rng, range(first * families), count)]
    return [(_name(tables, given, family), given < tables.women) for given, family in drawn]


def _name(tables: _Tables, given: int, family: int) -> str:
    parts = (tables.first[given], tables.families[family])
    return tables.joiner.join(parts if tables.joiner else reversed(parts))


@cache
def _tables(language: str) -> _Tables:
    folder = resources.files("needlework.haystack_fixtures.tasks") / "data"
    table = tomllib.loads((folder / f"kinship.{language}.toml").read_text(encoding="utf-8"))
    return _Tables(
        first=(*table["women"], *table["men"]),
        women=len(table["women"]),
        families=tuple(table["families"]),
        joiner=table["joiner"],
        mother=tuple(map(tuple, table["mother"])),
        father=tuple(map(tuple, table["father"])),
        statements=tuple(table["statements"]),
    )
