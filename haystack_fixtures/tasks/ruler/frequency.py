"""RULER's frequent words: a coded text whose words follow a zeta distribution; the most frequent "word" is noise."""

from __future__ import annotations

from math import pi
from random import Random
from string import ascii_lowercase
from typing import Any

from needlework.haystack_fixtures.draws import draws, pick, shuffled
from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.haystacks.listing import Listing
from needlework.haystack_fixtures.settings.settings import Suite
from needlework.haystack_fixtures.tasks.ruler.protocol import FAMILY, VERSION, seeds
from needlework.haystack_fixtures.tasks.task import Asked, Task, labelled, no_depths

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


def _ask(suite: Suite, cell: Cell, seed: int) -> Asked:
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
    return Asked(
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
