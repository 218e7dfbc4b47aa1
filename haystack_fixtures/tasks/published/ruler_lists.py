"""RULER: lists of words."""

from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from itertools import chain, islice
from math import pi
from random import Random
from string import ascii_lowercase
from typing import Any

from needlework.core.draws import below, different, draws, pick, shuffled
from needlework.core.grid import Cell
from needlework.core.settings import Suite
from needlework.haystack_fixtures.haystacks.listing import Listing
from needlework.haystack_fixtures.tasks.task import Question, labelled, our_task
from needlework.haystack_fixtures.tasks.words import table, words

VERSION = 1
_JOINTS = {"en": "-", "zh": ""}  # between the two words of a compound


def trial_seeds(task: str, suite: Suite, cell: Cell, seed: int) -> tuple[object, ...]:
    """The seeds of a trial's draws; the same for all lengths and depths."""
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
    return {word[start:end] for start in range(size) for end in range(start + 1, size + 1) if end - start < size}


def draw_person(rng: Random, language: str) -> str:
    """A whole name."""
    first_name, surname = (pick(rng, words("ruler", language, kind)) for kind in ("given", "surnames"))
    return f"{first_name} {surname}" if language == "en" else f"{surname}{first_name}"


def draw_town(rng: Random, language: str) -> str:
    """A town's name."""
    return "".join(pick(rng, words("ruler", language, kind)) for kind in ("towns", "town_ends"))


_ALPHA = 2
_ZETA = pi * pi / 6  # zeta(_ALPHA)
_RANKS = 3  # ranks 2 to 4; rank 1 is noise
_NOISE = "..."
_LETTERS = 6
_FEWEST = 100  # entries: with fewer, the counts of two ranks could be the same
_KNOWN = 6  # words of the next ranks, which a scorer is told

_COMMON = 10
_LONG = {"en": 4096, "zh": 8192}  # tokens; shorter lists have fewer of each word (Chinese ones: ours, they take more)
_UNIT = 3  # entries that a list grows by: one other word, or three


def rank_counts(entries: int) -> list[int]:
    """The count of each rank in a text of so many entries: floor(N / (zeta(2) rank^2)), N minimal.

    Where the floors of that N give more than `entries`, the rarest ranks give way.
    """
    counts = _floors(bisect_left(range(4 * entries), entries, key=lambda nominal: sum(_floors(nominal))))
    surplus = sum(counts) - entries
    while surplus:
        taken = min(surplus, counts[-1])
        counts[-1] -= taken
        surplus -= taken
        if not counts[-1]:
            counts.pop()
    return counts


def _floors(nominal: int) -> list[int]:
    counts: list[int] = []
    while (count := int(nominal / (_ZETA * (len(counts) + 1) ** _ALPHA))) > 0:
        counts.append(count)
    return counts


def _ranked_words(rng: Random, count: int) -> list[str]:
    """The noise, then words by their rank."""
    return [_NOISE, *different(count - 1, lambda: "".join(pick(rng, ascii_lowercase) for _ in range(_LETTERS)))]


def _frequent_words(suite: Suite, cell: Cell, seed: int) -> Question:
    parts = trial_seeds("ruler_fwe", suite, cell, seed)
    ranked = _ranked_words(draws(*parts), 1 + _RANKS + _KNOWN)
    top = tuple(ranked[1 : 1 + _RANKS])

    def units(entries: int) -> list[str]:
        counts = rank_counts(entries)
        words = _ranked_words(draws(*parts), len(counts))
        text = [word for word, times in zip(words, counts, strict=True) for _ in range(times)]
        return [f"{word} " for word in shuffled(draws(*parts, entries), text)]

    def resolve(entries: int) -> tuple[str, dict[str, Any]]:
        return ", ".join(top), {"entries": entries, "chance": _RANKS / (len(rank_counts(entries)) - 1)}

    forms = sentences("fwe", suite.language)
    return Question(
        question=forms["question"],
        answer=", ".join(top),
        reference={"answers": (), "parts": top, "distractors": tuple(ranked[1 + _RANKS :])},
        context=Listing(units, resolve=resolve, growing=False, steady=False, fewest=_FEWEST),
        introduction=forms["introduction"],
        answer_prefix=forms["prefix"],
    )


@dataclass(frozen=True, slots=True)
class WordFrequencies:
    """Counts of common and other words in the list, and in the example of so many different words."""

    common: int
    other: int
    example_words: int
    example_common: int
    example_other: int


_FREQUENCIES = {"freq30": WordFrequencies(30, 3, 40, 10, 3), "freq6": WordFrequencies(6, 1, 20, 3, 1)}


def _labels(suite: Suite) -> tuple[str, ...]:
    return tuple(labelled(name, suite) for name in _FREQUENCIES if _lengths(suite, name))


def _lengths(suite: Suite, label: str) -> tuple[int, ...]:
    return tuple(length for length in suite.lengths if (length >= _LONG[suite.language]) == label.startswith("freq30"))


def _common_words(suite: Suite, cell: Cell, seed: int) -> Question:
    name = cell.needle.partition("_")[0]
    parts, language = (*trial_seeds("ruler_cwe", suite, cell, seed), name), suite.language
    times = _FREQUENCIES[name]

    # The example's words first, then the common ones, then as many others as the list has room for.
    shown = times.example_words
    stream = partial(first_words, parts, language, shown + _COMMON)
    example, common = stream(shown), stream(shown + _COMMON)[shown:]

    def others(count: int) -> int:
        return (count * _UNIT - _COMMON * times.common) // times.other

    def resolve(count: int) -> tuple[str, dict[str, Any]]:
        return answer, {"entries": count * _UNIT, "chance": _COMMON / (_COMMON + others(count))}

    def units(count: int) -> list[str]:
        words = stream(shown + _COMMON + others(count))[shown + _COMMON :]
        entries = _numbered(common, times.common, words, times.other, (*parts, count))
        return ["".join(entries[at : at + _UNIT]) for at in range(0, len(entries), _UNIT)]

    forms = sentences("cwe", language)
    answer = forms["comma"].join(common)
    frequent = example[:_COMMON]
    entries = _numbered(frequent, times.example_common, example[_COMMON:], times.example_other, (*parts, "example"))
    solved = f"{forms['prefix']} {forms['comma'].join(frequent)}"
    worked = f"{forms['introduction']}{''.join(entries).rstrip()}\n{forms['question']}\n{solved}\n\n"
    return Question(
        question=forms["question"],
        answer=answer,
        reference={"answers": (), "parts": tuple(common), "floor": _COMMON / len(single_words(language))},
        context=Listing(
            units, resolve=resolve, growing=False, fewest=_COMMON * (times.common + times.other) // _UNIT + 1
        ),
        introduction=f"{worked}{forms['introduction']}",
        answer_prefix=forms["prefix"],
    )


def _numbered(
    common: Sequence[str], often: int, others: Sequence[str], seldom: int, parts: tuple[object, ...]
) -> list[str]:
    """The entries `1. word `, in an order of their own for these `parts`."""
    entries = shuffled(draws(*parts, "order"), [*common] * often + [*others] * seldom)
    return [f"{number}. {word} " for number, word in enumerate(entries, 1)]


TASKS = (our_task("ruler_cwe", _common_words, labels=_labels, lengths=_lengths), our_task("ruler_fwe", _frequent_words))
