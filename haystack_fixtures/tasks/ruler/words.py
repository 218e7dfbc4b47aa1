"""RULER's common words: ten words stand in a numbered list ten times as often as the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from needlework.haystack_fixtures.draws import draws, shuffled
from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.haystacks.listing import Listing
from needlework.haystack_fixtures.settings.settings import Suite
from needlework.haystack_fixtures.tasks.ruler.protocol import FAMILY, VERSION, seeds
from needlework.haystack_fixtures.tasks.ruler.vocabulary import first_words, vocabulary
from needlework.haystack_fixtures.tasks.task import Asked, Task, labelled, no_depths

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

_INTRODUCTION = {
    "en": "Here is a list of words, each with its number. Some words come up far more often than the rest: "
    "keep those in mind.\n",
    "zh": "下面是一份带编号的词语清单。其中有些词出现的次数比其他词多得多，请记住它们。\n",
}
_QUESTION = {
    "en": "Question: Which {count} words come up most often in the list above?",
    "zh": "问题：上面的清单中，出现次数最多的{count}个词是哪些？",
}
_PREFIX = {
    "en": "Answer: The {count} words that come up most often in the list are:",
    "zh": "答案：清单中出现次数最多的{count}个词是：",
}
_COMMA = {"en": ", ", "zh": "、"}


def _labels(suite: Suite) -> tuple[str, ...]:
    return tuple(labelled(name, suite) for name in FREQUENCIES if _lengths(suite, name))


def _lengths(suite: Suite, label: str) -> tuple[int, ...]:
    return tuple(length for length in suite.lengths if (length >= _LONG[suite.language]) == label.startswith("freq30"))


def _ask(suite: Suite, cell: Cell, seed: int) -> Asked:
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
    question = _QUESTION[language].format(count=COMMON)
    often = example[:COMMON]
    text = "".join(_numbered(often, times.example_common, example[COMMON:], times.example_other, (*parts, "example")))
    solved = f"{_PREFIX[language].format(count=COMMON)} {_COMMA[language].join(often)}"
    return Asked(
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
        introduction=f"{_INTRODUCTION[language]}{text.rstrip()}\n{question}\n{solved}\n\n{_INTRODUCTION[language]}",
        answer_prefix=_PREFIX[language].format(count=COMMON),
    )


def _numbered(
    common: Sequence[str], often: int, others: Sequence[str], seldom: int, parts: tuple[object, ...]
) -> list[str]:
    """The entries `1. word `, in an order of their own for these `parts`."""
    entries = shuffled(draws(*parts, "order"), [*common] * often + [*others] * seldom)
    return [f"{number}. {word} " for number, word in enumerate(entries, 1)]


TASK = Task(
    "ruler_cwe",
    f"the {COMMON} most common words of a list",
    _labels,
    no_depths,
    _ask,
    family=FAMILY,
    scorer="ruler_all",
    version=VERSION,
    absent=False,
    lengths=_lengths,
)
