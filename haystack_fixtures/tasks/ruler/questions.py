"""RULER's question answering: numbered documents, one or two of which answer; of the user's file, or generated.

The documents that answer stand at drawn places, the same share of the list at every length (RULER has them at one and
the same place in every sample).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import islice
from random import Random
from typing import Any

from needlework.haystack_fixtures.draws import below, draws, shuffled
from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.haystacks.listing import Listing
from needlework.haystack_fixtures.settings.own import own_of
from needlework.haystack_fixtures.settings.settings import Suite
from needlework.haystack_fixtures.tasks.documents.options import DocumentOptions
from needlework.haystack_fixtures.tasks.ruler.documents import one_step, stories, two_steps
from needlework.haystack_fixtures.tasks.ruler.protocol import FAMILY, VERSION, seeds
from needlework.haystack_fixtures.tasks.ruler.question_files import OPTION, QuestionFile, read_questions
from needlework.haystack_fixtures.tasks.ruler.vocabulary import enough
from needlework.haystack_fixtures.tasks.task import Asked, Task, labelled, no_depths

_DOCUMENT = {"en": "Document {number}:\n{text}\n\n", "zh": "文档 {number}：\n{text}\n\n"}
_INTRODUCTION = {
    "en": "Answer the question from the documents below. Give the answer alone, in a few words.\n\n",
    "zh": "请根据下面的文档回答问题。只需用几个字给出答案。\n\n",
}
_QUESTION = {"en": "Question: {question}", "zh": "问题：{question}"}
_PREFIX = {"en": "Answer:", "zh": "答案："}


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A question with the documents that answer it. `others(count)`: so many of the others, in drawn order."""

    text: str
    answers: tuple[str, ...]
    gold: tuple[str, ...]
    others: Callable[[int], Sequence[str]]
    most: int | None = None
    material: str = ""


def _questions(suite: Suite) -> str | None:
    """The user's file of questions."""
    return own_of(suite, DocumentOptions).questions


def _labels(suite: Suite) -> tuple[str, ...]:
    questions = _questions(suite)
    if questions is None:
        return (labelled("generated", suite),)
    _check_repeats(suite.repeats, suite, read_questions(questions))
    return (labelled("questions", suite),)


def _check_repeats(repeats: int, suite: Suite, file: QuestionFile) -> None:
    if repeats > len(file.questions):
        raise InputError("--repeats", suite.repeats, f"{OPTION} has {len(file.questions)} questions; ask no more")


def _ask(steps: int, suite: Suite, cell: Cell, seed: int) -> Asked:
    parts, language = seeds(f"ruler_qa_{steps}", suite, cell, seed), suite.language
    questions = _questions(suite)
    if questions is None:
        drawn = _generated(parts, steps, language)
    else:
        drawn = _from_file(parts, read_questions(questions), suite, cell, seed)
    fewest = len(drawn.gold)

    def listed(documents: Sequence[str], name: str) -> tuple[list[str], list[int]]:
        """The documents as they stand, numbered, and where those that answer (the first ones) came to stand."""
        rng = draws(*parts, name)
        place = [rng.random() for _ in documents]
        order = sorted(range(len(documents)), key=place.__getitem__)
        texts = [_DOCUMENT[language].format(number=n, text=documents[k]) for n, k in enumerate(order, 1)]
        return texts, [order.index(k) + 1 for k in range(fewest)]

    def present(count: int) -> tuple[list[str], list[int]]:
        return listed([*drawn.gold, *drawn.others(count - fewest)], "places")

    def resolve(count: int) -> tuple[str, Mapping[str, Any]]:
        # Of generated documents, each institution or founder has what could be the answer.
        chance = 0.0 if questions else min(1.0, steps / count)
        return drawn.answers[0], {"documents": count, "gold": present(count)[1], "chance": chance}

    question = _QUESTION[language].format(question=drawn.text)
    return Asked(
        needles=(),
        depths=(),
        question=question,
        answer=drawn.answers[0],
        reference={"answers": drawn.answers, "question": drawn.text, "language": language},
        context=Listing(
            lambda count: present(count)[0],
            resolve=resolve,
            growing=False,
            fewest=fewest,
            most=drawn.most,
            without=lambda count: listed(drawn.others(count), "places without")[0],
        ),
        introduction=_INTRODUCTION[language],
        answer_prefix=_PREFIX[language],
        material=drawn.material,
    )


def _generated(parts: tuple[object, ...], steps: int, language: str) -> _Drawn:
    def told(count: int) -> Sequence[str]:
        return _told(parts, steps, language, enough(count))[:count]

    story = next(stories(draws(*parts), language))
    text, answer = two_steps(story, language) if steps > 1 else one_step(draws(*parts, "asked"), story, language)
    return _Drawn(text, (answer,), tuple(told(steps)), lambda count: told(steps + count)[steps:])


@lru_cache(4)
def _told(parts: tuple[object, ...], steps: int, language: str, count: int) -> Sequence[str]:
    """The first documents that are drawn for these `parts`: of institutions, in two steps of their founders too."""
    drawn = stories(draws(*parts), language)
    documents = (text for story in drawn for text in (story.institution, story.life)[:steps])
    return tuple(islice(documents, count))


def _from_file(parts: tuple[object, ...], file: QuestionFile, suite: Suite, cell: Cell, seed: int) -> _Drawn:
    _check_repeats(cell.repeat + 1, suite, file)
    asked = _nth(draws(cell.task, VERSION, seed, "order"), len(file.questions), cell.repeat)
    question = file.questions[asked]

    def others(count: int) -> list[str]:
        near = shuffled(draws(*parts, "near"), question.near)
        rest = _unordered(draws(*parts, "others"), len(file.documents), {*question.gold, *near})
        return [file.documents[number] for number in islice((*near, *islice(rest, max(0, count - len(near)))), count)]

    gold = tuple(file.documents[number] for number in question.gold)
    most = max(len(gold), len(file.documents) - len(gold))
    return _Drawn(question.text, question.answers, gold, others, most, file.sha256)


def _unordered(rng: Random, total: int, taken: Collection[int] = ()) -> Iterator[int]:
    """The numbers below `total` but for those that are taken, in a drawn order (Fisher-Yates, as far as is looked)."""
    moved: dict[int, int] = {}
    for at in range(total):
        other = at + below(rng, total - at)
        drawn = moved.get(other, other)
        moved[other] = moved.get(at, at)
        if drawn not in taken:
            yield drawn


def _nth(rng: Random, total: int, number: int) -> int:
    """The number at a place of the drawn order."""
    return next(islice(_unordered(rng, total), number, None))


def _task(steps: int) -> Task:
    about = "one of many documents answers" if steps == 1 else "two of many documents answer together"
    return Task(
        f"ruler_qa_{steps}",
        about,
        _labels,
        no_depths,
        partial(_ask, steps),
        family=FAMILY,
        scorer="ruler_part",
        version=VERSION,
    )


TASKS = (_task(1), _task(2))
