"""Sentence templates and tables of words that generated text is made of."""

from __future__ import annotations

import hashlib
import random
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

# `{name}` stands for a value of the document or, failing that, a random entry of the word table
# `name`; `{^name}` is the same with a capital; `{a}` is "a" or "an", whichever suits the next word;
# `[x|y|]` chooses one of its parts (the last one here is empty); `¶` starts a new paragraph. Entries
# of word tables may use the notation themselves.
Item = TypeVar("Item")

_ARTICLE = "\x01"  # stands where "a" or "an" will be; the next word decides
_PIECE = re.compile(r"\{\^?\w+\}|[\[\]|]|[^{}\[\]|]+")
_ARTICLE_AND_NEXT = re.compile(_ARTICLE + r" (\w+)")
_SENTENCE_START = re.compile(r"^(\W*)([a-z])")
# "a uniform", "a one-way street": written with a vowel, spoken with a consonant. And the other way round.
_SPOKEN_CONSONANT = ("uni", "use", "usu", "one", "once", "eu", "uku")
_SPOKEN_VOWEL = ("hour", "honest", "heir", "honour")
_REDRAWS = 4


@dataclass(frozen=True, slots=True)
class Slot:
    """A named place in a pattern."""

    name: str
    capital: bool


@dataclass(frozen=True, slots=True)
class Alternatives:
    """Alternatives, each equally likely."""

    options: tuple[Template, ...]


Template = tuple["str | Slot | Alternatives", ...]


@dataclass(slots=True)
class Scope:
    """The values that a document's patterns may refer to, and the table entries used so far."""

    rng: random.Random
    tables: Mapping[str, Sequence[Template]]
    values: dict[str, str]
    used: dict[str, set[int]] = field(default_factory=dict)


def pick(rng: random.Random, items: Sequence[Item]) -> Item:
    """Draw one item. Only `random()` is used: its sequence is the same in every Python version."""
    return items[int(rng.random() * len(items))]


def parse(text: str) -> Template:
    """Turn a pattern into its parts; a bracket without its partner raises ValueError."""
    pieces = _PIECE.findall(text)
    if sum(map(len, pieces)) != len(text):
        raise ValueError(f"unreadable pattern: {text!r}")
    return _parse_run(pieces, 0, nested=False)[0]


def _parse_run(pieces: list[str], at: int, *, nested: bool) -> tuple[Template, int]:
    parts: list[str | Slot | Alternatives] = []
    while at < len(pieces):
        piece = pieces[at]
        if piece in ("]", "|") and nested:
            return tuple(parts), at
        if piece in ("]", "|"):
            raise ValueError(f"{piece!r} outside brackets: {''.join(pieces)!r}")
        if piece == "[":
            options: list[Template] = []
            while piece != "]":
                option, at = _parse_run(pieces, at + 1, nested=True)
                options.append(option)
                if at == len(pieces):
                    raise ValueError(f"'[' is never closed: {''.join(pieces)!r}")
                piece = pieces[at]
            parts.append(Alternatives(tuple(options)))
        elif piece == "{a}":
            parts.append(_ARTICLE)
        elif piece.startswith("{"):
            name = piece[1:-1]
            parts.append(Slot(name.lstrip("^"), name.startswith("^")))
        else:
            parts.append(piece)
        at += 1
    return tuple(parts), at


def slot_names(template: Template) -> set[str]:
    """Names that a pattern refers to, its alternatives included."""
    names: set[str] = set()
    for part in template:
        if isinstance(part, Slot):
            names.add(part.name)
        elif isinstance(part, Alternatives):
            names.update(*map(slot_names, part.options))
    return names


def render(template: Template, scope: Scope) -> str:
    """Fill a sentence pattern: paragraphs begin with a capital, and `¶` has become an empty line."""
    text = phrase(template, scope)
    if "¶" in text:
        return "\n\n".join(_SENTENCE_START.sub(_capital, part) for part in text.split("¶"))
    return _SENTENCE_START.sub(_capital, text)


def phrase(template: Template, scope: Scope) -> str:
    """Fill a pattern that will stand inside a sentence: articles agree, the first letter is kept."""
    out: list[str] = []
    _fill(template, scope, out)
    text = "".join(out)
    return _ARTICLE_AND_NEXT.sub(_with_article, text) if _ARTICLE in text else text


def _fill(template: Template, scope: Scope, out: list[str]) -> None:
    for part in template:
        if isinstance(part, str):
            out.append(part)
        elif isinstance(part, Alternatives):
            _fill(pick(scope.rng, part.options), scope, out)
        else:
            value = scope.values.get(part.name)
            if value is None:
                start = len(out)
                _fill(_draw(part.name, scope), scope, out)
                if part.capital:
                    out[start] = _upper_first(out[start])
            else:
                out.append(_upper_first(value) if part.capital else value)


