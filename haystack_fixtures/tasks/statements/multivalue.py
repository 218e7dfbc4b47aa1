"""All values at once: several values of one key (`multivalue`), or the values of several keys (`multiquery`)."""

from __future__ import annotations

from functools import partial

from needlework.haystack_fixtures.draws import draws, shuffled
from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.needles.needle import Needle
from needlework.haystack_fixtures.settings.settings import Suite
from needlework.haystack_fixtures.tasks.parts.statement_keys import (
    draw_keys,
    draw_kind,
    draw_values,
    statement,
    stratified,
)
from needlework.haystack_fixtures.tasks.task import Asked, Task, labelled, no_depths

_COUNT = 4
_ONE_OF = {"en": "One {kind} code for {key} is {value}.", "zh": "{key}的{kind}代码之一是{value}。"}
_VALUES = {
    "en": "Which {kind} codes for {key} does the document give? Reply with all of them and nothing else, one per line.",
    "zh": "文档给出了{key}的哪些{kind}代码？请只列出全部代码，每行一个。",
}
_QUERIES = {
    "en": "What are the {kind} codes for {keys}? Reply with the {count} codes and nothing else, one per line, in this "
    "order.",
    "zh": "{keys}的{kind}代码分别是什么？请只回答这{count}个代码，按此顺序，每行一个。",
}
_AND = {"en": (", ", " and "), "zh": ("、", "和")}


def _ask(task: str, suite: Suite, cell: Cell, seed: int) -> Asked:
    language = suite.language
    rng = draws(task, 1, seed, cell.repeat, language)
    kind, values, depths = draw_kind(rng, language), draw_values(rng, _COUNT), stratified(rng, _COUNT)
    several = task == MULTIQUERY.name
    keys = draw_keys(rng, language, _COUNT if several else 1)
    if several:
        order = shuffled(rng, range(_COUNT))  # not the document's
        comma, last = _AND[language]
        listed = f"{comma.join(keys[number] for number in order[:-1])}{last}{keys[order[-1]]}"
        question = _QUERIES[language].format(kind=kind, keys=listed, count=_COUNT)
        texts = [statement(language, kind, *pair) for pair in zip(keys, values, strict=True)]
    else:
        order = list(range(_COUNT))
        question = _VALUES[language].format(kind=kind, key=keys[0])
        texts = [_ONE_OF[language].format(kind=kind, key=keys[0], value=value) for value in values]
    owners = keys if several else keys * _COUNT
    needles = tuple(
        Needle(f"code{rank + 1}", text, question, value, key=key)
        for rank, (text, value, key) in enumerate(zip(texts, values, owners, strict=True))
    )
    return Asked(
        needles=needles,
        depths=depths,
        question=question,
        answer="\n".join(values[number] for number in order),
        reference={
            "answers": (),
            "parts": tuple(values),
            "places": dict(zip(values, depths, strict=True)),
            "question": question,
            "language": language,
        },
    )


def _task(name: str, about: str, label: str) -> Task:
    return Task(
        name,
        about,
        lambda suite: (labelled(label, suite),),
        no_depths,
        partial(_ask, name),
        scorer="set_f1",
        version=1,
    )


MULTIVALUE = _task("multivalue", "all values of one key", f"v{_COUNT}")
MULTIQUERY = _task("multiquery", "the values of several keys", f"q{_COUNT}")
