"""Pieces: short texts of a format about a topic, made by a grammar, so that there are more of each kind than anybody
can tell apart without reading them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from random import Random

from needlework.haystack_fixtures.draws import below, draws, pick, shuffled
from needlework.haystack_fixtures.tasks.parts.people import people
from needlework.haystack_fixtures.tasks.parts.statement_keys import adjectives, nouns

_SLOT = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of text. `ask`: its name as the user writes it, with its article (Chinese: its measure word)."""

    name: str
    ask: str
    head: tuple[str, ...]
    line: str = "{sentence}"
    join: str = " "
    tail: str = ""


@dataclass(frozen=True, slots=True)
class Grammar:
    """What the pieces of a language are made of. `chars`: characters that a piece has at least."""

    chars: int
    formats: tuple[Format, ...]
    topics: tuple[str, ...]
    sentences: tuple[str, ...]
    words: Mapping[str, tuple[str, ...]]


@cache
def grammar(language: str) -> Grammar:
    """The grammar of a language (`en`, `zh`)."""
    text = (resources.files("needlework.haystack_fixtures.tasks") / "data" / "mrcr.toml").read_text(encoding="utf-8")
    table = tomllib.loads(text)[language]
    join = " " if language == "en" else ""
    formats = (Format(**({"join": join} | each | {"head": tuple(each["head"])})) for each in table["format"])
    words = {name: tuple(table[f"{name}s"].split()) for name in ("verb", "day", "place")}
    return Grammar(
        table["chars"],
        tuple(formats),
        tuple(table["topics"].split()) if "topics" in table else nouns(language),
        tuple(table["sentences"]),
        words | {"name": people(language), "adj": adjectives(language), "noun": nouns(language)},
    )


def piece(language: str, kind: Format, topic: str, recipe: tuple[object, ...], hidden: str) -> str:
    """A piece of a kind about a topic, which stands in its first line alone; `hidden`: a topic that none speaks of."""
    rng, made = draws(*recipe), grammar(language)
    fill = _filler(rng, made, {topic, hidden})
    head = fill(pick(rng, kind.head).replace("{topic}", topic))
    gap = kind.join if "\n" not in kind.join else "\n"
    parts = [head[:1].upper() + head[1:]]
    size = len(parts[0]) + len(kind.tail)
    for number, sentence in enumerate(shuffled(rng, made.sentences), 1):
        if size >= made.chars:
            break
        said = fill(sentence)
        line = fill(kind.line.replace("{n}", str(number))).replace("{sentence}", said[:1].upper() + said[1:])
        parts.append(line)
        size += len(line)
    return gap.join([*parts, *([fill(kind.tail)] if kind.tail else [])])


def _filler(rng: Random, made: Grammar, avoided: set[str]) -> Callable[[str], str]:
    """A function that fills the slots of a text, each with a word of its own; no noun is part of a topic."""

    def word(slot: re.Match[str]) -> str:
        name = slot[1]
        if name == "sentence":
            return slot[0]
        if name == "number":
            return str(11 + below(rng, 980))
        if name == "time":
            hour, minute = 1 + below(rng, 12), 10 + below(rng, 50)
            return f"{hour}:{minute}" if made.words["day"][0].isascii() else f"{hour}点{minute}分"
        found = pick(rng, made.words[name.lower()])
        while any(found in topic or topic in found for topic in avoided):
            found = pick(rng, made.words[name.lower()])
        return found.capitalize() if name[0].isupper() else found

    return lambda text: _SLOT.sub(word, text)
