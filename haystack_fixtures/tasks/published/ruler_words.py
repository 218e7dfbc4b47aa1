"""RULER: the words and names that its tasks are made of."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cache, lru_cache
from itertools import islice
from random import Random
from typing import Any

from needlework.core.draws import below, draws, pick, shuffled
from needlework.core.grid import Cell
from needlework.core.settings import Suite
from needlework.haystack_fixtures.tasks.words import table, words

FAMILY, VERSION = "ruler", 1
_JOINTS = {"en": "-", "zh": ""}  # between the two words of a compound


def trial_seeds(task: str, suite: Suite, cell: Cell, seed: int) -> tuple[object, ...]:
    """What a trial's draws depend on: nothing that length or depth change."""
    return task, VERSION, seed, cell.repeat, suite.language


def sentences(task: str, language: str) -> Mapping[str, Any]:
    """The sentences of a task: introduction, question, beginning of the answer."""
    return table("ruler", language, task)


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
    """The first words of a stream that is drawn for these `parts`: the single ones, then compounds, each once.

    None of the first `apart` is part of another word, or has one in it.
    """
    return _first_words(parts, language, apart, rounded_up(count))[:count]


def rounded_up(count: int) -> int:
    """A number that is at most a quarter above `count`, and the same for many: lists of several sizes are tried for one
    prompt, and what is made for one of them serves the next."""
    step = 1 << max(0, count.bit_length() - 3)
    return -(-count // step) * step


@lru_cache(4)
def _first_words(parts: tuple[object, ...], language: str, apart: int, count: int) -> tuple[str, ...]:
    return tuple(islice(_word_stream(draws(*parts), language, apart), count))


def _word_stream(rng: Random, language: str, apart: int) -> Iterator[str]:
    order = shuffled(rng, single_words(language))
    first = list(islice((word for word in order if word in _solitary(language)), apart))
    yield from first
    yield from (word for word in order if word not in first)
    yield from compounds(rng, language, first)


@cache
def _solitary(language: str) -> frozenset[str]:
    """The single words that are no part of another and have none in them."""
    known = set(single_words(language))
    text = " ".join(single_words(language))
    return frozenset(word for word in known if text.count(word) == 1 and not known & _shorter_pieces(word))


def _shorter_pieces(word: str) -> set[str]:
    size = len(word)
    return {word[start:end] for start in range(size) for end in range(start + 1, size + 1) if end - start < size}


def draw_person(rng: Random, language: str) -> str:
    """A whole name."""
    first_name, surname = (pick(rng, words("ruler", language, kind)) for kind in ("given", "surnames"))
    return f"{first_name} {surname}" if language == "en" else f"{surname}{first_name}"


def draw_town(rng: Random, language: str) -> str:
    """A town's name."""
    return "".join(pick(rng, words("ruler", language, kind)) for kind in ("towns", "town_ends"))
