"""Sentence patterns: a small notation, parsed once and rendered with a seeded generator.

`{name}` stands for a value of the document or, failing that, a random entry of the word table `name`; `{^name}` is the
same with a capital; `{a}` is "a" or "an", whichever suits the next word; `[x|y|]` chooses one of its parts (the last
one here is empty); `¶` starts a new paragraph. Entries of word tables may use the notation themselves.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

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
class Choice:
    """Alternatives, each equally likely."""

    options: tuple[Template, ...]


Template = tuple["str | Slot | Choice", ...]


@dataclass(slots=True)
class Scope:
    """What a document's patterns may refer to, and which table entries it has used up."""

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
    parts: list[str | Slot | Choice] = []
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
            parts.append(Choice(tuple(options)))
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
        elif isinstance(part, Choice):
            names.update(*map(slot_names, part.options))
    return names


def render(template: Template, scope: Scope) -> str:
    """Fill a sentence pattern: paragraphs begin with a capital, and `¶` has become an empty line."""
    text = phrase(template, scope)
    if "¶" in text:
        return "\n\n".join(_SENTENCE_START.sub(_capital, part) for part in text.split("¶"))
    return _SENTENCE_START.sub(_capital, text)


def phrase(template: Template, scope: Scope) -> str:
    """Fill a pattern that will stand inside a sentence: articles are right, the first letter stays as it is."""
    out: list[str] = []
    _fill(template, scope, out)
    text = "".join(out)
    return _ARTICLE_AND_NEXT.sub(_with_article, text) if _ARTICLE in text else text


def _fill(template: Template, scope: Scope, out: list[str]) -> None:
    for part in template:
        if isinstance(part, str):
            out.append(part)
        elif isinstance(part, Choice):
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
