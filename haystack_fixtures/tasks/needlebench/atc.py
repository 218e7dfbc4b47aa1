"""NeedleBench's Ancestral Trace Challenge (ATC): statements of kinship and nothing else, every one of them needed.

A prompt is as long as its statements are; its cell's length is the window that holds them with the answer: the first
length of the suite that does by a generous estimate (`TOKENS_EACH`). Counts that no length holds are left out, so
`--lengths 4k` stops where 4k do not suffice.
"""

from __future__ import annotations

from math import comb

from needlework.haystack_fixtures.draws import draws, shuffled
from needlework.haystack_fixtures.errors import TooShortError
from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.haystacks.listing import Listing
from needlework.haystack_fixtures.settings.settings import Suite
from needlework.haystack_fixtures.tasks.needlebench.kinship import Chain, draw_chain
from needlework.haystack_fixtures.tasks.needlebench.reasoning import boxed
from needlework.haystack_fixtures.tasks.task import Asked, Task, labelled, no_depths

NAME, VERSION = "needlebench_atc", 1
COUNTS = (2, 4, 8, 16, 32, 64, 128, 256, 512)
# Trials take turns: 40 of a count are NeedleBench's 10 of each kind.
KINDS = ("eldest", "ancestor", "descendant", "distance")
# Tokens of a statement, and of everything else: more than any common tokenizer needs on average.
TOKENS_EACH = {"en": 32, "zh": 48}
TOKENS_AROUND = {"en": 300, "zh": 500}
_LEAD = {
    "en": "Each line of the document says who is a parent or a grandparent of whom. Going from a person to a mother or"
    " father is 1 generation back; to a grandmother or grandfather of either side it is 2. ",
    "zh": "文档的每一行都说明了谁是谁的父母或祖父母。从一个人到其父亲或母亲，往上算1代；"
    "到其祖父、祖母、外祖父或外祖母，往上算2代。",
}
_QUESTIONS = {
    "en": {
        "eldest": "Go back from {young} as far as the lines lead: who is the eldest ancestor of {young}?",
        "ancestor": "Who is the ancestor of {young} that lies {far} generations back?",
        "descendant": "Of whom is {old} the ancestor {far} generations back?",
        "distance": "How many generations back from {young} is {old}?",
    },
    "zh": {
        "eldest": "从{young}出发，一代一代往上追溯，直到追溯不下去为止：{young}辈分最高的祖先是谁？",
        "ancestor": "从{young}往上数{far}代，是哪一位祖先？",
        "descendant": "从{old}往下数{far}代，是哪一位后代？",
        "distance": "从{young}往上数到{old}，一共是多少代？",
    },
}
_CLOSE = {
    "en": {
        "name": r" You may reason first; put the full name at the end in \boxed{}.",
        "number": r" You may reason first; put the number at the end in \boxed{}.",
    },
    "zh": {
        "name": r"可以先推理，最后把这个人的全名写在\boxed{}中。",
        "number": r"可以先推理，最后把代数用阿拉伯数字写在\boxed{}中。",
    },
}


def _labels(suite: Suite) -> tuple[str, ...]:
    held = [labelled(f"n{count}", suite) for count in COUNTS if _window(count, suite) <= max(suite.lengths)]
    if not held:
        least = _window(COUNTS[0], suite)
        raise TooShortError(max(suite.lengths), f"{COUNTS[0]} statements and the answer need more", least)
    return tuple(held)


def _lengths(suite: Suite, label: str) -> tuple[int, ...]:
    return (min(length for length in suite.lengths if length >= _window(_count(label), suite)),)


def _count(label: str) -> int:
    return int(label.partition("_")[0].removeprefix("n"))


def _window(count: int, suite: Suite) -> int:
    """Tokens that a count needs with its answer."""
    kept = suite.kept_free
    return kept + TOKENS_AROUND[suite.language] + TOKENS_EACH[suite.language] * count


def _ask(suite: Suite, cell: Cell, seed: int) -> Asked:
    count, kind = _count(cell.needle), KINDS[cell.repeat % len(KINDS)]
    rng = draws(NAME, VERSION, seed, cell.repeat, count)
    chain = draw_chain(rng, suite.language, count)
    lines = [f"{statement}\n" for statement in shuffled(rng, chain.statements)]
    question = _question(chain, kind, suite.language)
    answer = _answer(chain, kind)
    return Asked(
        needles=(),
        depths=(),
        question=question,
        answer=boxed(answer),
        reference={
            "answers": (answer,),
            "keyword": answer,
            "question": question,
            "language": suite.language,
            "kind": kind,
            "needles": count,
            # Guessing among the people that are named but for the one in the question, or the distances that can be.
            "chance": 1 / (count + 1) if kind == "distance" else 1 / count,
            # The commonest distance: every statement adds one or two generations.
            "floor": comb(count, count // 2) / 2**count if kind == "distance" else 0.0,
        },
        joint=True,
        context=Listing(lambda _n: lines, resolve=lambda _n: (boxed(answer), {}), fewest=count, most=count, fill=False),
    )


def _question(chain: Chain, kind: str, language: str) -> str:
    """NeedleBench asks about the two ends of the chain, always."""
    asked = _QUESTIONS[language][kind].format(young=chain.youngest, old=chain.eldest, far=sum(chain.generations))
    return _LEAD[language] + asked + _CLOSE[language]["number" if kind == "distance" else "name"]


def _answer(chain: Chain, kind: str) -> str:
    if kind == "distance":
        return str(sum(chain.generations))
    return chain.youngest if kind == "descendant" else chain.eldest


TASK = Task(
    NAME,
    "2 to 512 statements of kinship without a haystack, every one of them needed",
    _labels,
    no_depths,
    _ask,
    family="needlebench",
    scorer="needlebench_atc",
    version=VERSION,
    absent=False,
    lengths=_lengths,
)
