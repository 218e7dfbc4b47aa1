"""How many different paragraphs are there, when many come again?

Each paragraph is a new one with a probability that is itself drawn evenly from 0 to 1: so of n paragraphs every number
from 1 to n is as likely to be different as any other, and no guess is better than 1 / n.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from random import Random
from typing import Any

from needlework.haystack_fixtures.draws import draws, pick
from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.haystacks.listing import Listing
from needlework.haystack_fixtures.settings.settings import Suite
from needlework.haystack_fixtures.tasks.parts.words import words
from needlework.haystack_fixtures.tasks.task import Asked, Task, labelled, no_depths

_FEWEST = 6
_NUMBERED = {"en": "Paragraph {number}: {text}\n", "zh": "段落{number}：{text}\n"}
_TEXT = {
    "en": "In {place}, {name} {work} the {thing} and {work2} the {thing2}.",
    "zh": "在{place}，{name}{work}{thing}，也{work2}{thing2}。",
}
_QUESTION = {
    "en": "The document has numbered paragraphs, some of which come again word for word under another number. "
    "How many different paragraphs are there, each counted once? Reply with the number only.",
    "zh": "文档中的段落都有编号，有些段落以另一编号一字不差地重复出现。"
    "每个不同的段落只算一次，一共有几个不同的段落？请只回答这个数。",
}


def _new(rng: Random, language: str, taken: Set[str]) -> str:
    while True:
        fields = {name: pick(rng, words("aggregate", language, f"{name}s")) for name in ("place", "name", "work")}
        things = [pick(rng, words("aggregate", language, "things")) for _ in range(2)]
        work = pick(rng, words("aggregate", language, "works"))
        text = _TEXT[language].format(**fields, thing=things[0], work2=work, thing2=things[1])
        if text not in taken and things[0] != things[1] and work != fields["work"]:
            return text


def _paragraphs(seed: int, repeat: int, language: str, count: int) -> list[str]:
    """The first paragraphs of one trial, without their numbers."""
    rng = draws("distinct", 1, seed, repeat)
    share = rng.random()
    new: list[str] = []
    taken: set[str] = set()
    found: list[str] = []
    while len(found) < count:
        if not found or rng.random() < share:
            new.append(_new(rng, language, taken))
            taken.add(new[-1])
            found.append(new[-1])
        else:
            found.append(pick(rng, new))
    return found


def _ask(suite: Suite, cell: Cell, seed: int) -> Asked:
    language = suite.language

    def units(n: int) -> list[str]:
        texts = _paragraphs(seed, cell.repeat, language, n)
        return [_NUMBERED[language].format(number=number, text=text) for number, text in enumerate(texts, 1)]

    def resolve(n: int) -> tuple[str, Mapping[str, Any]]:
        answer = str(len(set(_paragraphs(seed, cell.repeat, language, n))))
        return answer, {"answers": (answer,), "paragraphs": n, "chance": 1 / n, "floor": 1 / n}

    return Asked(
        needles=(),
        depths=(),
        question=_QUESTION[language],
        answer="",
        reference={"question": _QUESTION[language], "language": language},
        context=Listing(units, resolve=resolve, fewest=_FEWEST),
    )


TASK = Task(
    "distinct",
    "how many different paragraphs there are",
    lambda suite: (labelled("paragraphs", suite),),
    no_depths,
    _ask,
    family="aggregate",
    scorer="number",
    version=1,
    absent=False,
)
