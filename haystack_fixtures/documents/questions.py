"""Files of questions about documents: `{"0": {"question", "answer", "answer_doc"}, ...}`.

The format is that of snorkel's long-context-eval (ded59dc). Ours may have more in a row: `answer` as a list, `aliases`,
`supporting_docs`, `status` and `reasons` (`needlework questions check`), `decision` (a person's), any other key.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from needlework.core.errors import InputError

OPTION = "--questions"
STATUSES = ("accept", "review", "reject")
_LAYOUT = 'give {"0": {"question": ..., "answer": ..., "answer_doc": ...}, ...}'
_READ = frozenset({"question", "answer", "aliases", "answer_doc", "supporting_docs"})
Rows = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class DocumentQuestion:
    """One question."""

    key: str  # as in the file
    question: str
    answers: tuple[str, ...]  # the reference first, then its aliases
    document: str  # the name of the one that has the answer
    supporting: tuple[str, ...] = ()  # others that have it too, or a part of it
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)  # the row's other keys


@dataclass(frozen=True)
class QuestionSet:
    """The questions of a file that may be asked."""

    questions: tuple[DocumentQuestion, ...]
    sha256: str  # of the file
    reviewed: bool  # a person decided on every one


def read_question_set(path: str) -> QuestionSet:
    """Read a file; the last ones stay in memory while they do not change. A rejected row is not asked.

    Raises `InputError`, with the row's key, where a row has no question, answer or document.
    """
    try:
        stat = Path(path).expanduser().stat()
    except (OSError, ValueError, RuntimeError) as error:
        raise _unreadable(OPTION, path, error) from None
    return _read(path, stat.st_mtime_ns, stat.st_size)


def read_rows(path: str, option: str = OPTION) -> tuple[Rows, str]:
    """Return all rows of a file as they are, and its sha256. Raises `InputError` for another layout."""
    try:
        file = Path(path).expanduser()
        if file.exists() and not file.is_file():  # a folder; a device may have no end
            raise InputError(option, path, f"cannot be read (it is no file); {_LAYOUT}")
        data = file.read_bytes()
    except (OSError, ValueError, RuntimeError) as error:
        raise _unreadable(option, path, error) from None
    try:
        content = json.loads(data.decode("utf-8-sig"), object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise InputError(option, path, f"is not JSON ({error}); {_LAYOUT}") from None
    if not isinstance(content, dict) or not all(isinstance(row, dict) for row in content.values()):
        raise InputError(option, path, f"is JSON of another layout; {_LAYOUT}")
    return content, sha256(data).hexdigest()


def rows_before(out: Path, option: str = "--out") -> Rows:
    """Return the rows of a file that is to be written, none where it is not there. Raises `InputError`."""
    try:
        there = out.exists()
    except OSError as error:
        raise _unreadable(option, str(out), error) from None
    return read_rows(str(out), option)[0] if there else {}


def question_of(key: str, row: Mapping[str, Any]) -> DocumentQuestion:
    """One row as a question. Raises `ValueError` that says what it lacks."""
    question, document = row.get("question"), row.get("answer_doc")
    if not isinstance(question, str) or not question.strip():
        raise ValueError("has no question")
    answers = _texts([*_listed(row.get("answer")), *_listed(row.get("aliases"))])
    if not answers:
        raise ValueError("has no answer")
    if not isinstance(document, str) or not document:
        raise ValueError("has no answer_doc")
    supporting = tuple(name for name in _texts(_listed(row.get("supporting_docs"))) if name != document)
    extra = {name: value for name, value in row.items() if name not in _READ}
    return DocumentQuestion(key, question.strip(), answers, document, supporting, extra)


def status_of(row: Mapping[str, Any]) -> str | None:
    """The status of a row: a person's decision, else that of the check; `None` without either."""
    return next((each for each in _statuses(row) if each in STATUSES), None)


def _statuses(row: Mapping[str, Any]) -> tuple[object, object]:
    """A person's decision, and the finding of the check."""
    decision = row.get("decision")
    return decision.get("status") if isinstance(decision, dict) else None, row.get("status")


def is_decided(row: Mapping[str, Any]) -> bool:
    """Whether a person decided on a row."""
    return _statuses(row)[0] in STATUSES


def question_file(rows: Rows) -> bytes:
    """The rows as such a file, in UTF-8."""
    try:
        return f"{json.dumps(rows, indent=1, ensure_ascii=False)}\n".encode()
    except UnicodeEncodeError:  # half of a surrogate pair has no UTF-8, only an escape
        return f"{json.dumps(rows, indent=1)}\n".encode()


@lru_cache(4)
def _read(path: str, _changed: int, _size: int) -> QuestionSet:
    rows, digest = read_rows(path, OPTION)
    for key, row in rows.items():
        for status in _statuses(row):
            if status not in (None, "", *STATUSES):
                raise InputError(OPTION, path, f"row {key!r} has the status {status!r}: use {', '.join(STATUSES)}")
    accepted = {key: row for key, row in rows.items() if status_of(row) != "reject"}
    questions = []
    for key, row in accepted.items():
        try:
            questions.append(question_of(key, row))
        except ValueError as error:
            raise InputError(OPTION, path, f"row {key!r} {error}; {_LAYOUT}") from None
    if not questions:
        raise InputError(OPTION, path, "has no question that may be asked: all are rejected, or there is none")
    return QuestionSet(tuple(questions), digest, all(is_decided(row) for row in accepted.values()))


def _listed(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else [value]


def _texts(values: Iterable[object]) -> tuple[str, ...]:
    """The texts among values, numbers written out, each once; blank and other values are left out."""
    texts = (
        str(value).strip() for value in values if isinstance(value, str | int | float) and not isinstance(value, bool)
    )
    return tuple(dict.fromkeys(text for text in texts if text))


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for key, value in pairs:
        if key in table:
            raise ValueError(f"the key {key!r} stands there twice")
        table[key] = value
    return table


def _unreadable(option: str, path: str, error: Exception) -> InputError:
    why = getattr(error, "strerror", None) or error
    remedy = "; needlework questions make FOLDER writes one" if option == OPTION else ""
    return InputError(option, path, f"cannot be read ({why}){remedy}")
