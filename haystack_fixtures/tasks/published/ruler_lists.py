"""RULER: lists of words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import pi
from random import Random
from string import ascii_lowercase
from typing import Any

from needlework.core.draws import draws, pick, shuffled
from needlework.core.grid import Cell
from needlework.core.settings import Suite
from needlework.haystack_fixtures.haystacks.listing import Listing
from needlework.haystack_fixtures.tasks.published.ruler import FAMILY, VERSION, first_words, seeds, vocabulary
from needlework.haystack_fixtures.tasks.task import Question, Task, labelled, no_depths

ALPHA = 2
_ZETA = pi * pi / 6  # zeta(ALPHA)
WANTED = 3  # ranks 2 to 4; rank 1 is noise
NOISE = "..."
_LETTERS = 6
_FEWEST = 100  # entries: with fewer, the counts of two ranks could be the same
_KNOWN = 6  # words of the next ranks, which a scorer is told

_INTRODUCTION = {
    "en": "The coded text below is made of words that mean nothing. Keep count of how often each appears, "
    "and leave the dots '...' out of account.\n",
    "zh": "下面的编码文字由没有意义的词组成。请留意每个词出现的次数，省略号“...”不计。\n",
}
_QUESTION = {
    "en": "Question: Leaving out the dots '...', which {count} words appear most often in the coded text above?",
    "zh": "问题：不计“...”，上面的编码文字中出现次数最多的{count}个词是哪些？",
}
_PREFIX = {
    "en": "Answer: The {count} words that appear most often in the coded text are:",
    "zh": "答案：编码文字中出现次数最多的{count}个词是：",
}
_COUNT = {"en": "three", "zh": "三"}


def counts(entries: int) -> list[int]:
    """How often each rank stands in a text of so many entries: floor(N / (zeta(2) rank^2)), N as small as will do.

    Where the floors of that N give more than `entries`, the rarest ranks give way.
    """
    low, high = 1, 2
    while sum(_floors(high)) < entries:
        low, high = high, 2 * high
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if sum(_floors(middle)) < entries else (low, middle)
    found = _floors(low)
    surplus = sum(found) - entries
    while surplus:
        taken = min(surplus, found[-1])
        found[-1] -= taken
        surplus -= taken
        if not found[-1]:
            found.pop()
    return found


def _floors(nominal: int) -> list[int]:
    found: list[int] = []
    while (count := int(nominal / (_ZETA * (len(found) + 1) ** ALPHA))) > 0:
        found.append(count)
    return found


def _ask(suite: Suite, cell: Cell, seed: int) -> Question:
    parts, language = seeds("ruler_fwe", suite, cell, seed), suite.language
    ranked = _ranked(draws(*parts), 1 + WANTED + _KNOWN)
    wanted = tuple(ranked[1 : 1 + WANTED])

    def units(entries: int) -> list[str]:
        often = counts(entries)
        words = _ranked(draws(*parts), len(often))
        text = [word for word, times in zip(words, often, strict=True) for _ in range(times)]
        return [f"{word} " for word in shuffled(draws(*parts, entries), text)]

    def resolve(entries: int) -> tuple[str, dict[str, Any]]:
        return answer, {"entries": entries, "chance": WANTED / (len(counts(entries)) - 1)}

    answer, count = ", ".join(wanted), {"count": _COUNT[language]}
    question = _QUESTION[language].format(**count)
    return Question(
        needles=(),
        depths=(),
        question=question,
        answer=answer,
        reference={
            "answers": (),
            "parts": wanted,
            "distractors": tuple(ranked[1 + WANTED :]),
            "question": question,
            "language": language,
        },
        context=Listing(units, resolve=resolve, growing=False, steady=False, fewest=_FEWEST),
        introduction=_INTRODUCTION[language],
        answer_prefix=_PREFIX[language].format(**count),
    )


def _ranked(rng: Random, count: int) -> list[str]:
    """The noise, then words by their rank."""
    words: dict[str, None] = {NOISE: None}
    while len(words) < count:
        words["".join(pick(rng, ascii_lowercase) for _ in range(_LETTERS))] = None
    return list(words)


TASK = Task(
    "ruler_fwe",
    "the three most frequent words of a coded text",
    lambda suite: (labelled(f"alpha{ALPHA}", suite),),
    no_depths,
    _ask,
    family=FAMILY,
    scorer="ruler_all",
    version=VERSION,
    absent=False,
)


COMMON = 10


@dataclass(frozen=True, slots=True)
class Frequencies:
    """How often common and other words stand in the list, and in the example of so many different words."""

    common: int
    other: int
    example_words: int
    example_common: int
    example_other: int


_LONG = {"en": 4096, "zh": 8192}  # tokens; shorter lists have fewer of each word (Chinese ones: ours, they take more)
FREQUENCIES = {"freq30": Frequencies(30, 3, 40, 10, 3), "freq6": Frequencies(6, 1, 20, 3, 1)}
_UNIT = 3  # entries that a list grows by: one other word, or three

_WORDS_INTRODUCTION = {
    "en": "Here is a list of words, each with its number. Some words come up far more often than the rest: "
    "keep those in mind.\n",
    "zh": "下面是一份带编号的词语清单。其中有些词出现的次数比其他词多得多，请记住它们。\n",
}
_WORDS_QUESTION = {
    "en": "Question: Which {count} words come up most often in the list above?",
    "zh": "问题：上面的清单中，出现次数最多的{count}个词是哪些？",
}
_WORDS_PREFIX = {
    "en": "Answer: The {count} words that come up most often in the list are:",
    "zh": "答案：清单中出现次数最多的{count}个词是：",
}
_COMMA = {"en": ", ", "zh": "、"}


def _labels(suite: Suite) -> tuple[str, ...]:
    return tuple(labelled(name, suite) for name in FREQUENCIES if _lengths(suite, name))


def _lengths(suite: Suite, label: str) -> tuple[int, ...]:
    return tuple(length for length in suite.lengths if (length >= _LONG[suite.language]) == label.startswith("freq30"))


def _words_ask(suite: Suite, cell: Cell, seed: int) -> Question:
    name = cell.needle.partition("_")[0]
    parts, language, times = (*seeds("ruler_cwe", suite, cell, seed), name), suite.language, FREQUENCIES[name]

    # The example's words first, then the common ones, then as many others as the list has room for.
    shown = times.example_words
    stream = partial(first_words, parts, language, shown + COMMON)
    example, common = stream(shown), stream(shown + COMMON)[shown:]

    def others(count: int) -> int:
        return (count * _UNIT - COMMON * times.common) // times.other

    def resolve(count: int) -> tuple[str, dict[str, Any]]:
        return answer, {"entries": count * _UNIT, "chance": COMMON / (COMMON + others(count))}

    def units(count: int) -> list[str]:
        words = stream(shown + COMMON + others(count))[shown + COMMON :]
        entries = _numbered(common, times.common, words, times.other, (*parts, count))
        return ["".join(entries[at : at + _UNIT]) for at in range(0, len(entries), _UNIT)]

    answer = _COMMA[language].join(common)
    question = _WORDS_QUESTION[language].format(count=COMMON)
    often = example[:COMMON]
    text = "".join(_numbered(often, times.example_common, example[COMMON:], times.example_other, (*parts, "example")))
    solved = f"{_WORDS_PREFIX[language].format(count=COMMON)} {_COMMA[language].join(often)}"
    return Question(
        needles=(),
        depths=(),
        question=question,
        answer=answer,
        reference={
            "answers": (),
            "parts": tuple(common),
            "question": question,
            "language": language,
            "floor": COMMON / len(vocabulary(language).words),
        },
        context=Listing(
            units,
            resolve=resolve,
            growing=False,
            fewest=COMMON * (times.common + times.other) // _UNIT + 1,
        ),
        introduction=f"{_WORDS_INTRODUCTION[language]}{text.rstrip()}\n{question}\n{solved}\n\n{_WORDS_INTRODUCTION[language]}",
        answer_prefix=_WORDS_PREFIX[language].format(count=COMMON),
    )


def _numbered(
    common: Sequence[str], often: int, others: Sequence[str], seldom: int, parts: tuple[object, ...]
) -> list[str]:
    """The entries `1. word `, in an order of their own for these `parts`."""
    entries = shuffled(draws(*parts, "order"), [*common] * often + [*others] * seldom)
    return [f"{number}. {word} " for number, word in enumerate(entries, 1)]


COMMON_WORDS_TASK = Task(
    "ruler_cwe",
    f"the {COMMON} most common words of a list",
    _labels,
    no_depths,
    _words_ask,
    family=FAMILY,
    scorer="ruler_all",
    version=VERSION,
    absent=False,
    lengths=_lengths,
)
