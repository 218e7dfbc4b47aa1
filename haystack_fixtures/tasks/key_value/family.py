"""Key-value lookup: one object of pairs of UUIDs, one of which is asked for (the form of InfiniteBench and HELMET)."""

from __future__ import annotations

from needlework.haystack_fixtures.draws import draws, uuid4
from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.haystacks.listing import Listing
from needlework.haystack_fixtures.needles.needle import Needle
from needlework.haystack_fixtures.settings.settings import Suite
from needlework.haystack_fixtures.tasks.task import Asked, Task, labelled

_QUESTION = {
    "en": 'The object above maps keys to values. Which value belongs to the key "{key}"? Reply with the value only.',
    "zh": "上面的对象由键和值组成。键“{key}”对应的值是什么？请只回答该值。",
}


def _labels(suite: Suite) -> tuple[str, ...]:
    return (labelled("uuid", suite),)


def _pair(seed: int, repeat: int, number: int) -> tuple[str, str]:
    rng = draws("key_value", 1, seed, repeat, number)
    return uuid4(rng), uuid4(rng)


def _ask(suite: Suite, cell: Cell, seed: int) -> Asked:
    key, value = _pair(seed, cell.repeat, 0)
    question = _QUESTION[suite.language].replace("{key}", key)
    assert cell.depth is not None

    def units(size: int) -> list[str]:
        pairs = (_pair(seed, cell.repeat, number) for number in range(1, size + 1))
        return [f'"{other}": "{wrong}",\n' for other, wrong in pairs]

    needle = Needle("pair", f'"{key}": "{value}",', question, value, key=key)
    return Asked(
        needles=(needle,),
        depths=(cell.depth,),
        question=question,
        answer=value,
        reference={"answers": (value,), "question": question, "language": suite.language},
        # An object may not end with a comma: the last pair is empty.
        context=Listing(units, opening="{\n", closing='"": ""\n}'),
    )


TASK = Task("key_value", "one value out of an object of UUID pairs", _labels, lambda suite: suite.depths, _ask)
TASKS = (TASK,)
