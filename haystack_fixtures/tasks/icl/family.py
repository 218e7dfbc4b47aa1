"""Learning from examples in the prompt: nonsense inputs with the number of their class (the form of HELMET's ICL).

Every class has four words of its own. A shot has two of them and two that all classes share. The first two rounds of
shots show every word of every class, and every shared word with two classes. What is asked for is an input of shared
words and two words of one class that came apart there: only these tell the class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from random import Random
from typing import Any

from needlework.haystack_fixtures.draws import below, draws, pick, sample, shuffled
from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.haystacks.listing import Listing
from needlework.haystack_fixtures.settings.settings import Suite
from needlework.haystack_fixtures.tasks.parts.nonsense import nonsense
from needlework.haystack_fixtures.tasks.task import Asked, Task, labelled, no_depths

_CLASSES = 6
_OWN = 4  # words of a class
_SHARED = 2 * _CLASSES
_NUMBERS = range(10, 100)
_ROUNDS = ((0, 1), (2, 3))
_QUESTION = {
    "en": "Each line of the document gives an input and the number of its class. What is the number for the input "
    '"{text}"? Reply with the number only.',
    "zh": "文档的每一行给出一个输入和它所属类别的编号。输入“{text}”的编号是多少？请只回答编号。",
}


def _shot(
    rng: Random, place: int, number: int, own: Sequence[str], shared: Sequence[str], asked: Sequence[str] = ()
) -> str:
    """The input of a class's shot in a round; never the words that are asked about."""
    if place < len(_ROUNDS):
        pair = (number + place) % _CLASSES
        return " ".join(shuffled(rng, [own[word] for word in _ROUNDS[place]] + list(shared[2 * pair : 2 * pair + 2])))
    while True:
        words = sample(rng, own, 2) + sample(rng, shared, 2)
        if set(words) != set(asked):
            return " ".join(shuffled(rng, words))


def _ask(suite: Suite, cell: Cell, seed: int) -> Asked:
    rng = draws("icl", 1, seed, cell.repeat)
    found = list(islice(nonsense(rng), _CLASSES * _OWN + _SHARED))
    classes = [found[start : start + _OWN] for start in range(0, _CLASSES * _OWN, _OWN)]
    shared = found[_CLASSES * _OWN :]
    numbers = [str(number) for number in sample(rng, _NUMBERS, _CLASSES)]
    asked = below(rng, _CLASSES)
    text = " ".join(shuffled(rng, [classes[asked][pick(rng, part)] for part in _ROUNDS] + sample(rng, shared, 2)))
    question = _QUESTION[suite.language].format(text=text)

    def units(n: int) -> list[str]:
        shots = draws("icl", 1, seed, cell.repeat, "shots")
        lines: list[str] = []
        while len(lines) < n:
            place = len(lines) // _CLASSES
            lines += [
                f"{_shot(shots, place, number, classes[number], shared, text.split())} -> {numbers[number]}\n"
                for number in shuffled(shots, range(_CLASSES))
            ]
        return lines[:n]

    def resolve(n: int) -> tuple[str, Mapping[str, Any]]:
        return numbers[asked], {"shots": n}

    return Asked(
        needles=(),
        depths=(),
        question=question,
        answer=numbers[asked],
        reference={
            "answers": (numbers[asked],),
            "distractors": tuple(number for number in numbers if number != numbers[asked]),
            "question": question,
            "language": suite.language,
            "chance": 1 / _CLASSES,
            "floor": 1 / len(_NUMBERS),
        },
        context=Listing(units, resolve=resolve, fewest=_CLASSES * len(_ROUNDS)),
    )


TASK = Task(
    "icl",
    "the class of an input, learnt from the examples in the prompt",
    lambda suite: (labelled(f"c{_CLASSES}", suite),),
    no_depths,
    _ask,
    scorer="number",
    version=1,
    absent=False,
)
TASKS = (TASK,)
