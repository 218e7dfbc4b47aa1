"""The generator's words and sentence patterns, read from the TOML files under `data/` and checked."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from needlework.haystack_fixtures.corpora.grammar import Template, parse, slot_names

GENDERS = ("female", "male")
FILES = ("cast.toml", "shared.toml", "stories.toml", "words.toml")
PERSON_WORDS = ("he", "him", "his", "himself", "adult")
# Set for every sentence by the story itself; `when` follows the time of day or of the week.
_STORY_WORDS = frozenset({"who", "when", "month", "hero", "friend", "neighbour", *PERSON_WORDS})
# Every plot's setup gives these, so that the shared patterns can speak of them.
_PLOT_WORDS = frozenset({"thing", "task", "goal"})


@dataclass(frozen=True, slots=True)
class Pattern:
    """One sentence pattern (sometimes a few sentences that belong together)."""

    template: Template
    dated: bool  # says when, so that the time line has to move with it


Setup = tuple[tuple[str, Template], ...]


@dataclass(frozen=True, slots=True)
class Plot:
    """A kind of story: what it is about, and its turns in order. Without `months` it fits any time of the year."""

    name: str
    setup: Setup
    opening: tuple[Pattern, ...]
    beats: tuple[tuple[Pattern, ...], ...]
    closing: tuple[Pattern, ...]
    months: tuple[str, ...]
    roles: Mapping[str, tuple[Pattern, ...]]  # used in this plot instead of the shared roles of the same name


@dataclass(frozen=True, slots=True)
class Kit:
    """Everything a language's stories are made of."""

    tables: Mapping[str, tuple[Template, ...]]
    roles: Mapping[str, tuple[Pattern, ...]]
    plots: tuple[Plot, ...]
    setup: Setup
    people: Mapping[str, Mapping[str, Template]]
    weather: Mapping[str, tuple[str, ...]]
    joiner: str  # stands between sentences: a space, or nothing


def tables_sha256(language: str) -> str:
    """Hash of the language's data files; line ends do not count, so that a Windows checkout hashes the same."""
    digest = hashlib.sha256()
    for name in FILES:
        digest.update(name.encode())
        digest.update(_read(language, name).replace("\r\n", "\n").encode())
    return digest.hexdigest()


@cache
def load_kit(language: str) -> Kit:
    """Read, parse and check the tables of one language; an unknown name in a pattern raises ValueError."""
    cast, shared, stories, words = (tomllib.loads(_read(language, name)) for name in FILES)
    tables: dict[str, tuple[Template, ...]] = {}
    for source in (words, shared, *stories.values()):
        for name, text in source.get("words", {}).items():
            if name in tables:
                raise ValueError(f"word table {name!r} is defined twice")
            tables[name] = tuple(parse(entry) for entry in _entries(text))
    kit = Kit(
        tables=tables,
        roles={name: _patterns(text) for name, text in shared.items() if name != "words"},
        plots=tuple(_plot(name, data) for name, data in sorted(stories.items())),
        setup=_setup(cast["setup"]),
        people={gender: {name: parse(text) for name, text in cast[gender].items()} for gender in GENDERS},
        joiner=cast["joiner"],
        weather={month: tuple(kinds) for month, kinds in cast["weather"].items()},
    )
    _check(kit)
    return kit


def count_patterns(language: str) -> int:
    """Sentence patterns of a language, those of the plots included."""
    kit = load_kit(language)
    return sum(map(len, kit.roles.values())) + sum(len(list(_plot_patterns(plot))) for plot in kit.plots)


def _read(language: str, name: str) -> str:
    return (files("needlework.haystack_fixtures.corpora") / "data" / language / name).read_text("utf-8")


def _entries(text: str) -> list[str]:
    return [entry.strip() for line in text.splitlines() for entry in line.split(";") if entry.strip()]


def _patterns(text: str) -> tuple[Pattern, ...]:
    templates = (parse(line.strip()) for line in text.splitlines() if line.strip())
    return tuple(Pattern(template, "when" in slot_names(template)) for template in templates)


def _setup(data: Mapping[str, str]) -> Setup:
    return tuple((name, parse(text)) for name, text in data.items())


def _plot(name: str, data: Mapping[str, Any]) -> Plot:
    return Plot(
        name=name,
        setup=_setup(data["setup"]),
        opening=_patterns(data["opening"]),
        beats=tuple(map(_patterns, data["beats"])),
        closing=_patterns(data["closing"]),
        months=tuple(data.get("months", ())),
        roles={role: _patterns(text) for role, text in data.get("roles", {}).items()},
    )


def _plot_patterns(plot: Plot) -> Iterator[Pattern]:
    yield from plot.opening
    for beat in plot.beats:
        yield from beat
    yield from plot.closing
    for role in plot.roles.values():
        yield from role


def _check(kit: Kit) -> None:
    persons = {prefix + word for prefix in "fn" for word in PERSON_WORDS}
    known = _STORY_WORDS | _PLOT_WORDS | persons | set(kit.tables) | {name for name, _ in kit.setup}
    _check_names("word tables", known, [entry for table in kit.tables.values() for entry in table])
    _check_names("shared patterns", known, [p.template for role in kit.roles.values() for p in role])
    for plot in kit.plots:
        own = {name for name, _ in plot.setup}
        if not own >= _PLOT_WORDS:
            raise ValueError(f"setup of {plot.name} lacks {sorted(_PLOT_WORDS - own)}")
        _check_names(f"plot {plot.name}", known | own, [pattern.template for pattern in _plot_patterns(plot)])
        _check_names(f"setup of {plot.name}", known | own, [template for _, template in plot.setup])


def _check_names(where: str, known: frozenset[str], templates: list[Template]) -> None:
    unknown = set[str]().union(*map(slot_names, templates)) - known
    if unknown:
        raise ValueError(f"{where}: unknown names {sorted(unknown)}")
