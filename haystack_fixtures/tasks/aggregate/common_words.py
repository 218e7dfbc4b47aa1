"""The words that come most often in a list of words (the form of RULER's common words extraction).

A round has every common word once and as many others, in an order of its own. The others are dealt from a pool ten
times as large: a common word comes ten times as often as any of them, in RULER 30 times against 3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from needlework.haystack_fixtures.draws import draws, sample, shuffled
from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.haystacks.listing import Listing
from needlework.haystack_fixtures.settings.settings import Suite
from needlework.haystack_fixtures.tasks.parts.statement_keys import nouns
from needlework.haystack_fixtures.tasks.task import Asked, Task, labelled, no_depths

_COMMON = 10
_OTHERS = 100
_FEWEST = 6 * _COMMON  # three rounds: common words come three times, all others once
_QUESTION = {
    "en": "The document is a list of words, one on each line. Ten of them come far more often than all others. "
    "Which ten? Reply with the ten words only, separated by commas, in any order.",
    "zh": "文档是一个词表，每行一个词。其中有十个词出现的次数远多于其他词。"
    "是哪十个？请只回答这十个词，用逗号隔开，顺序不限。",
}


def _slots(seed: int, repeat: int, language: str, count: int) -> tuple[list[str], list[str]]:
    """The common words of one trial, and the first words of its list."""
    rng = draws("common_words", 1, seed, repeat)
    chosen = sample(rng, nouns(language), _COMMON + _OTHERS)
    common, others = chosen[:_COMMON], chosen[_COMMON:]
    dealt: list[str] = []
    slots: list[str] = []
    while len(slots) < count:
        dealt = dealt or shuffled(rng, others)
        slots += shuffled(rng, common + dealt[:_COMMON])
        dealt = dealt[_COMMON:]
    return common, slots[:count]


def _ask(suite: Suite, cell: Cell, seed: int) -> Asked:
    language = suite.language

    def units(n: int) -> list[str]:
        return [f"{word}\n" for word in _slots(seed, cell.repeat, language, n)[1]]

    def resolve(n: int) -> tuple[str, Mapping[str, Any]]:
        common, slots = _slots(seed, cell.repeat, language, n)
        others = tuple(word for word in Counter(slots) if word not in common)
        chance = _COMMON / (_COMMON + len(others))
        return ", ".join(common), {"parts": tuple(common), "distractors": others, "words": n, "chance": chance}

    return Asked(
        needles=(),
        depths=(),
        question=_QUESTION[language],
        answer="",
        reference={
            "answers": (),
            "question": _QUESTION[language],
            "language": language,
            # Any ten words of the data file: each is a common one that often.
            "floor": _COMMON / len(nouns(language)),
        },
        context=Listing(units, resolve=resolve, fewest=_FEWEST),
    )


TASK = Task(
    "common_words",
    "the ten words that come most often",
    lambda suite: (labelled("top10", suite),),
    no_depths,
    _ask,
    family="aggregate",
    scorer="word_list",
    version=1,
    absent=False,
)
