"""Distractors that differ from the needle in one attribute: who said it, of what, from whom, or when.

`As Niamh tells it, the most useful tip came from a night nurse in 1987: "keep the ladder dry".` Which attribute a model
mistakes shows in which wrong saying it gives.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib import resources

from needlework.haystack_fixtures.draws import below, draws, sample, shuffled
from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.needles.needle import Needle
from needlework.haystack_fixtures.settings.settings import Suite
from needlework.haystack_fixtures.tasks.parts.people import draw_people
from needlework.haystack_fixtures.tasks.task import Asked, Task, labelled

_DISTRACTORS = {"d0": 0, "d1": 1, "d4": 4}
_ATTRIBUTES = ("person", "thing", "source", "year")
_STATEMENT = {
    "en": 'As {person} tells it, the most useful {thing} came from {source} in {year}: "{saying}".',
    "zh": "据{person}说，最有用的{thing}是{year}年{source}给的：“{saying}”。",
}
_QUESTION = {
    "en": "As {person} tells it, what was the most useful {thing} that came from {source} in {year}? Reply with its "
    "exact words only.",
    "zh": "据{person}说，{year}年{source}给的最有用的{thing}是什么？请只照原文回答。",
}


def _labels(suite: Suite) -> tuple[str, ...]:
    return tuple(labelled(name, suite) for name in _DISTRACTORS)


def _ask(suite: Suite, cell: Cell, seed: int) -> Asked:
    language = suite.language
    count = _DISTRACTORS[cell.needle.split("_")[0]]
    # The same draws for every number of distractors: more are the fewer ones and others.
    rng = draws("semantic", 1, seed, cell.repeat, language)
    things, sources, sayings = _tables(language)
    year = 1950 + below(rng, 70)
    pairs = {
        "person": draw_people(rng, language, 2),
        "thing": sample(rng, things, 2),
        "source": sample(rng, sources, 2),
        "year": [str(year), str(year + (1 + below(rng, 9)) * (1 if below(rng, 2) else -1))],
    }
    right, *wrong = sample(rng, sayings, 1 + len(_ATTRIBUTES))
    true = {name: pair[0] for name, pair in pairs.items()}
    changed = shuffled(rng, _ATTRIBUTES)[:count]
    question = _QUESTION[language].format(**true)
    text = _STATEMENT[language].format(**true, saying=right)
    wrong = wrong[:count]
    assert cell.depth is not None
    return Asked(
        needles=(Needle("saying", text, question, right, key=true["person"], distractor_answers=tuple(wrong)),),
        depths=(cell.depth,),
        question=question,
        answer=right,
        reference={
            "answers": (right,),
            "statement": text,
            "distractors": tuple(wrong),
            "places": {right: cell.depth}
            | {saying: round(100 * (number + 1) / (count + 1), 2) for number, saying in enumerate(wrong)},
            "kinds": dict(zip(wrong, changed, strict=True)),
            "question": question,
            "language": language,
        },
        distractors=tuple(
            _STATEMENT[language].format(**{**true, name: pairs[name][1]}, saying=saying)
            for name, saying in zip(changed, wrong, strict=True)
        ),
        avoid=(*wrong, pairs["person"][1]),
    )


@cache
def _tables(language: str) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Things, sources and sayings."""
    file = resources.files("needlework.haystack_fixtures.tasks") / "data" / "semantic.toml"
    table = tomllib.loads(file.read_text(encoding="utf-8"))[language]
    things, sources, sayings = (
        tuple(entry.strip() for entry in re.split("[;\n]", table[name].strip()))
        for name in ("things", "sources", "sayings")
    )
    return things, sources, sayings


TASK = Task(
    "semantic",
    "a needle among sentences that differ from it in one attribute",
    _labels,
    lambda suite: suite.depths,
    _ask,
    scorer="confusion",
    version=1,
)
TASKS = (TASK,)
