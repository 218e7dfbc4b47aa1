"""The largest, the smallest or the median of numbers that are stated one per sentence."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median
from typing import Any

from needlework.haystack_fixtures.draws import below, draws, pick
from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.haystacks.listing import Listing
from needlework.haystack_fixtures.settings.settings import Suite
from needlework.haystack_fixtures.tasks.parts.words import words
from needlework.haystack_fixtures.tasks.task import Asked, Task, labelled, no_depths

_LABELS = ("largest", "smallest", "median")
_FEWEST = 3
_LOWEST = 100_000
_SPREAD = 400_000  # of where the numbers of a trial begin, and of how far they reach
_SENTENCE = {
    "en": "The {thing} that {name} sent to {place} weighs {value} grams.\n",
    "zh": "{name}寄往{place}的{thing}重{value}克。\n",
}
_ASKED = {
    "en": {
        "largest": "What is the largest weight in grams that the document states?",
        "smallest": "What is the smallest weight in grams that the document states?",
        "median": "What is the median of all the weights in grams that the document states? As many of them are below "
        "it as above it.",
    },
    "zh": {
        "largest": "文档中写明的重量里，最大的是多少克？",
        "smallest": "文档中写明的重量里，最小的是多少克？",
        "median": "文档中写明的所有重量的中位数是多少克？比它大的和比它小的一样多。",
    },
}
_REPLY = {"en": " Reply with the number only.", "zh": "请只回答这个数。"}
_OF: dict[str, Any] = {"largest": max, "smallest": min, "median": median}


def _stated(seed: int, repeat: int, language: str, count: int) -> tuple[list[str], list[int]]:
    """The first sentences of one trial and their numbers, all of them different."""
    rng = draws("numbers", 1, seed, repeat)
    # Ranges differ: else the largest of many numbers would always be near the same one.
    lowest, reach = _LOWEST + below(rng, _SPREAD), _LOWEST + below(rng, _SPREAD)
    sentences: list[str] = []
    values: dict[int, None] = {}
    while len(values) < count:
        value = lowest + below(rng, reach)
        fields = {kind: pick(rng, words("aggregate", language, f"{kind}s")) for kind in ("thing", "name", "place")}
        if value not in values:
            values[value] = None
            sentences.append(_SENTENCE[language].format(**fields, value=value))
    return sentences, list(values)


def _ask(suite: Suite, cell: Cell, seed: int) -> Asked:
    language = suite.language
    label = next(label for label in _LABELS if labelled(label, suite) == cell.needle)
    question = _ASKED[language][label] + _REPLY[language]

    def units(n: int) -> list[str]:
        sentences, _ = _stated(seed, cell.repeat, language, 2 * n + 1)
        return [first + second for first, second in zip(sentences[1::2], sentences[2::2], strict=True)]

    def resolve(n: int) -> tuple[str, Mapping[str, Any]]:
        _, values = _stated(seed, cell.repeat, language, 2 * n + 1)
        answer = str(_OF[label](values))
        return answer, {"answers": (answer,), "numbers": len(values), "chance": 1 / len(values)}

    first, _ = _stated(seed, cell.repeat, language, 1)
    return Asked(
        needles=(),
        depths=(),
        question=question,
        answer="",
        reference={"question": question, "language": language, "floor": 0.0},
        # One sentence, and then two at a time: an odd number of numbers has a median that is one of them.
        context=Listing(units, resolve=resolve, opening=first[0], fewest=_FEWEST),
    )


TASK = Task(
    "numbers",
    "the largest, smallest or median of many stated numbers",
    lambda suite: tuple(labelled(label, suite) for label in _LABELS),
    no_depths,
    _ask,
    family="aggregate",
    scorer="number",
    version=1,
    absent=False,
)
