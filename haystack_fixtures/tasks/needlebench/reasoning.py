r"""NeedleBench's multi-needle reasoning (M-RS): two to five statements make one line of descent; who is its eldest?

The statements stand in a drawn order, `diff` percent of the text apart, from the cell's depth on (as OpenCompass
documents it; its code shifts twice). The answer is asked for in \boxed{}, which v2's rule reads and v1's does not mind.
"""

from __future__ import annotations

from needlework.haystack_fixtures.draws import draws, shuffled
from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.haystacks.placement import spaced_depths
from needlework.haystack_fixtures.needles.needle import Needle
from needlework.haystack_fixtures.settings.settings import Suite
from needlework.haystack_fixtures.tasks.needlebench.kinship import draw_chain
from needlework.haystack_fixtures.tasks.task import Asked, Task, labelled

NAME, VERSION = "needlebench_reasoning", 1
COUNTS = (2, 3, 4, 5)
DIFF = 10.0  # percent, where a suite says nothing else
_QUESTION = {
    "en": "Some sentences of the document say who is a parent or a grandparent of whom. Start from {person} and go"
    " back from one to the next as far as they lead: who is the eldest relative of {person} that the document names?"
    r" You may reason first; put the full name at the end in \boxed{}.",
    "zh": "文档中有几句话说明了谁是谁的父母或祖父母。请从{person}出发，顺着这些话一代一代往上追溯，直到追溯不下去为止："
    r"文档中提到的{person}的亲属里，辈分最高的是谁？可以先推理，最后把这个人的全名写在\boxed{}中。",
}


def _labels(suite: Suite) -> tuple[str, ...]:
    return tuple(labelled(f"{count}needle", suite) for count in COUNTS)


def _ask(suite: Suite, cell: Cell, seed: int) -> Asked:
    count = int(cell.needle.partition("needle")[0])
    rng = draws(NAME, VERSION, seed, cell.repeat, count)
    chain = draw_chain(rng, suite.language, count)
    question = _QUESTION[suite.language].replace("{person}", chain.youngest)
    others = chain.people[1:-1]
    assert cell.depth is not None
    return Asked(
        needles=tuple(
            Needle(
                f"link{link + 1}",
                chain.statements[link],
                question,
                # Only the last link has the answer.
                chain.eldest if link == count - 1 else "",
                key=chain.people[link],
                distractor_answers=tuple(map(boxed, others)),
            )
            for link in shuffled(rng, range(count))
        ),
        depths=tuple(spaced_depths(cell.depth, DIFF if suite.diff is None else suite.diff, count)),
        question=question,
        answer=boxed(chain.eldest),
        reference={
            "answers": (chain.eldest,),
            "keyword": chain.eldest,
            "distractors": others,
            "question": question,
            "language": suite.language,
            "needles": count,
            # A guess among the relatives that are named.
            "chance": 1 / count,
            "floor": 0.0,
        },
        joint=True,
    )


def boxed(text: str) -> str:
    r"""The answer as it is asked for: `\boxed{Flora Lockwood}`."""
    return rf"\boxed{{{text}}}"


TASK = Task(
    NAME,
    "two to five statements of kinship, one question over all",
    _labels,
    lambda suite: suite.depths,
    _ask,
    family="needlebench",
    scorer="needlebench_atc",
    version=VERSION,
)
