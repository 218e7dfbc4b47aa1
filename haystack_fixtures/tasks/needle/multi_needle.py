"""Several needles and one question that needs them all.

Spaced evenly over what lies below the first (LLMTest_NeedleInAHaystack, EvalScope), or with a fixed gap `diff`
(OpenCompass, as its documents say: every position is counted on the haystack without needles).
"""

from __future__ import annotations

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.haystacks.placement import even_depths, spaced_depths
from needlework.haystack_fixtures.needles.needle_sets import draw_set
from needlework.haystack_fixtures.settings.settings import Suite
from needlework.haystack_fixtures.tasks.task import Asked, Task, labelled

GENERATED_NEEDLES = 3


def _labels(suite: Suite) -> tuple[str, ...]:
    drawn = draw_set(suite.needle_set, suite.language, seed=0, repeat=0, count=GENERATED_NEEDLES)
    if drawn.joint is None:
        raise InputError("--needle-set", suite.needle_set, "task multi_needle needs a set with a [joint] question")
    return (labelled(drawn.name, suite),)


def _ask(suite: Suite, cell: Cell, seed: int) -> Asked:
    drawn = draw_set(suite.needle_set, suite.language, seed=seed, repeat=cell.repeat, count=GENERATED_NEEDLES)
    joint = drawn.joint
    assert joint is not None
    assert cell.depth is not None
    diff = suite.diff if suite.diff is not None else joint.diff
    count = len(drawn.needles)
    keyword = suite.keyword or joint.keyword
    values = tuple(needle.answer for needle in drawn.needles)
    # A keyword is the end of a chain of facts: then it is the answer. Without one every needle's value is wanted, where
    # the joint answer has them; else that is the answer.
    if keyword or not all(value in joint.answer for value in values):
        wanted: dict[str, tuple[str, ...]] = {"answers": (keyword or joint.answer,)}
    else:
        wanted = {"answers": (), "parts": values}
    return Asked(
        needles=drawn.needles,
        depths=tuple(even_depths(cell.depth, count) if diff is None else spaced_depths(cell.depth, diff, count)),
        question=joint.question,
        answer=joint.answer,
        reference=wanted
        | {"statement": joint.answer, "keyword": keyword, "question": joint.question, "language": suite.language},
        joint=True,
    )


TASK = Task(
    "multi_needle", "several needles, one question over all", _labels, lambda suite: suite.depths, _ask, family="needle"
)
