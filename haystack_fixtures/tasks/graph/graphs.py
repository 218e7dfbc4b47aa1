"""Directed graphs with a question whose answer stays the same however many edges follow.

What the answer rests on is drawn first. The edges that fill the length never leave a node that a search passes before
its last step, and never lead into the node whose parents are asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from random import Random

from needlework.haystack_fixtures.draws import below, pick, sample
from needlework.haystack_fixtures.tasks.graph.names import Names

SIZES = (1, 2, 3, 5, 8, 13, 21)  # of answers that are not empty
EMPTY = 0.1  # share of empty answers
_DEGREES = (1, 1, 2, 2, 3, 4)  # edges that leave a node of the rest, most times
_HUBS = 0.04  # share of nodes that as many leave as may leave an asked one
_NEW = 0.5  # share of the rest's edges that lead to a node that was not there before
_TRIES = 8

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


def _size(rng: Random) -> int:
    """How many nodes an answer has."""
    empty, size = rng.random() < EMPTY, pick(rng, SIZES)
    return 0 if empty else size


def _walked(start: str, edges: list[Edge], steps: int) -> set[str]:
    """Where walks of so many steps end, nodes seen before included."""
    here = {start}
    for _ in range(steps):
        here = {target for source, target in edges if source in here}
    return here
