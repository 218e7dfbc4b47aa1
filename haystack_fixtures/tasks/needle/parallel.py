"""One needle at each depth, all asked for at once (NeedleBench's multi retrieval, M-RT)."""

from __future__ import annotations

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.needles.needle_sets import draw_set
from needlework.haystack_fixtures.settings.settings import Suite
from needlework.haystack_fixtures.tasks.task import Asked, Task, labelled, no_depths


def _labels(suite: Suite) -> tuple[str, ...]:
    if suite.needle_set != "codes":
        raise InputError("--needle-set", suite.needle_set, "task parallel draws one needle per depth: use codes")
    return (labelled(suite.needle_set, suite),)


def _ask(suite: Suite, cell: Cell, seed: int) -> Asked:
    drawn = draw_set(suite.needle_set, suite.language, seed=seed, repeat=cell.repeat, count=len(suite.depths))
    assert drawn.joint is not None
    values = tuple(needle.answer for needle in drawn.needles)
    return Asked(
        needles=drawn.needles,
        depths=suite.depths,
        question=drawn.joint.question,
        answer=drawn.joint.answer,
        reference={
            "answers": (),
            "parts": values,
            "statement": drawn.joint.answer,
            "question": drawn.joint.question,
            "language": suite.language,
        },
        joint=True,
    )


TASK = Task(
    "parallel",
    "one needle at each depth, all asked for at once",
    _labels,
    no_depths,
    _ask,
    family="needle",
)
