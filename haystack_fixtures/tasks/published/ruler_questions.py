"""RULER: question answering."""

from __future__ import annotations

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
from needlework.core.grid import Cell
from needlework.core.settings import Suite, family_options
from needlework.haystack_fixtures.haystacks.listing import Listing
from needlework.haystack_fixtures.tasks.document_material import DocumentOptions
from needlework.haystack_fixtures.tasks.published.ruler import (
    FAMILY,
    VERSION,
    compounds,
    enough,
    person,
    seeds,
    town,
    vocabulary,
)
from needlework.haystack_fixtures.tasks.task import Question, Task, labelled, no_depths

# The documents that answer stand at drawn places, the same share of the list at every length (RULER has them at one and
# the same place in every sample).
_DOCUMENT = {"en": "Document {number}:\n{text}\n\n", "zh": "文档 {number}：\n{text}\n\n"}
_INTRODUCTION = {
    "en": "Answer the question from the documents below. Give the answer alone, in a few words.\n\n",
    "zh": "请根据下面的文档回答问题。只需用几个字给出答案。\n\n",
}
_QUESTION = {"en": "Question: {question}", "zh": "问题：{question}"}
_PREFIX = {"en": "Answer:", "zh": "答案："}


@dataclass(frozen=True, slots=True)
class _DrawnQuestion:
    """A question with the documents that answer it. `others(count)`: so many of the others, in drawn order."""

    text: str
    answers: tuple[str, ...]
    gold: tuple[str, ...]
    others: Callable[[int], Sequence[str]]
    most: int | None = None
    material: str = ""


def _questions(suite: Suite) -> str | None:
    """The user's file of questions."""
    return family_options(suite, DocumentOptions).questions


def _labels(suite: Suite) -> tuple[str, ...]:
    questions = _questions(suite)
    if questions is None:
        return (labelled("generated", suite),)
    _check_repeats(suite.repeats, suite, read_questions(questions))
    return (labelled("questions", suite),)


def _check_repeats(repeats: int, suite: Suite, file: QuestionFile) -> None:
    if repeats > len(file.questions):
        raise InputError("--repeats", suite.repeats, f"{OPTION} has {len(file.questions)} questions; ask no more")


