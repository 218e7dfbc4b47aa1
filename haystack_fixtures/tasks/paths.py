"""Tasks on links to follow: chains of statements, functions in code, walks in a graph."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice, pairwise
from math import ceil
from random import Random
from typing import NamedTuple

from needlework.core.draws import below, draws, pick, sample, shuffled
from needlework.core.grid import Cell
from needlework.core.prompts import Needle
from needlework.core.settings import Suite
from needlework.haystack_fixtures.haystacks.listing import Listing
from needlework.haystack_fixtures.tasks.statements import draw_numbers, fitting, stratified
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
_MOST_ADDED = 20
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
    """Draw 1 to `_MOST_ADDED`, or -1 to its negative."""
    number = 1 + below(rng, 2 * _MOST_ADDED)
    return number if number <= _MOST_ADDED else _MOST_ADDED - number


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


def _chain_task(name: str, shapes: Sequence[str], kind: str) -> Task:
    sizes = {}
    for shape in shapes:
        hops, chains, *_ = _shape(f"{shape}_{kind}")
        sizes[f"{shape}_{kind}"] = (hops + 1) * chains
    return our_task(name, _chain, **fitting(sizes))


# Graph walks, after OpenAI's GraphWalks. The graph is a list of edges, those that the answer rests on anywhere among
# them. What the answer rests on is drawn first. The edges that fill the length never leave a node that a search passes
# before its last step, and never lead into the node whose parents are asked for: so answer and question are the same at
# every length.
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


def _graph(suite: Suite, cell: Cell, seed: int) -> Question:
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


TASKS = (
    our_task("code_chain", _code_chain),
    _chain_task("chain", _SHAPES, "all"),
    _chain_task("chain_last", _LAST_SHAPES, "last"),
    our_task("graph_bfs", _graph, **fitting(_MOST_EDGES)),
    our_task("graph_parents", _graph, **fitting(_MOST_PARENT_EDGES)),
)
