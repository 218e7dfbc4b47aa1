"""RULER: question answering, on generated documents or on a file of SQuAD or HotpotQA."""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from hashlib import sha256
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from needlework.core.draws import below, draws, pick, shuffled
from needlework.core.errors import InputError
from needlework.core.files import read_once
from needlework.core.grid import Cell
from needlework.core.settings import Suite
from needlework.haystack_fixtures.haystacks.listing import Listing
from needlework.haystack_fixtures.tasks.own_documents import QUESTIONS
from needlework.haystack_fixtures.tasks.published.ruler import VERSION, sentences, trial_seeds
from needlework.haystack_fixtures.tasks.task import Question, labelled, our_task
from needlework.haystack_fixtures.tasks.words import compounds, draw_person, draw_town, rounded_up, words

_LAYOUTS = "the JSON file of SQuAD (a table with data) or of HotpotQA (a list of questions with context)"


@dataclass(frozen=True, slots=True)
class FileQuestion:
    """A question with its accepted answers."""

    text: str
    answers: tuple[str, ...]
    gold: tuple[int, ...]  # numbers of the documents that answer it
    near: tuple[int, ...]  # of those of the same article, or retrieved with them


@dataclass(frozen=True, slots=True)
class QuestionFile:
    """The questions of a file that have an answer, its different documents, and its hash."""

    questions: tuple[FileQuestion, ...]
    documents: tuple[str, ...]
    sha256: str


@dataclass(frozen=True, slots=True)
class _DrawnQuestion:
    """A question with the documents that answer it."""

    text: str
    answers: tuple[str, ...]
    gold: tuple[str, ...]
    others: Callable[[int], Sequence[str]]  # so many of the other documents, in drawn order
    most: int | None = None
    material: str = ""


def _question_file(suite: Suite, repeats: int) -> QuestionFile | None:
    """The user's file of questions. Raises `InputError` where it has fewer than are asked."""
    path = suite.questions
    file = read_questions(path) if path else None
    if file and repeats > len(file.questions):
        raise InputError("--repeats", suite.repeats, f"{QUESTIONS} has {len(file.questions)} questions; ask no more")
    return file


def _labels(suite: Suite) -> tuple[str, ...]:
    return (labelled("questions" if _question_file(suite, suite.repeats) else "generated", suite),)


def _ask(steps: int, suite: Suite, cell: Cell, seed: int) -> Question:
    parts, language = trial_seeds(f"ruler_qa_{steps}", suite, cell, seed), suite.language
    forms, file = sentences("qa", language), _question_file(suite, cell.repeat + 1)
    drawn = _draw_from_file(parts, file, cell, seed) if file else _draw_generated(parts, steps, language)
    fewest = len(drawn.gold)

    def listed(documents: Sequence[str], name: str) -> tuple[list[str], list[int]]:
        """The documents in a drawn order, numbered, and the numbers of those that answer (the first ones).

        These are at the same share of the list at every length (RULER has them at one and the same place in every
        sample).
        """
        rng = draws(*parts, name)
        order_key = [rng.random() for _ in documents]
        order = sorted(range(len(documents)), key=order_key.__getitem__)
        texts = [forms["document"].format(number=n, text=documents[k]) for n, k in enumerate(order, 1)]
        return texts, [order.index(k) + 1 for k in range(fewest)]

    def present(count: int) -> tuple[list[str], list[int]]:
        return listed([*drawn.gold, *drawn.others(count - fewest)], "places")

    def resolve(count: int) -> tuple[str, Mapping[str, Any]]:
        # Of generated documents, each institution or founder has what could be the answer.
        chance = 0.0 if file else min(1.0, steps / count)
        return drawn.answers[0], {"documents": count, "gold": present(count)[1], "chance": chance}

    return Question(
        question=forms["question"].format(question=drawn.text),
        answer=drawn.answers[0],
        reference={"answers": drawn.answers, "question": drawn.text},
        context=Listing(
            lambda count: present(count)[0],
            resolve=resolve,
            growing=False,
            fewest=fewest,
            most=drawn.most,
            without=lambda count: listed(drawn.others(count), "places without")[0],
        ),
        introduction=forms["introduction"],
        answer_prefix=forms["prefix"],
        material=drawn.material,
    )


def founder_stories(rng: Random, language: str) -> Iterator[Mapping[str, str]]:
    """The fields of endless stories of an institution and its founder.

    Names and pieces come once, the first story's founder, towns and piece in no other.
    Other founders come once too, until half of all names are used up.
    """
    forms = sentences("qa", language)
    names, pieces = compounds(rng, language), compounds(rng, language)
    people: set[str] = set()
    enough = len(words("ruler", language, "given")) * len(words("ruler", language, "surnames")) // 2
    first: Mapping[str, str] = {}
    while True:
        kind = pick(rng, forms["kinds"].split())
        compound = next(names)
        if compound == first.get("compound"):
            compound = next(names)
        founder = draw_person(rng, language)
        while founder == first.get("founder") or (founder in people and len(people) < enough):
            founder = draw_person(rng, language)
        people.add(founder)
        towns: list[str] = []
        while len(towns) < 3:
            town = draw_town(rng, language)
            if town not in towns and town not in (first.get("place"), first.get("birth"), first.get("home")):
                towns.append(town)
        born = 1600 + below(rng, 300)
        piece = next(pieces)
        fields = {
            "name": f"{compound.replace('-', ' ').title()} {kind}" if language == "en" else f"{compound}{kind}",
            "founder": founder,
            **dict(zip(("place", "birth", "home"), towns, strict=True)),
            "piece": piece.replace("-", " "),
            "born": str(born),
            "founded": str(born + 25 + below(rng, 40)),
            "season": pick(rng, forms["seasons"].split()),
            "job": pick(rng, forms["jobs"]),
        }
        first = first or fields | {"compound": piece}
        yield fields


