"""Keys and values of statements that look alike: `The badge code for the amber otter is 4815162.`"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from random import Random

from needlework.haystack_fixtures.draws import below, digits, pick, sample

KINDS = {
    "en": ("access", "locker", "badge", "ticket", "permit"),
    "zh": ("门禁", "储物柜", "徽章", "车票", "许可证"),
}
_KEY = {"en": "the {adjective} {noun}", "zh": "{adjective}{noun}"}
_STATEMENT = {"en": "The {kind} code for {key} is {value}.", "zh": "{key}的{kind}代码是{value}。"}


def draw_kind(rng: Random, language: str) -> str:
    """What the codes of one trial are for."""
    return pick(rng, KINDS[language])


def draw_keys(rng: Random, language: str, count: int) -> list[str]:
    """Keys that have no word in common."""
    adjectives, nouns = (sample(rng, words, count) for words in _words(language))
    return [_key(language, *pair) for pair in zip(adjectives, nouns, strict=True)]


def draw_near_keys(rng: Random, language: str, count: int) -> list[str]:
    """`draw_keys`, but all behind the first have its adjective or its noun, by turns."""
    adjectives, nouns = (sample(rng, words, count) for words in _words(language))
    pairs = [
        (adjectives[0], noun) if number % 2 else (adjectives[number], nouns[0]) for number, noun in enumerate(nouns)
    ]
    return [_key(language, *pair) for pair in pairs]


def draw_values(rng: Random, count: int) -> list[str]:
    """Different numbers of 7 digits."""
    values: dict[str, None] = {}
    while len(values) < count:
        values[digits(rng)] = None
    return list(values)


def statement(language: str, kind: str, key: str, value: str) -> str:
    """The sentence that gives a key's value."""
    return _STATEMENT[language].format(kind=kind, key=key, value=value)


def stratified(rng: Random, count: int) -> tuple[float, ...]:
    """Ascending depths in percent, one drawn from each of `count` equal parts of the context."""
    return tuple(round((number + below(rng, 1000) / 1000) * 100 / count, 2) for number in range(count))


def _key(language: str, adjective: str, noun: str) -> str:
    return _KEY[language].format(adjective=adjective, noun=noun)


def adjectives(language: str) -> tuple[str, ...]:
    """All adjectives that keys are made of."""
    return _words(language)[0]


def nouns(language: str) -> tuple[str, ...]:
    """All nouns that keys are made of."""
    return _words(language)[1]


@cache
def _words(language: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Adjectives and nouns."""
    file = resources.files("needlework.haystack_fixtures.tasks") / "data" / "keys.toml"
    table = tomllib.loads(file.read_text(encoding="utf-8"))[language]
    return tuple(table["adjectives"].split()), tuple(table["nouns"].split())
