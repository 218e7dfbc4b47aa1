"""Needle tasks: one needle, several, several questions."""

from zlib import crc32

from needlework.core.errors import InputError
from needlework.core.grid import Cell
from needlework.core.settings import Suite
from needlework.haystack_fixtures.haystacks.frame import even_depths, spaced_depths
from needlework.haystack_fixtures.needles.needle_sets import CODES_EACH, draw_set, needle_names
from needlework.haystack_fixtures.tasks.task import Question, labelled, our_task


def _labels(suite: Suite) -> tuple[str, ...]:
    return tuple(labelled(name, suite) for name in needle_names(suite.needle_set, suite.language))


def _ask(suite: Suite, cell: Cell, seed: int) -> Question:
    trial_name = f"{cell.repeat} {cell.length} {cell.depth}" if suite.needle_set == CODES_EACH else ""
    drawn = draw_set(suite.needle_set, suite.language, seed=seed, repeat=trial_name or cell.repeat)
    needle = next(needle for needle in drawn.needles if labelled(needle.name, suite) == cell.needle)
    assert cell.depth is not None
    return Question(
        needles=(needle,),
        depths=(cell.depth,),
        question=needle.question,
        answer=needle.reply or needle.answer,
        reference={
            "answers": (needle.answer, *needle.accepted),
            "statement": needle.text.strip(),
            "keyword": suite.keyword or needle.keyword or needle.answer,
            "distractors": needle.distractor_answers,
            **({"sample": crc32(trial_name.encode())} if trial_name else {}),
        },
    )


# Spaced evenly over what lies below the first (LLMTest_NeedleInAHaystack, EvalScope), or with a fixed gap `diff`
# (OpenCompass, as its documents say: every position is counted on the haystack without needles).
GENERATED_NEEDLES = 3


def _multi_needle_labels(suite: Suite) -> tuple[str, ...]:
    drawn = draw_set(suite.needle_set, suite.language, seed=0, repeat=0, count=GENERATED_NEEDLES)
    if drawn.joint is None:
        raise InputError("--needle-set", suite.needle_set, "task multi_needle needs a set with a [joint] question")
    return (labelled(drawn.name, suite),)


def _multi_needle_ask(suite: Suite, cell: Cell, seed: int) -> Question:
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
        expected: dict[str, tuple[str, ...]] = {"answers": (keyword or joint.answer,)}
    else:
        expected = {"answers": (), "parts": values}
    return Question(
        needles=drawn.needles,
        depths=tuple(even_depths(cell.depth, count) if diff is None else spaced_depths(cell.depth, diff, count)),
        question=joint.question,
        answer=joint.answer,
        reference=expected | {"statement": joint.answer, "keyword": keyword},
        joint=True,
    )


def _parallel_labels(suite: Suite) -> tuple[str, ...]:
    if suite.needle_set != "codes":
        raise InputError("--needle-set", suite.needle_set, "task parallel draws one needle per depth: use codes")
    return (labelled(suite.needle_set, suite),)


def _parallel_ask(suite: Suite, cell: Cell, seed: int) -> Question:
    drawn = draw_set(suite.needle_set, suite.language, seed=seed, repeat=cell.repeat, count=len(suite.depths))
    assert drawn.joint is not None
    values = tuple(needle.answer for needle in drawn.needles)
    return Question(
        needles=drawn.needles,
        depths=suite.depths,
        question=drawn.joint.question,
        answer=drawn.joint.answer,
        reference={"answers": (), "parts": values, "statement": drawn.joint.answer},
        joint=True,
    )


TASKS = (
    our_task("niah", _ask, labels=_labels),
    our_task("multi_needle", _multi_needle_ask, labels=_multi_needle_labels),
    our_task("parallel", _parallel_ask, labels=_parallel_labels),
)
