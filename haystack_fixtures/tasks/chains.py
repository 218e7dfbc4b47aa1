"""Chains: of statements, and of functions in code."""

from collections.abc import Sequence
from itertools import islice
from random import Random
from typing import NamedTuple

from needlework.core.draws import below, draws, pick, sample, shuffled
from needlework.core.grid import Cell
from needlework.core.prompts import Needle
from needlework.core.settings import Suite
from needlework.haystack_fixtures.haystacks.listing import Listing
from needlework.haystack_fixtures.tasks.statements import draw_numbers, fitting_labels, fitting_lengths, stratified
from needlework.haystack_fixtures.tasks.task import Question, Task, our_task
from needlework.haystack_fixtures.tasks.words import nonsense, table

# A chain of h hops has h + 1 names; c chains have different values, and the first is asked about. `forward`: every name
# is explained before it is used; `shuffled`: in any order. `all`: every name of a value; `last`: the value of the last
# name.
_SHAPES = ("h1_c1_forward", "h2_c2_forward", "h4_c2_forward", "h4_c2_shuffled", "h8_c4_shuffled")
_LAST_SHAPES = ("h1_c2_forward", *_SHAPES[1:])  # of one chain alone there is no wrong value
# Names of consonants alone are words of no language that is asked here; no two begin with the same two letters.
_LETTERS = "BCDFGHJKLMNPQRSTVWXZ"


class _Link(NamedTuple):
    """A name of a chain, and the value or name that it is equal to."""

    chain: int
    hop: int
    name: str
    source: str


def _shape(variant: str) -> tuple[int, int, str, str]:
    """Hops, chains, order and question of a variant."""
    hops, chains, order, kind, *_ = variant.split("_")
    return int(hops[1:]), int(chains[1:]), order, kind


def _chain(suite: Suite, cell: Cell, seed: int) -> Question:
    hops, chains, order, kind = _shape(cell.needle)
    language = suite.language
    # The same draws for both questions.
    rng = draws("chain", 1, seed, cell.repeat, hops, chains, order, language)
    heads = sample(rng, [first + second for first in _LETTERS for second in _LETTERS], chains * (hops + 1))
    names = [head + "".join(pick(rng, _LETTERS) for _ in range(3)) for head in heads]
    values = draw_numbers(rng, chains, 5)
    links = []
    for at, name in enumerate(names):
        chain, hop = divmod(at, hops + 1)
        links.append(_Link(chain, hop, name, names[at - 1] if hop else values[chain]))
    ordered = _ordered(rng, links, hops, order)
    forms = table("chains", language)
    own_names = tuple(link.name for link in ordered if link.chain == 0)
    if kind == "all":
        others = tuple(link.name for link in ordered if link.chain)
        answer, right = "\n".join(own_names), {"answers": (), "parts": own_names, "distractors": others}
    else:
        answer, right = values[0], {"answers": (values[0],), "distractors": tuple(values[1:])}
    return Question(
        needles=tuple(
            Needle(
                f"chain{link.chain + 1}_{link.hop}",
                forms["next" if link.hop else "first"].format(name=link.name, value=link.source, other=link.source),
                key=link.name,
            )
            for link in ordered
        ),
        depths=stratified(rng, len(ordered)),
        question=forms[kind].format(value=values[0], name=names[hops]),
        answer=answer,
        reference=right,
        avoid=tuple(values),
        needed=tuple(number for number, link in enumerate(ordered) if link.chain == 0),
    )


def _ordered(rng: Random, links: list[_Link], hops: int, order: str) -> list[_Link]:
    """The links in the order of the document; forward ones of all chains by turns at random."""
    mixed = shuffled(rng, links)
    if order == "forward":
        waiting = [iter(links[start : start + hops + 1]) for start in range(0, len(links), hops + 1)]
        return [next(waiting[link.chain]) for link in mixed]
    while [link.hop for link in mixed if link.chain == 0] == list(range(hops + 1)):
        mixed = shuffled(rng, links)
    return mixed


# The functions of the chain stand in any order among others, which call each other and those of the chain too. Nothing
# calls itself, directly or not: the text is a program that can be run.
_LARGEST = 20
_LOWEST = 300  # of arguments: no result is negative
_LEAF = 0.25  # share of the other functions that call none


def _define(name: str, called: str, added: int) -> str:
    """One line that defines a function; it calls another, or none."""
    inner = f"{called}(x)" if called else "x"
    return f"def {name}(x): return {inner} {'-' if added < 0 else '+'} {abs(added)}"


def _other_functions(seed: int, repeat: int, label: str, taken: tuple[str, ...], count: int) -> list[str]:
    """The first functions that the answer does not rest on; each calls an earlier one, or one of `taken`."""
    rng = draws("code_chain", 1, seed, repeat, label, "others")
    known = list(taken)
    lines: list[str] = []
    for name in islice((name for name in nonsense(rng) if name not in taken), count):
        called = "" if rng.random() < _LEAF else pick(rng, known)
        lines.append(f"{_define(name, called, _draw_step(rng))}\n")
        known.append(name)
    return lines


def _draw_step(rng: Random) -> int:
    """1 to the largest, or -1 down to its negative."""
    number = 1 + below(rng, 2 * _LARGEST)
    return number if number <= _LARGEST else _LARGEST - number


def _code_chain(suite: Suite, cell: Cell, seed: int) -> Question:
    label = cell.needle.partition("_")[0]
    rng = draws("code_chain", 1, seed, cell.repeat, label)
    names = tuple(islice(nonsense(rng), int(label.removeprefix("d"))))
    steps = [0]
    while sum(steps) == 0:  # the answer is not the argument
        steps = [_draw_step(rng) for _ in names]
    argument = _LOWEST + below(rng, 1000 - _LOWEST)
    question = table("chains", suite.language)["code_chain"].format(call=f"{names[0]}({argument})")
    answer = str(argument + sum(steps))
    return Question(
        needles=tuple(
            Needle(f"call{number}", _define(name, called, step), question, "")
            for number, (name, called, step) in enumerate(zip(names, (*names[1:], ""), steps, strict=True), 1)
        ),
        depths=tuple(round(100 * rng.random(), 2) for _ in names),
        question=question,
        answer=answer,
        reference={"answers": (answer,)},
        context=Listing(lambda n: _other_functions(seed, cell.repeat, label, names, n)),
    )


def _task(name: str, shapes: Sequence[str], kind: str) -> Task:
    sizes = {}
    for shape in shapes:
        hops, chains, *_ = _shape(f"{shape}_{kind}")
        sizes[f"{shape}_{kind}"] = (hops + 1) * chains
    return our_task(name, _chain, labels=fitting_labels(sizes), lengths=fitting_lengths(sizes))


TASKS = (
    our_task("code_chain", _code_chain),
    _task("chain", _SHAPES, "all"),
    _task("chain_last", _LAST_SHAPES, "last"),
)
