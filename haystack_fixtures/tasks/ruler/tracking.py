"""RULER's variable tracking: a chain of assignments between lines of noise, all of whose names have one value."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from string import ascii_uppercase

from needlework.haystack_fixtures.corpora.noise import UNIT
from needlework.haystack_fixtures.draws import below, draws, pick, sample
from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.haystacks.listing import Listing
from needlework.haystack_fixtures.needles.needle import Needle
from needlework.haystack_fixtures.settings.settings import Suite
from needlework.haystack_fixtures.tasks.ruler.protocol import DEPTHS, FAMILY, VERSION, seeds
from needlework.haystack_fixtures.tasks.task import Asked, Task, labelled, no_depths

HOPS = 4
_LETTERS, _EXAMPLE_LETTERS = 5, 3
_EXAMPLE_LINES = 15  # of noise in the example, about 500 tokens in all

_INTRODUCTION = {
    "en": "The text below hides a chain of variable assignments. Keep in mind which value every variable has.\n\n",
    "zh": "下面的文字中藏有一串变量赋值。请记住每个变量的值。\n\n",
}
_QUESTION = {
    "en": "Question: Which variables have the value {value} in the text above? Name all {count} of them.",
    "zh": "问题：上面的文字中，哪些变量的值是{value}？请写出全部{count}个。",
}
_PREFIX = {
    "en": "Answer: By the assignments in the text above, {count} variables have the value {value}. They are:",
    "zh": "答案：根据上面文字中的赋值，有{count}个变量的值是{value}，它们是：",
}


def _ask(suite: Suite, cell: Cell, seed: int) -> Asked:
    parts, language = seeds("ruler_vt", suite, cell, seed), suite.language
    rng = draws(*parts)
    value, names = _chain(rng, _LETTERS)
    words = {"value": value, "count": HOPS + 1}
    question = _QUESTION[language].format(**words)
    line = f"{UNIT[language]}\n"
    return Asked(
        needles=tuple(
            Needle(f"hop{hop}", text, question, names[hop]) for hop, text in enumerate(_assignments(value, names))
        ),
        depths=tuple(sorted(sample(rng, DEPTHS, HOPS + 1))),
        question=question,
        answer=", ".join(names),
        reference={"answers": (), "parts": names, "question": question, "language": language},
        context=Listing(lambda count: [line] * count),
        introduction=_example(draws(*parts, "example"), value, language) + _INTRODUCTION[language],
        answer_prefix=_PREFIX[language].format(**words),
    )


def _chain(rng: Random, letters: int, unlike: str = "") -> tuple[str, tuple[str, ...]]:
    """A value, not `unlike`, and the names that have it."""
    value = next(drawn for drawn in _values(rng) if drawn != unlike)
    names: dict[str, None] = {}
    while len(names) <= HOPS:
        names["".join(pick(rng, ascii_uppercase) for _ in range(letters))] = None
    return value, tuple(names)


def _values(rng: Random) -> Iterator[str]:
    while True:
        yield str(10_000 + below(rng, 89_999))


def _assignments(value: str, names: tuple[str, ...]) -> list[str]:
    """`VAR ABCDE = 12345`, then each variable from the one before it."""
    sources = (value, *(f"VAR {name}" for name in names))
    return [f"VAR {name} = {source}" for name, source in zip(names, sources, strict=False)]


def _example(rng: Random, unlike: str, language: str) -> str:
    """A solved one, short, with shorter names."""
    value, names = _chain(rng, _EXAMPLE_LETTERS, unlike)
    lines = [UNIT[language]] * _EXAMPLE_LINES
    places = sorted(sample(rng, range(_EXAMPLE_LINES + 1), HOPS + 1), reverse=True)
    for place, text in zip(places, reversed(_assignments(value, names)), strict=True):
        lines.insert(place, text)
    words = {"value": value, "count": HOPS + 1}
    solved = f"{_PREFIX[language].format(**words)} {', '.join(names)}"
    return f"{_INTRODUCTION[language]}{chr(10).join(lines)}\n{_QUESTION[language].format(**words)}\n{solved}\n\n"


TASK = Task(
    "ruler_vt",
    f"the variables of a chain of {HOPS} hops, in noise",
    lambda suite: (labelled(f"hops{HOPS}", suite),),
    no_depths,
    _ask,
    family=FAMILY,
    scorer="ruler_all",
    version=VERSION,
    absent=False,
)
