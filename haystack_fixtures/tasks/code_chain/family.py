"""What does a function return that calls another that calls another? (The form of InfiniteBench's Code.Run.)

The functions of the chain stand in any order among others, which call each other and those of the chain too. Nothing
calls itself, on no way: the text is a program that can be run.
"""

from __future__ import annotations

from itertools import islice

from needlework.haystack_fixtures.draws import below, draws, pick
from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.haystacks.listing import Listing
from needlework.haystack_fixtures.needles.needle import Needle
from needlework.haystack_fixtures.settings.settings import Suite
from needlework.haystack_fixtures.tasks.parts.nonsense import nonsense
from needlework.haystack_fixtures.tasks.task import Asked, Task, labelled, no_depths

_DEPTHS = (2, 4, 6, 8, 10)  # functions of a chain
_LARGEST = 20
_LOWEST = 300  # of arguments: no result is negative
_LEAF = 0.25  # share of the other functions that call none
_QUESTION = {
    "en": "The document defines functions in Python. What does {call} return? Reply with the number only.",
    "zh": "文档用Python定义了一些函数。{call}的返回值是多少？请只回答这个数。",
}


def _define(name: str, called: str, added: int) -> str:
    """One line that defines a function; it calls another, or none."""
    inner = f"{called}(x)" if called else "x"
    return f"def {name}(x): return {inner} {'-' if added < 0 else '+'} {abs(added)}"


def _others(seed: int, repeat: int, label: str, taken: tuple[str, ...], count: int) -> list[str]:
    """The first of the functions that the answer does not rest on; each calls one above it, or one that is taken."""
    rng = draws("code_chain", 1, seed, repeat, label, "others")
    known = list(taken)
    lines: list[str] = []
    for name in islice((name for name in nonsense(rng) if name not in taken), count):
        called = "" if rng.random() < _LEAF else pick(rng, known)
        lines.append(f"{_define(name, called, _step(1 + below(rng, 2 * _LARGEST)))}\n")
        known.append(name)
    return lines


def _step(number: int) -> int:
    """Of numbers from 1 to twice the largest step: 1 to the largest, and -1 down to its negative."""
    return number if number <= _LARGEST else _LARGEST - number


def _ask(suite: Suite, cell: Cell, seed: int) -> Asked:
    label = cell.needle.partition("_")[0]
    count = int(label.removeprefix("d"))
    rng = draws("code_chain", 1, seed, cell.repeat, label)
    names = tuple(islice(nonsense(rng), count))
    steps = [0]
    while sum(steps) == 0:  # the answer is not the argument
        steps = [_step(1 + below(rng, 2 * _LARGEST)) for _ in names]
    argument = _LOWEST + below(rng, 1000 - _LOWEST)
    question = _QUESTION[suite.language].format(call=f"{names[0]}({argument})")
    answer = str(argument + sum(steps))
    return Asked(
        needles=tuple(
            Needle(f"call{number}", _define(name, called, step), question, "")
            for number, (name, called, step) in enumerate(zip(names, (*names[1:], ""), steps, strict=True), 1)
        ),
        depths=tuple(round(100 * rng.random(), 2) for _ in names),
        question=question,
        answer=answer,
        reference={"answers": (answer,), "question": question, "language": suite.language},
        context=Listing(lambda n: _others(seed, cell.repeat, label, names, n)),
    )


TASK = Task(
    "code_chain",
    "what a chain of function calls returns",
    lambda suite: tuple(labelled(f"d{count}", suite) for count in _DEPTHS),
    no_depths,
    _ask,
    scorer="number",
    version=1,
)
TASKS = (TASK,)