def _draw_generated(parts: tuple[object, ...], steps: int, language: str) -> _DrawnQuestion:
    """A question on one document; with two steps, one names the founder and another the founder's town."""

    def documents(count: int) -> Sequence[str]:
        return _story_documents(parts, steps, language, rounded_up(count))[:count]

    forms, story = sentences("qa", language), next(founder_stories(draws(*parts), language))
    about = "birth" if steps > 1 else pick(draws(*parts, "asked"), sorted(forms["asked"]))
    text = (forms["born"] if steps > 1 else forms["asked"][about]).format(name=story["name"])
    gold, others = tuple(documents(steps)), lambda count: documents(steps + count)[steps:]
    return _DrawnQuestion(text, (story[about],), gold, others)


@lru_cache(4)
def _story_documents(parts: tuple[object, ...], steps: int, language: str, count: int) -> Sequence[str]:
    """The first documents drawn for these `parts`: of institutions; in two steps of founders too."""
    stories = founder_stories(draws(*parts), language)
    forms = [sentences("qa", language)[name] for name in ("institution", "founder_life")[:steps]]
    return tuple(islice((form.format(**story) for story in stories for form in forms), count))


def _draw_from_file(parts: tuple[object, ...], file: QuestionFile, cell: Cell, seed: int) -> _DrawnQuestion:
    order = _numbers_in_drawn_order(draws(cell.task, VERSION, seed, "order"), len(file.questions))
    question = file.questions[next(islice(order, cell.repeat, None))]

    def others(count: int) -> list[str]:
        near = shuffled(draws(*parts, "near"), question.near)
        rest = _numbers_in_drawn_order(draws(*parts, "others"), len(file.documents), {*question.gold, *near})
        return [file.documents[number] for number in islice((*near, *islice(rest, max(0, count - len(near)))), count)]

    gold = tuple(file.documents[number] for number in question.gold)
    most = max(len(gold), len(file.documents) - len(gold))
    return _DrawnQuestion(question.text, question.answers, gold, others, most, file.sha256)


def _numbers_in_drawn_order(rng: Random, total: int, taken: Collection[int] = ()) -> Iterator[int]:
    """The numbers below `total` but for those that are taken (Fisher-Yates, as far as is looked)."""
    moved: dict[int, int] = {}
    for at in range(total):
        other = at + below(rng, total - at)
        drawn = moved.get(other, other)
        moved[other] = moved.get(at, at)
        if drawn not in taken:
            yield drawn


def read_questions(path: str) -> QuestionFile:
    """Read a file. Raises `InputError`."""
    return read_once(_read, path)


def _read(path: str) -> QuestionFile:
    try:
        data = Path(path).read_bytes()
        content = json.loads(data)
    except OSError as error:
        raise InputError(QUESTIONS, path, f"cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        raise InputError(QUESTIONS, path, f"is not JSON ({error})") from None
    documents: dict[str, int] = {}
    try:
        if isinstance(content, dict) and isinstance(content.get("data"), list):
            read = list(_squad_questions(content["data"], documents))
        elif isinstance(content, list):
            read = [_hotpot_question(row, documents) for row in content]
        else:
            raise InputError(QUESTIONS, path, f"give {_LAYOUTS}")
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        remedy = f"a question does not have the fields of its layout ({type(error).__name__}: {error}); give {_LAYOUTS}"
        raise InputError(QUESTIONS, path, remedy) from None
    questions = tuple(each for each in read if each.text.strip() and each.answers and each.gold)
    if not questions:
        raise InputError(QUESTIONS, path, "has no question with an answer and a document")
    least = 2 * max(len(each.gold) for each in questions)
    if len(documents) < least:
        remedy = f"has {len(documents)} documents; questions need {least} or more to be hidden in"
        raise InputError(QUESTIONS, path, remedy)
    return QuestionFile(questions, tuple(documents), sha256(data).hexdigest())


def _squad_questions(articles: Sequence[Any], documents: dict[str, int]) -> Iterator[FileQuestion]:
    for article in articles:
        numbers = [_document_number(_text(paragraph["context"]), documents) for paragraph in article["paragraphs"]]
        for number, paragraph in zip(numbers, article["paragraphs"], strict=True):
            near = tuple(dict.fromkeys(other for other in numbers if other != number))
            for row in paragraph["qas"]:
                if not row.get("is_impossible", False):
                    answers = _answers(answer["text"] for answer in row["answers"])
                    yield FileQuestion(_text(row["question"]), answers, (number,), near)


def _hotpot_question(row: Any, documents: dict[str, int]) -> FileQuestion:
    pages = {_text(title): f"{title}\n{''.join(map(_text, sentences))}" for title, sentences in row["context"]}
    numbers = {title: _document_number(page, documents) for title, page in pages.items()}
    named = [_text(fact[0]) for fact in row.get("supporting_facts") or []]
    gold = tuple(dict.fromkeys(numbers[title] for title in named if title in numbers)) or tuple(numbers.values())
    near = tuple(number for number in dict.fromkeys(numbers.values()) if number not in gold)
    return FileQuestion(_text(row["question"]), _answers([row.get("answer", "")]), gold, near)


def _document_number(text: str, documents: dict[str, int]) -> int:
    """The document's number; equal texts are one document."""
    return documents.setdefault(text.strip(), len(documents))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.40} is no text")
    return value


def _answers(texts: Iterable[object]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for text in map(_text, texts) if text.strip()))


TASKS = tuple(our_task(f"ruler_qa_{steps}", partial(_ask, steps), labels=_labels) for steps in (1, 2))