def _draw(name: str, scope: Scope) -> Template:
    """An entry of a table, preferably one that this document has not used."""
    entries = scope.tables[name]
    used = scope.used.setdefault(name, set())
    rng = scope.rng
    index = 0
    for _ in range(_REDRAWS):
        index = int(rng.random() * len(entries))
        if index not in used:
            break
    used.add(index)
    return entries[index]


def _with_article(match: re.Match[str]) -> str:
    word = match[1]
    lower = word.lower()
    vowel = lower[0] in "aeiou" and not lower.startswith(_SPOKEN_CONSONANT)
    return f"{'an' if vowel or lower.startswith(_SPOKEN_VOWEL) else 'a'} {word}"


def _capital(match: re.Match[str]) -> str:
    return match[1] + match[2].upper()


def _upper_first(text: str) -> str:
    return text[:1].upper() + text[1:]


GENDERS = ("female", "male")
FILES = ("cast.toml", "shared.toml", "stories.toml", "words.toml")
PERSON_WORDS = ("he", "him", "his", "himself", "adult")


@dataclass(frozen=True, slots=True)
class Pattern:
    """One sentence pattern (sometimes a few sentences that belong together)."""

    template: Template
    dated: bool  # says when, so that the time line has to move with it


Setup = tuple[tuple[str, Template], ...]


@dataclass(frozen=True, slots=True)
class Plot:
    """A kind of story: its subject, and its turns in order. Without `months` it fits any month."""

    setup: Setup
    opening: tuple[Pattern, ...]
    beats: tuple[tuple[Pattern, ...], ...]
    closing: tuple[Pattern, ...]
    months: tuple[str, ...]
    roles: Mapping[str, tuple[Pattern, ...]]  # used in this plot instead of the shared roles of the same name


@dataclass(frozen=True, slots=True)
class Kit:
    """The parts of a language's stories."""

    tables: Mapping[str, tuple[Template, ...]]
    roles: Mapping[str, tuple[Pattern, ...]]
    plots: tuple[Plot, ...]
    setup: Setup
    people: Mapping[str, Mapping[str, Template]]
    weather: Mapping[str, tuple[str, ...]]
    joiner: str  # stands between sentences: a space, or nothing


def tables_sha256(language: str) -> str:
    """Hash of the language's data files, whatever their line ends: a Windows checkout hashes the same."""
    digest = hashlib.sha256()
    for name in FILES:
        digest.update(name.encode())
        digest.update(_read(language, name).replace("\r\n", "\n").encode())
    return digest.hexdigest()


@cache
def load_kit(language: str) -> Kit:
    """Read and parse the tables of one language."""
    cast, shared, stories, words = (tomllib.loads(_read(language, name)) for name in FILES)
    tables: dict[str, tuple[Template, ...]] = {}
    for source in (words, shared, *stories.values()):
        for name, text in source.get("words", {}).items():
            if name in tables:
                raise ValueError(f"word table {name!r} is defined twice")
            tables[name] = tuple(parse(entry) for entry in _entries(text))
    return Kit(
        tables=tables,
        roles={name: _patterns(text) for name, text in shared.items() if name != "words"},
        plots=tuple(_plot(data) for _, data in sorted(stories.items())),
        setup=_setup(cast["setup"]),
        people={gender: {name: parse(text) for name, text in cast[gender].items()} for gender in GENDERS},
        joiner=cast["joiner"],
        weather={month: tuple(kinds) for month, kinds in cast["weather"].items()},
    )


def _read(language: str, name: str) -> str:
    return (files("needlework.haystack_fixtures.corpora") / "data" / language / name).read_text("utf-8")


def _entries(text: str) -> list[str]:
    return [entry.strip() for line in text.splitlines() for entry in line.split(";") if entry.strip()]


def _patterns(text: str) -> tuple[Pattern, ...]:
    templates = (parse(line.strip()) for line in text.splitlines() if line.strip())
    return tuple(Pattern(template, "when" in slot_names(template)) for template in templates)


def _setup(data: Mapping[str, str]) -> Setup:
    return tuple((name, parse(text)) for name, text in data.items())


def _plot(data: Mapping[str, Any]) -> Plot:
    return Plot(
        setup=_setup(data["setup"]),
        opening=_patterns(data["opening"]),
        beats=tuple(map(_patterns, data["beats"])),
        closing=_patterns(data["closing"]),
        months=tuple(data.get("months", ())),
        roles={role: _patterns(text) for role, text in data.get("roles", {}).items()},
    )
