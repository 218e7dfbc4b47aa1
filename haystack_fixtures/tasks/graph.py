"""Graph walks, generated."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib import resources
from itertools import islice, pairwise
from math import ceil
from random import Random

from needlework.core.draws import below, draws, pick, sample
from needlework.core.grid import Cell
from needlework.core.prompts import Needle
from needlework.core.settings import Suite
from needlework.haystack_fixtures.haystacks.listing import Listing
from needlework.haystack_fixtures.tasks.statements import fitting, long_enough
from needlework.haystack_fixtures.tasks.task import Question, Task, labelled, no_depths, without_language

# OpenAI's GraphWalks.)
#
# The graph is a list of edges, those that the answer rests on anywhere among them. Answer and question are the same at
# every length: a longer text has more edges, none of which changes them.
_STEPS = {"d1": 1, "d2": 2, "d3": 3, "d4": 4}
_MOST_EDGES = {"d1": 21, "d2": 42, "d3": 52, "d4": 62, "parents": 26}


def _question(label: str, start: str, language: str) -> str:
    words = _questions()[language]
    asked = words["bfs" if label in _STEPS else "parents"].format(start=start, steps=_STEPS.get(label))
    return f"{asked}{words['answer']}"


@cache
def _questions() -> dict[str, dict[str, str]]:
    file = resources.files("needlework.haystack_fixtures.tasks") / "data" / "graph.toml"
    return tomllib.loads(file.read_text(encoding="utf-8"))


def _ask(suite: Suite, cell: Cell, seed: int) -> Question:
    label = cell.needle.partition("_")[0]
    recipe = ("graph", 1, seed, cell.repeat, label)
    key = f"{draws(*recipe, 'names').random():.12f}"
    rng = draws(*recipe)
    names = Names(rng, key)
    around = levels_around(rng, names, _STEPS[label]) if label in _STEPS else parents_around(rng, names)
    question = _question(label, around.start, suite.language)
    return Question(
        needles=tuple(Needle(f"edge{n}", _line(edge), question, "") for n, edge in enumerate(around.edges, 1)),
        depths=tuple(round(100 * rng.random(), 2) for _ in around.edges),
        question=question,
        answer=f"Final Answer: [{', '.join(around.answer)}]",
        reference={
            "answers": around.answer,
            "parts": around.answer,
            "kinds": {node: kind for node, kind in around.kinds.items() if node not in around.answer},
            "name_key": key,
            "question": question,
            "language": suite.language,
            "chance": 0.0,
            "floor": EMPTY,
        },
        context=Listing(lambda n: _rest(recipe, key, around, n)),
        verbatim=True,
    )


def _rest(recipe: tuple[object, ...], key: str, around: Neighbourhood, count: int) -> list[str]:
    """The first of the lines that the answer does not rest on."""
    rng = draws(*recipe, "rest")
    names = Names(rng, key)
    names.avoid({node for edge in around.edges for node in edge})
    return [f"{_line(edge)}\n" for edge in islice(further_edges(rng, names, around), count)]


def _line(edge: Edge) -> str:
    return f"{edge[0]} -> {edge[1]}"


def _lengths(suite: Suite, label: str) -> tuple[int, ...]:
    return long_enough(suite, _MOST_EDGES[without_language(label, suite)])


def _task(name: str, about: str, labels: tuple[str, ...]) -> Task:
    sizes = {label: _MOST_EDGES[label] for label in labels}
    return Task(
        name,
        about,
        lambda suite: tuple(labelled(label, suite) for label in fitting(suite, sizes)),
        no_depths,
        _ask,
        family="graph",
        scorer="node_set",
        absent=False,
        lengths=_lengths,
    )


def levels_around(rng: Random, names: Names, steps: int) -> Neighbourhood:
    """A breadth-first search of so many steps: the answer is what it first reaches with the last of them.

    From two steps on, some edges lead back and some stay on their level, so that walks of as many steps reach other
    nodes too.
    """
    size = _size(rng)
    reach = steps if size else steps - 1
    widest = size or pick(rng, SIZES[1:4])
    levels = [[names.draw()]]
    widths = [max(1, ceil(widest ** (step / reach) - 1e-9)) for step in range(1, reach + 1)]
    levels += [[names.draw() for _ in range(width)] for width in widths]
    edges: dict[Edge, None] = {}
    for above, level in pairwise(levels):
        for node in level:
            edges[pick(rng, above), node] = None
            if len(above) > 1 and rng.random() < 1 / 3:
                edges[pick(rng, above), node] = None
    for at in range(1, min(reach, steps - 1) + 1):
        edges[pick(rng, levels[at]), pick(rng, levels[below(rng, at)])] = None
        if len(levels[at]) > 1:
            one, other = sample(rng, levels[at], 2)
            edges[one, other] = None
    if reach == 0:  # the start has an edge all the same
        caller = names.draw()
        edges[caller, levels[0][0]] = None
    answer = tuple(levels[steps]) if reach == steps else ()
    passed = {node for level in levels[:steps] for node in level}
    walked = _walked(levels[0][0], list(edges), steps)
    return Neighbourhood(
        start=levels[0][0],
        answer=answer,
        edges=tuple(edges),
        open=answer,
        closed=frozenset(),
        kinds={node: "start" if node == levels[0][0] else "earlier" for node in walked & passed}
        | {levels[0][0]: "start"},
    )


class Names:
    """Draws names of ten digits, all different in their first six; none could be read as a number."""

    def __init__(self, rng: Random, key: str) -> None:
        self._rng = rng
        self._key = key
        self._begun: set[str] = set()

    def avoid(self, names: Iterable[str]) -> None:
        """Draw none that begins like one of these."""
        self._begun.update(name[:_APART] for name in names)

    def draw(self) -> str:
        """A further name."""
        while True:
            drawn = "".join(_DIGITS[int(self._rng.random() * len(_DIGITS))] for _ in range(_DRAWN))
            name = drawn + mark(self._key, drawn)
            if drawn[:_APART] not in self._begun and sum(each.isalpha() for each in name) > 1:
                self._begun.add(drawn[:_APART])
                return name


def _walked(start: str, edges: list[Edge], steps: int) -> set[str]:
    """Where walks of so many steps end, nodes seen before included."""
    here = {start}
    for _ in range(steps):
        here = {target for source, target in edges if source in here}
    return here


Edge = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """What an answer rests on. `answer`: nodes. `edges`: in no order. `open`: nodes that further edges may leave.

    `closed`: the nodes that none may lead to. `kinds`: what wrong nodes are, by node.
    """

    start: str
    answer: tuple[str, ...]
    edges: tuple[Edge, ...]
    open: tuple[str, ...]
    closed: frozenset[str]
    kinds: dict[str, str]


def _size(rng: Random) -> int:
    """How many nodes an answer has."""
    empty, size = rng.random() < EMPTY, pick(rng, SIZES)
    return 0 if empty else size


# What the answer rests on is drawn first. The edges that fill the length never leave a node that a search passes before
# its last step, and never lead into the node whose parents are asked for.
SIZES = (1, 2, 3, 5, 8, 13, 21)  # of answers that are not empty
EMPTY = 0.1  # share of empty answers


def further_edges(rng: Random, names: Names, around: Neighbourhood) -> Iterator[Edge]:
    """Edges without end that leave the answer as it is; none comes twice, none leads from a node to itself.

    Each leaves a node drawn from those with room; half of them lead to a new node, so every new node is led to.
    """
    known = sorted({node for edge in around.edges for node in edge} - around.closed)
    seen = set(around.edges)
    room: list[str] = []  # a node as often as edges may still leave it

    def admit(node: str) -> None:
        room.extend([node] * (SIZES[below(rng, len(SIZES))] if rng.random() < _HUBS else pick(rng, _DEGREES)))

    for node in around.open:
        admit(node)
    while True:
        if not room:
            known.append(names.draw())
            admit(known[-1])
        at = below(rng, len(room))
        source, room[at] = room[at], room[-1]
        room.pop()
        target = source
        if rng.random() >= _NEW:
            tried = (pick(rng, known) for _ in range(_TRIES))
            target = next((node for node in tried if node != source and (source, node) not in seen), source)
        if target == source:
            target = names.draw()
            known.append(target)
            admit(target)
        seen.add((source, target))
        yield source, target


_DEGREES = (1, 1, 2, 2, 3, 4)  # edges that leave a node of the rest, most times
_NEW = 0.5  # share of the rest's edges that lead to a node that was not there before
_TRIES = 8
_HUBS = 0.04  # share of nodes that as many leave as may leave an asked one


def parents_around(rng: Random, names: Names) -> Neighbourhood:
    """A node with the sources of the edges that lead into it, and some that its own edges lead to."""
    start = names.draw()
    parents = [names.draw() for _ in range(_size(rng))]
    children = [names.draw() for _ in range(pick(rng, SIZES[:4]))]
    edges = [(parent, start) for parent in parents] + [(start, child) for child in children]
    return Neighbourhood(
        start=start,
        answer=tuple(parents),
        edges=tuple(edges),
        open=(*parents, *children),
        closed=frozenset((start,)),
        kinds=dict.fromkeys(children, "child") | {start: "start"},
    )


BFS = _task("graph_bfs", "the nodes that a breadth-first search first reaches at a step", tuple(_STEPS))
PARENTS = _task("graph_parents", "the nodes with an edge to a node", ("parents",))
TASKS = (BFS, PARENTS)


_DIGITS = "0123456789abcdef"
_DRAWN, _MARK = 8, 2
_APART = 6  # no two names begin with the same


def mark(key: str, drawn: str) -> str:
    """The last digits of a name: one that is made up has them once in 256 times. `node_set` computes the same."""
    return sha256(f"{key} {drawn}".encode()).hexdigest()[:_MARK]
