"""One needle in a haystack, one question about it."""

from __future__ import annotations

from zlib import crc32

from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.needles.needle_sets import EACH, draw_set, needle_names
from needlework.haystack_fixtures.settings.settings import Suite
from needlework.haystack_fixtures.tasks.task import Asked, Task, labelled


def _labels(suite: Suite) -> tuple[str, ...]:
    return tuple(labelled(name, suite) for name in needle_names(suite.needle_set, suite.language))


def _ask(suite: Suite, cell: Cell, seed: int) -> Asked:
    own = f"{cell.repeat} {cell.length} {cell.depth}" if suite.needle_set == EACH else ""
    drawn = draw_set(suite.needle_set, suite.language, seed=seed, repeat=own or cell.repeat)
    needle = next(needle for needle in drawn.needles if labelled(needle.name, suite) == cell.needle)
    assert cell.depth is not None
    return Asked(
        needles=(needle,),
        depths=(cell.depth,),
        question=needle.question,
        answer=needle.reply or needle.answer,
        reference={
            "answers": (needle.answer, *needle.accepted),
            "statement": needle.text.strip(),
            "keyword": suite.keyword or needle.keyword or needle.answer,
            "distractors": needle.distractor_answers,
            "question": needle.question,
            "language": suite.language,
            **({"sample": crc32(own.encode())} if own else {}),
        },
    )


TASK = Task("niah", "one needle, one question", _labels, lambda suite: suite.depths, _ask, family="needle")
