"""Walks in graphs: which nodes does a breadth-first search reach at a step, which have an edge to a node? (The form of
OpenAI's GraphWalks.)

The graph is a list of edges, those that the answer rests on anywhere among them. Answer and question are the same at
every length: a longer text has more edges, none of which changes them.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from itertools import islice

from needlework.haystack_fixtures.draws import draws
from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.haystacks.listing import Listing
from needlework.haystack_fixtures.needles.needle import Needle
from needlework.haystack_fixtures.settings.settings import Suite
from needlework.haystack_fixtures.tasks.graph.graphs import (
    EMPTY,
    Edge,
    Neighbourhood,
    further_edges,
    levels_around,
    parents_around,
)
from needlework.haystack_fixtures.tasks.graph.names import Names
from needlework.haystack_fixtures.tasks.parts.fitting import fitting, long_enough
from needlework.haystack_fixtures.tasks.task import Asked, Task, labelled, no_depths, without_language

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


def _ask(suite: Suite, cell: Cell, seed: int) -> Asked:
    label = cell.needle.partition("_")[0]
    recipe = ("graph", 1, seed, cell.repeat, label)
    key = f"{draws(*recipe, 'names').random():.12f}"
    rng = draws(*recipe)
    names = Names(rng, key)
    around = levels_around(rng, names, _STEPS[label]) if label in _STEPS else parents_around(rng, names)
    question = _question(label, around.start, suite.language)
    return Asked(
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


BFS = _task("graph_bfs", "the nodes that a breadth-first search first reaches at a step", tuple(_STEPS))
PARENTS = _task("graph_parents", "the nodes with an edge to a node", ("parents",))
TASKS = (BFS, PARENTS)
