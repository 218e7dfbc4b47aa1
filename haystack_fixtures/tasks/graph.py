"""Graph walks, generated, after OpenAI's GraphWalks.

The graph is a list of edges, those that the answer rests on anywhere among them. What the answer rests on is drawn
first. The edges that fill the length never leave a node that a search passes before its last step, and never lead into
the node whose parents are asked for: so answer and question are the same at every length.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice, pairwise
from math import ceil
from random import Random

from needlework.core.draws import below, draws, pick, sample
from needlework.core.grid import Cell
from needlework.core.prompts import Needle
from needlework.core.settings import Suite
from needlework.haystack_fixtures.haystacks.listing import Listing
from needlework.haystack_fixtures.tasks.statements import fitting_labels, fitting_lengths
from needlework.haystack_fixtures.tasks.task import Question, our_task
from needlework.haystack_fixtures.tasks.words import table

_MOST_EDGES = {"d1": 21, "d2": 42, "d3": 52, "d4": 62}
_MOST_PARENT_EDGES = {"parents": 26}
_SIZES = (1, 2, 3, 5, 8, 13, 21)  # of answers that are not empty
_EMPTY = 0.1  # share of empty answers
_DEGREES = (1, 1, 2, 2, 3, 4)  # edges that leave a node of the rest, most times
_HUBS = 0.04  # share of nodes that as many leave as may leave an asked one
_NEW = 0.5  # share of the rest's edges that lead to a node that was not there before
_TRIES = 8
_DIGITS = "0123456789abcdef"
_DRAWN, _MARK = 8, 2  # digits of a name
_APART = 6  # no two names begin with the same
Edge = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """The nodes and edges that an answer rests on."""

    start: str
    answer: tuple[str, ...]  # nodes
    edges: tuple[Edge, ...]  # in no order
    open: tuple[str, ...]  # nodes that further edges may leave
    closed: frozenset[str]  # nodes that none may lead to
    kinds: dict[str, str]  # what wrong nodes are, by node


class NodeNames:
    """Draws names of ten digits, all different in their first six; none could be read as a number."""

    def __init__(self, rng: Random, key: str, avoided: Iterable[str] = ()) -> None:
        self._rng = rng
        self._key = key
        self._begun = {name[:_APART] for name in avoided}

    def draw(self) -> str:
        """A further name. One that is made up ends like it once in 256 times; `node_set` computes the same."""
        while True:
            drawn = "".join(_DIGITS[int(self._rng.random() * len(_DIGITS))] for _ in range(_DRAWN))
            name = drawn + sha256(f"{self._key} {drawn}".encode()).hexdigest()[:_MARK]
            if drawn[:_APART] not in self._begun and sum(each.isalpha() for each in name) > 1:
                self._begun.add(drawn[:_APART])
                return name


def _draw_size(rng: Random) -> int:
    """Draw the number of nodes of an answer."""
    empty, size = rng.random() < _EMPTY, pick(rng, _SIZES)
    return 0 if empty else size


def _levels_around(rng: Random, names: NodeNames, steps: int) -> Neighbourhood:
    """A breadth-first search of so many steps: the answer is what it first reaches with the last of them.

    From two steps on, some edges lead back and some stay on their level, so that walks of as many steps reach other
    nodes too.
    """
    size = _draw_size(rng)
    reach = steps if size else steps - 1
    widest = size or pick(rng, _SIZES[1:4])
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
    start = levels[0][0]
    if reach == 0:  # the start has an edge all the same
        edges[names.draw(), start] = None
    answer = tuple(levels[steps]) if reach == steps else ()
    walked = {start}
    for _ in range(steps):
        walked = {target for source, target in edges if source in walked}
    passed = {node for level in levels[:steps] for node in level}
    kinds = dict.fromkeys(walked & passed, "earlier") | {start: "start"}
    return Neighbourhood(start, answer, tuple(edges), answer, frozenset(), kinds)


def _parents_around(rng: Random, names: NodeNames) -> Neighbourhood:
    """A node with the sources of the edges that lead into it, and some that its own edges lead to."""
    start = names.draw()
    parents = tuple(names.draw() for _ in range(_draw_size(rng)))
    children = tuple(names.draw() for _ in range(pick(rng, _SIZES[:4])))
    edges = (*((parent, start) for parent in parents), *((start, child) for child in children))
    kinds = dict.fromkeys(children, "child") | {start: "start"}
    return Neighbourhood(start, parents, edges, (*parents, *children), frozenset((start,)), kinds)


def _further_edges(rng: Random, names: NodeNames, neighbourhood: Neighbourhood) -> Iterator[Edge]:
    """Endless edges that leave the answer as it is; none comes twice, none is a loop.

    Each leaves a node drawn from those with room; half of them lead to a new node, so every new node is led to.
    """
    known = sorted({node for edge in neighbourhood.edges for node in edge} - neighbourhood.closed)
    seen = set(neighbourhood.edges)
    room: list[str] = []  # a node as often as edges may still leave it

    def admit(node: str) -> None:
        room.extend([node] * (_SIZES[below(rng, len(_SIZES))] if rng.random() < _HUBS else pick(rng, _DEGREES)))

    for node in neighbourhood.open:
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


def _line(edge: Edge) -> str:
    return f"{edge[0]} -> {edge[1]}"


def _ask(suite: Suite, cell: Cell, seed: int) -> Question:
    label = cell.needle.partition("_")[0]
    steps = 0 if label == "parents" else int(label[1:])
    recipe = ("graph", 1, seed, cell.repeat, label)
    key = f"{draws(*recipe, 'names').random():.12f}"
    rng = draws(*recipe)
    names = NodeNames(rng, key)
    neighbourhood = _levels_around(rng, names, steps) if steps else _parents_around(rng, names)
    sentences = table("graph", suite.language)
    operation = sentences["bfs" if steps else "parents"].format(start=neighbourhood.start, steps=steps)
    question = f"{operation}{sentences['answer']}"

    def other_lines(count: int) -> list[str]:
        """The first of the lines that the answer does not rest on."""
        rest = draws(*recipe, "rest")
        other_names = NodeNames(rest, key, {node for edge in neighbourhood.edges for node in edge})
        return [f"{_line(edge)}\n" for edge in islice(_further_edges(rest, other_names, neighbourhood), count)]

    return Question(
        needles=tuple(Needle(f"edge{n}", _line(edge), question, "") for n, edge in enumerate(neighbourhood.edges, 1)),
        depths=tuple(round(100 * rng.random(), 2) for _ in neighbourhood.edges),
        question=question,
        answer=f"Final Answer: [{', '.join(neighbourhood.answer)}]",
        reference={
            "answers": neighbourhood.answer,
            "parts": neighbourhood.answer,
            "kinds": {node: kind for node, kind in neighbourhood.kinds.items() if node not in neighbourhood.answer},
            "name_key": key,
            "chance": 0.0,
            "floor": _EMPTY,
        },
        context=Listing(other_lines),
        verbatim=True,
    )


TASKS = tuple(
    our_task(name, _ask, labels=fitting_labels(sizes), lengths=fitting_lengths(sizes))
    for name, sizes in (("graph_bfs", _MOST_EDGES), ("graph_parents", _MOST_PARENT_EDGES))
)
