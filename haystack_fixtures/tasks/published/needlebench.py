"""NeedleBench: reasoning over relations, ancestral trace."""

from __future__ import annotations

import random
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import pairwise
from math import comb

from needlework.core.draws import below, draws, pick, sample, shuffled
from needlework.core.errors import TooShortError
from needlework.core.grid import Cell
from needlework.core.prompts import Needle
from needlework.core.settings import Suite
from needlework.haystack_fixtures.haystacks.frame import spaced_depths
from needlework.haystack_fixtures.haystacks.listing import Listing
from needlework.haystack_fixtures.tasks.task import Question, Task, labelled, no_depths

# The statements stand in a drawn order, `diff` percent of the text apart, from the cell's depth on (as OpenCompass
# documents it; its code shifts twice). The answer is asked for in \boxed{}, which v2's rule reads and v1's does not
# mind.
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


def _ask(suite: Suite, cell: Cell, seed: int) -> Question:
    count = int(cell.needle.partition("needle")[0])
    rng = draws(NAME, VERSION, seed, cell.repeat, count)
    chain = draw_chain(rng, suite.language, count)
    question = _QUESTION[suite.language].replace("{person}", chain.youngest)
    others = chain.people[1:-1]
    assert cell.depth is not None
    return Question(
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


def draw_chain(rng: random.Random, language: str, links: int) -> KinshipChain:
    """A chain of so many statements (1 or more), no two people of the same name.

    As long as there are enough of them, no two share a first or a family name either: then every word of a name tells
    who is meant. Raises `ValueError` for more people than there are names.
    """
    tables = _tables(language)
    people = _people(rng, tables, links + 1)
    statements, generations = [], []
    for (younger, _), (elder, woman) in pairwise(people):
        back = below(rng, 2)
        relation = pick(rng, (tables.mother if woman else tables.father)[back])
        template = pick(rng, tables.statements)
        statements.append(template.format(elder=elder, younger=younger, relation=relation))
        generations.append(back + 1)
    return KinshipChain(tuple(name for name, _ in people), tuple(statements), tuple(generations))


@cache
def _tables(language: str) -> _Tables:
    folder = resources.files("needlework.haystack_fixtures.tasks") / "data"
    table = tomllib.loads((folder / f"kinship.{language}.toml").read_text(encoding="utf-8"))
    return _Tables(
        first=(*table["women"], *table["men"]),
        women=len(table["women"]),
        families=tuple(table["families"]),
        joiner=table["joiner"],
        mother=tuple(map(tuple, table["mother"])),
        father=tuple(map(tuple, table["father"])),
        statements=tuple(table["statements"]),
    )


@dataclass(frozen=True, slots=True)
class _Tables:
    """`women`, `men`: first names, each of women before those of men; `words`: theirs, relations by generations."""

    first: tuple[str, ...]
    women: int
    families: tuple[str, ...]
    joiner: str
    mother: Relations
    father: Relations
    statements: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KinshipChain:
    """`people`: from the youngest to the eldest. `statements[i]` says what `people[i + 1]` is to `people[i]`, and
    `generations[i]` how far back that is. Nothing follows from them but this one line of descent."""

    people: tuple[str, ...]
    statements: tuple[str, ...]
    generations: tuple[int, ...]

    @property
    def youngest(self) -> str:
        """The one that all others are ancestors of."""
        return self.people[0]

    @property
    def eldest(self) -> str:
        """The one that has no ancestor in the statements."""
        return self.people[-1]


def _people(rng: random.Random, tables: _Tables, count: int) -> Sequence[tuple[str, bool]]:
    """Names, and whether it is a woman's."""
    first, families = len(tables.first), len(tables.families)
    if count <= min(first, families):
        drawn = list(zip(sample(rng, range(first), count), sample(rng, range(families), count), strict=True))
    else:
        drawn = [divmod(number, families) for number in sample(rng, range(first * families), count)]
    return [(_name(tables, given, family), given < tables.women) for given, family in drawn]


def _name(tables: _Tables, given: int, family: int) -> str:
    parts = (tables.first[given], tables.families[family])
    return tables.joiner.join(parts if tables.joiner else reversed(parts))


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


# A prompt is as long as its statements are; its cell's length is the window that holds them with the answer: the first
# length of the suite that does by a generous estimate (`TOKENS_EACH`). Counts that no length holds are left out, so
# `--lengths 4k` stops where 4k do not suffice.
ATC_NAME, ATC_VERSION = "needlebench_atc", 1
ATC_COUNTS = (2, 4, 8, 16, 32, 64, 128, 256, 512)
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


def _atc_labels(suite: Suite) -> tuple[str, ...]:
    held = [labelled(f"n{count}", suite) for count in ATC_COUNTS if _window(count, suite) <= max(suite.lengths)]
    if not held:
        least = _window(ATC_COUNTS[0], suite)
        raise TooShortError(max(suite.lengths), f"{ATC_COUNTS[0]} statements and the answer need more", least)
    return tuple(held)


def _lengths(suite: Suite, label: str) -> tuple[int, ...]:
    return (min(length for length in suite.lengths if length >= _window(_count(label), suite)),)


def _count(label: str) -> int:
    return int(label.partition("_")[0].removeprefix("n"))


def _window(count: int, suite: Suite) -> int:
    """Tokens that a count needs with its answer."""
    kept = suite.kept_free
    return kept + TOKENS_AROUND[suite.language] + TOKENS_EACH[suite.language] * count


def _atc_ask(suite: Suite, cell: Cell, seed: int) -> Question:
    count, kind = _count(cell.needle), KINDS[cell.repeat % len(KINDS)]
    rng = draws(ATC_NAME, ATC_VERSION, seed, cell.repeat, count)
    chain = draw_chain(rng, suite.language, count)
    lines = [f"{statement}\n" for statement in shuffled(rng, chain.statements)]
    question = _question(chain, kind, suite.language)
    answer = _answer(chain, kind)
    return Question(
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


def _question(chain: KinshipChain, kind: str, language: str) -> str:
    """NeedleBench asks about the two ends of the chain, always."""
    asked = _QUESTIONS[language][kind].format(young=chain.youngest, old=chain.eldest, far=sum(chain.generations))
    return _LEAD[language] + asked + _CLOSE[language]["number" if kind == "distance" else "name"]


def _answer(chain: KinshipChain, kind: str) -> str:
    if kind == "distance":
        return str(sum(chain.generations))
    return chain.youngest if kind == "descendant" else chain.eldest


ATC_TASK = Task(
    ATC_NAME,
    "2 to 512 statements of kinship without a haystack, every one of them needed",
    _atc_labels,
    no_depths,
    _atc_ask,
    family="needlebench",
    scorer="needlebench_atc",
    version=ATC_VERSION,
    absent=False,
    lengths=_lengths,
)


# NeedleBench's chains (its multi-needle reasoning and its Ancestral Trace Challenge), with names and wording of our
# own. Every link goes one or two generations back: a parent is one, a grandparent two.
Relations = tuple[tuple[str, ...], ...]
"""Words for the elder one by generations: those of one generation back, those of two."""


TASKS = (TASK, ATC_TASK)
