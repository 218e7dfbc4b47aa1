"""A user's file of questions with documents: the official JSON of SQuAD (v1, v2) or of HotpotQA."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from needlework.haystack_fixtures.errors import InputError

OPTION = "--questions"
_LAYOUTS = "the JSON file of SQuAD (a table with data) or of HotpotQA (a list of questions with context)"


@dataclass(frozen=True, slots=True)
class FileQuestion:
    """A question with its accepted answers. `gold`, `near`: numbers of the documents that answer it, and that are of
    the same article or were retrieved with them."""

    text: str
    answers: tuple[str, ...]
    gold: tuple[int, ...]
    near: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class QuestionFile:
    """The questions of a file that have an answer, its different documents, and its hash."""

    questions: tuple[FileQuestion, ...]
    documents: tuple[str, ...]
    sha256: str


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


def _squad(articles: Sequence[Any], documents: dict[str, int]) -> Iterable[FileQuestion]:
    for article in articles:
        numbers = [_number(_text(paragraph["context"]), documents) for paragraph in article["paragraphs"]]
        for number, paragraph in zip(numbers, article["paragraphs"], strict=True):
            near = tuple(dict.fromkeys(other for other in numbers if other != number))
            for row in paragraph["qas"]:
                if not row.get("is_impossible", False):
                    answers = _answers(answer["text"] for answer in row["answers"])
                    yield FileQuestion(_text(row["question"]), answers, (number,), near)


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


def _answers(texts: Iterable[object]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for text in map(_text, texts) if text.strip()))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.40} is no text")
    return value