def _ask(steps: int, suite: Suite, cell: Cell, seed: int) -> Question:
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
    return Question(
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


def _generated(parts: tuple[object, ...], steps: int, language: str) -> _DrawnQuestion:
    def told(count: int) -> Sequence[str]:
        return _told(parts, steps, language, enough(count))[:count]

    story = next(stories(draws(*parts), language))
    text, answer = two_steps(story, language) if steps > 1 else one_step(draws(*parts, "asked"), story, language)
    return _DrawnQuestion(text, (answer,), tuple(told(steps)), lambda count: told(steps + count)[steps:])


@lru_cache(4)
def _told(parts: tuple[object, ...], steps: int, language: str, count: int) -> Sequence[str]:
    """The first documents that are drawn for these `parts`: of institutions, in two steps of their founders too."""
    drawn = stories(draws(*parts), language)
    documents = (text for story in drawn for text in (story.institution, story.life)[:steps])
    return tuple(islice(documents, count))


def _from_file(parts: tuple[object, ...], file: QuestionFile, suite: Suite, cell: Cell, seed: int) -> _DrawnQuestion:
    _check_repeats(cell.repeat + 1, suite, file)
    asked = _nth(draws(cell.task, VERSION, seed, "order"), len(file.questions), cell.repeat)
    question = file.questions[asked]

    def others(count: int) -> list[str]:
        near = shuffled(draws(*parts, "near"), question.near)
        rest = _unordered(draws(*parts, "others"), len(file.documents), {*question.gold, *near})
        return [file.documents[number] for number in islice((*near, *islice(rest, max(0, count - len(near)))), count)]

    gold = tuple(file.documents[number] for number in question.gold)
    most = max(len(gold), len(file.documents) - len(gold))
    return _DrawnQuestion(question.text, question.answers, gold, others, most, file.sha256)


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


@dataclass(frozen=True, slots=True)
class QuestionFile:
    """The questions of a file that have an answer, its different documents, and its hash."""

    questions: tuple[FileQuestion, ...]
    documents: tuple[str, ...]
    sha256: str


OPTION = "--questions"


def stories(rng: Random, language: str) -> Iterator[FounderStory]:
    """Endless stories; names and pieces come once, the first story's founder, towns and piece in no other.

    Other founders come once too, until half of all names are used up.
    """
    words = vocabulary(language)
    names, pieces = compounds(rng, words), compounds(rng, words)
    people: set[str] = set()
    enough, first, first_piece = len(words.given) * len(words.surnames) // 2, "", ""
    barred: set[str] = set()
    while True:
        kind = pick(rng, _KINDS[language])
        compound = next(names)
        name = _title(next(names) if compound == first_piece else compound, kind, language)
        founder = person(rng, language)
        while founder == first or (founder in people and len(people) < enough):
            founder = person(rng, language)
        people.add(founder)
        first = first or founder
        towns: list[str] = []
        while len(towns) < 3:
            drawn = town(rng, language)
            if drawn not in barred and drawn not in towns:
                towns.append(drawn)
        born = 1600 + below(rng, 300)
        piece = next(pieces)
        told = {
            "name": name,
            "founder": founder,
            "place": towns[0],
            "birth": towns[1],
            "home": towns[2],
            "piece": piece.replace("-", " "),
            "born": str(born),
            "founded": str(born + 25 + below(rng, 40)),
            "season": pick(rng, _SEASONS[language]),
            "job": pick(rng, _JOBS[language]),
        }
        yield FounderStory(
            name,
            founder,
            told["place"],
            told["piece"],
            told["birth"],
            _INSTITUTION[language].format(**told),
            _FOUNDER[language].format(**told),
        )
        barred, first_piece = barred or set(towns), first_piece or piece


def _title(compound: str, kind: str, language: str) -> str:
    return f"{compound.replace('-', ' ').title()} {kind}" if language == "en" else f"{compound}{kind}"


_SEASONS = {
    "en": ("spring", "summer", "autumn", "winter"),
    "zh": ("春天", "夏天", "秋天", "冬天"),
}
_JOBS = {
    "en": ("clockmaker", "schoolteacher", "surveyor", "printer", "ferry captain", "chemist", "tailor", "gardener"),
    "zh": ("钟表匠", "小学教员", "测量员", "印刷工", "渡船船长", "药剂师", "裁缝", "园丁"),
}
_INSTITUTION = {
    "en": "{name}\nThe {name} was founded in {founded} by {founder}. "
    "Its house stands in {place}, not far from the river. The oldest piece that it "
    "owns is called the {piece}. Most of its visitors come in {season}.",
    "zh": "{name}\n{name}由{founder}于{founded}年创办，馆舍位于{place}，离河不远。"
    "馆中最古老的藏品名叫“{piece}”。参观者大多在{season}前来。",
}
_FOUNDER = {
    "en": "{founder}\n{founder} was born in {birth} in {born} and learnt the trade of a {job}. "
    "After a fire the family moved to {home}, where {founder} opened a workshop. The diaries were printed much later.",
    "zh": "{founder}\n{founder}于{born}年出生在{birth}，早年学做{job}。"
    "一场大火之后，全家搬到{home}，{founder}在那里开了一间工坊。其日记多年以后才付印。",
}


_KINDS = {
    "en": ("Museum", "Library", "Society", "Archive", "Theatre", "Academy", "Orchestra", "Observatory"),
    "zh": ("博物馆", "图书馆", "学会", "档案馆", "剧院", "书院", "乐团", "天文台"),
}


@dataclass(frozen=True, slots=True)
class FounderStory:
    """An institution and its founder."""

    name: str
    founder: str
    place: str
    piece: str
    birth: str
    institution: str
    life: str


def one_step(rng: Random, story: FounderStory, language: str) -> tuple[str, str]:
    """A question that one document answers, and the answer."""
    about = pick(rng, sorted(_ONE_STEP[language]))
    return _ONE_STEP[language][about].format(name=story.name), str(getattr(story, about))


_ONE_STEP = {
    "en": {
        "founder": "Who founded the {name}?",
        "place": "In which town does the house of the {name} stand?",
        "piece": "What is the oldest piece that the {name} owns called?",
    },
    "zh": {
        "founder": "{name}是由谁创办的？",
        "place": "{name}的馆舍位于什么地方？",
        "piece": "{name}最古老的藏品叫什么？",
    },
}


def two_steps(story: FounderStory, language: str) -> tuple[str, str]:
    """A question that takes the founder's name from one document and the town from another, and the answer."""
    return _TWO_STEPS[language].format(name=story.name), story.birth


_TWO_STEPS = {"en": "In which town was the founder of the {name} born?", "zh": "{name}的创办人出生在什么地方？"}


def read_questions(path: str) -> QuestionFile:
    """Read a file; the last ones stay in memory while they do not change. Raises `InputError`."""
    try:
        stat = Path(path).stat()
    except OSError as error:
        raise InputError(OPTION, path, f"cannot be read ({error.strerror})") from None
    return _read(path, stat.st_mtime_ns, stat.st_size)


@lru_cache(2)
def _read(path: str, _changed: int, _size: int) -> QuestionFile:
    try:
        data = Path(path).read_bytes()
        content = json.loads(data)
    except OSError as error:
        raise InputError(OPTION, path, f"cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        raise InputError(OPTION, path, f"is not JSON ({error})") from None
    return parse_questions(content, path, sha256(data).hexdigest())


def parse_questions(content: object, path: str, digest: str = "") -> QuestionFile:
    """The questions of parsed JSON; `path` is for messages. Raises `InputError`."""
    documents: dict[str, int] = {}
    try:
        if isinstance(content, dict) and isinstance(content.get("data"), list):
            found = list(_squad(content["data"], documents))
        elif isinstance(content, list):
            found = [_hotpot(row, documents) for row in content]
        else:
            raise InputError(OPTION, path, f"give {_LAYOUTS}")
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise InputError(
            OPTION, path, f"a question does not have the fields of its layout ({what}); give {_LAYOUTS}"
        ) from None
    questions = tuple(each for each in found if each.text.strip() and each.answers and each.gold)
    if not questions:
        raise InputError(OPTION, path, "has no question with an answer and a document")
    most = max(len(each.gold) for each in questions)
    if len(documents) < 2 * most:
        raise InputError(
            OPTION, path, f"has {len(documents)} documents; questions need {2 * most} or more to be hidden in"
        )
    return QuestionFile(questions, tuple(documents), digest)


_LAYOUTS = "the JSON file of SQuAD (a table with data) or of HotpotQA (a list of questions with context)"


def _hotpot(row: Any, documents: dict[str, int]) -> FileQuestion:
    pages = {_text(title): f"{title}\n{''.join(map(_text, sentences))}" for title, sentences in row["context"]}
    numbers = {title: _number(page, documents) for title, page in pages.items()}
    named = [_text(fact[0]) for fact in row.get("supporting_facts") or []]
    gold = tuple(dict.fromkeys(numbers[title] for title in named if title in numbers)) or tuple(numbers.values())
    near = tuple(number for number in dict.fromkeys(numbers.values()) if number not in gold)
    return FileQuestion(_text(row["question"]), _answers([row.get("answer", "")]), gold, near)


def _number(text: str, documents: dict[str, int]) -> int:
    """The document's number; equal texts are one document."""
    return documents.setdefault(text.strip(), len(documents))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.40} is no text")
    return value


@dataclass(frozen=True, slots=True)
class FileQuestion:
    """A question with its accepted answers. `gold`, `near`: numbers of the documents that answer it, and that are of
    the same article or were retrieved with them."""

    text: str
    answers: tuple[str, ...]
    gold: tuple[int, ...]
    near: tuple[int, ...]


def _answers(texts: Iterable[object]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for text in map(_text, texts) if text.strip()))


def _squad(articles: Sequence[Any], documents: dict[str, int]) -> Iterable[FileQuestion]:
    for article in articles:
        numbers = [_number(_text(paragraph["context"]), documents) for paragraph in article["paragraphs"]]
        for number, paragraph in zip(numbers, article["paragraphs"], strict=True):
            near = tuple(dict.fromkeys(other for other in numbers if other != number))
            for row in paragraph["qas"]:
                if not row.get("is_impossible", False):
                    answers = _answers(answer["text"] for answer in row["answers"])
                    yield FileQuestion(_text(row["question"]), answers, (number,), near)


TASKS = (_task(1), _task(2))
