"""NeedleBench's chains of kinship in our words: multi-needle reasoning, Ancestral Trace Challenge.

Every link goes one or two generations back: a parent is one, a grandparent two. The answer is asked for in \\boxed{},
which v2's rule reads and v1's does not mind.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import comb
from random import Random

from needlework.core.draws import below, draws, pick, sample, shuffled
from needlework.core.errors import TooShortError
from needlework.core.grid import Cell
from needlework.core.prompts import Needle
from needlework.core.settings import Suite
from needlework.haystack_fixtures.haystacks.frame import spaced_depths
from needlework.haystack_fixtures.haystacks.listing import Listing
from needlework.haystack_fixtures.tasks.task import Question, labelled, our_task
from needlework.haystack_fixtures.tasks.words import table

DIFF = 10.0  # percent of the text between them, where a suite says nothing else
_ATC_COUNTS = (2, 4, 8, 16, 32, 64, 128, 256, 512)  # statements without a haystack
# Trials take turns: 40 of a count are NeedleBench's 10 of each kind.
KINDS = ("eldest", "ancestor", "descendant", "distance")
# Tokens of a statement, and of everything else: more than any common tokenizer needs on average.
_TOKENS_EACH = {"en": 32, "zh": 48}
_TOKENS_AROUND = {"en": 300, "zh": 500}


@dataclass(frozen=True, slots=True)
class KinshipChain:
    """One line of descent; nothing else follows from its statements."""

    people: tuple[str, ...]  # from the youngest to the eldest
    statements: tuple[str, ...]  # what `people[i + 1]` is to `people[i]`
    generations: tuple[int, ...]  # how far back that is


def draw_chain(rng: Random, language: str, links: int) -> KinshipChain:
    """A chain of so many statements (1 or more), no two people of the same name.

    As long as there are enough of them, no two share a first or a family name either: then every word of a name tells
    who is meant. Raises `ValueError` for more people than there are names.
    """
    kinship = table("kinship", language)
    people = _draw_people(rng, language, links + 1)
    statements, generations = [], []
    for (younger, _), (elder, is_woman) in pairwise(people):
        back = below(rng, 2)
        relation = pick(rng, kinship["mother" if is_woman else "father"][back])
        statements.append(pick(rng, kinship["statements"]).format(elder=elder, younger=younger, relation=relation))
        generations.append(back + 1)
    return KinshipChain(tuple(name for name, _ in people), tuple(statements), tuple(generations))


def _draw_people(rng: Random, language: str, count: int) -> Sequence[tuple[str, bool]]:
    """Names, and whether it is a woman's."""
    kinship = table("kinship", language)
    firsts, families, joiner = [*kinship["women"], *kinship["men"]], kinship["families"], kinship["joiner"]
    if count <= min(len(firsts), len(families)):
        drawn = list(zip(sample(rng, range(len(firsts)), count), sample(rng, range(len(families)), count), strict=True))
    else:
        drawn = [divmod(number, len(families)) for number in sample(rng, range(len(firsts) * len(families)), count)]
    names = [(firsts[first], families[last]) for first, last in drawn]
    women = set(kinship["women"])
    return [(joiner.join(name if joiner else name[::-1]), name[0] in women) for name in names]


def _boxed(text: str) -> str:
    r"""The answer as it is asked for: `\boxed{Flora Lockwood}`."""
    return rf"\boxed{{{text}}}"


def _reasoning(suite: Suite, cell: Cell, seed: int) -> Question:
    """Statements in a drawn order from the cell's depth on, `diff` percent of the text apart.
    So OpenCompass documents it; its code shifts twice."""
    count = int(cell.needle.partition("needle")[0])
    rng = draws(cell.task, 1, seed, cell.repeat, count)
    chain = draw_chain(rng, suite.language, count)
    youngest, *others, eldest = chain.people
    question = table("kinship", suite.language, "reasoning")["question"].replace("{person}", youngest)
    assert cell.depth is not None
    return Question(
        needles=tuple(
            Needle(
                f"link{link + 1}",
                chain.statements[link],
                question,
                eldest if link == count - 1 else "",  # only the last link has the answer
                key=chain.people[link],
                distractor_answers=tuple(map(_boxed, others)),
            )
            for link in shuffled(rng, range(count))
        ),
        depths=tuple(spaced_depths(cell.depth, DIFF if suite.diff is None else suite.diff, count)),
        question=question,
        answer=_boxed(eldest),
        reference={
            "answers": (eldest,),
            "keyword": eldest,
            "distractors": tuple(others),
            "needles": count,
            # A guess among the relatives that are named.
            "chance": 1 / count,
            "floor": 0.0,
        },
        joint=True,
    )


# A prompt is as long as its statements are; its cell's length is the window that holds them with the answer: the first
# length of the suite that does by a generous estimate. Counts that no length holds are left out, so `--lengths 4k`
# stops where 4k do not suffice.
def _atc_labels(suite: Suite) -> tuple[str, ...]:
    longest = max(suite.lengths)
    held = [labelled(f"n{count}", suite) for count in _ATC_COUNTS if _window(count, suite) <= longest]
    if not held:
        remedy = f"{_ATC_COUNTS[0]} statements and the answer need more"
        raise TooShortError(longest, remedy, _window(_ATC_COUNTS[0], suite))
    return tuple(held)


def _atc_lengths(suite: Suite, label: str) -> tuple[int, ...]:
    return (min(length for length in suite.lengths if length >= _window(_statement_count(label), suite)),)


def _statement_count(label: str) -> int:
    return int(label.partition("_")[0].removeprefix("n"))


def _window(count: int, suite: Suite) -> int:
    """Tokens that a count needs with its answer."""
    return suite.kept_free + _TOKENS_AROUND[suite.language] + _TOKENS_EACH[suite.language] * count


def _atc(suite: Suite, cell: Cell, seed: int) -> Question:
    """NeedleBench asks about the two ends of the chain, always."""
    count, kind = _statement_count(cell.needle), KINDS[cell.repeat % len(KINDS)]
    rng = draws(cell.task, 1, seed, cell.repeat, count)
    chain = draw_chain(rng, suite.language, count)
    lines = [f"{statement}\n" for statement in shuffled(rng, chain.statements)]
    youngest, eldest, far = chain.people[0], chain.people[-1], sum(chain.generations)
    answer = {"distance": str(far), "descendant": youngest}.get(kind, eldest)
    sentences = table("kinship", suite.language, "atc")
    question = sentences[kind].format(young=youngest, old=eldest, far=far)
    close = sentences["close_number" if kind == "distance" else "close_name"]
    return Question(
        question=f"{sentences['lead']}{question}{close}",
        answer=_boxed(answer),
        reference={
            "answers": (answer,),
            "keyword": answer,
            "kind": kind,
            "needles": count,
            # Guessing among the people that are named but for the one in the question, or the distances that can be.
            "chance": 1 / (count + 1) if kind == "distance" else 1 / count,
            # The commonest distance: every statement adds one or two generations.
            "floor": comb(count, count // 2) / 2**count if kind == "distance" else 0.0,
        },
        joint=True,
        context=Listing(
            lambda _n: lines, resolve=lambda _n: (_boxed(answer), {}), fewest=count, most=count, fill=False
        ),
    )


TASKS = (
    our_task("needlebench_reasoning", _reasoning),
    our_task("needlebench_atc", _atc, labels=_atc_labels, lengths=_atc_lengths),
)
