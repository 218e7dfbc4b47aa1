"""Marks that raters gave."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from secrets import token_hex
from typing import Any

from needlework.core.errors import InputError
from needlework.core.record import SCORED, UNDECIDED, Record
from needlework.results.files.read_run import run_records
from needlework.results.records.samples import as_asked
from needlework.results.web.command import PREDICTIONS, ServedFiles
from needlework.results.web.store import Event, Log, utc_now
from needlework.scoring.leval.tasks import TASKS

_ANSWERS = ("_outputs", "_pred")  # what keys with answers end in
_BY_HUMANS = "human"


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """One answer. `question`, `references` and `id` (a record's) together tell which question it answers.

    `model`: the key of its file, or a record's model. `group`: what its question shares with others, if known.
    `asked`: question and reference as L-Eval's data has them. `run`: the folder of the record. `plain`: asked as the
    task asks it: its answer is in the context, which is whole.
    """

    question: str
    references: tuple[str, ...]
    id: str
    model: str
    text: str
    group: str
    asked: tuple[str, str]
    run: Path | None = None
    plain: bool = True


@dataclass(frozen=True, slots=True)
class RatedDocuments:
    """The different documents of the data files, and the number of the one that each question is about."""

    texts: tuple[str, ...]
    of: Mapping[tuple[str, str], int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Read:
    """`answers`: those of each file or run, under its name. `broken`: what could not be read, one line each."""

    answers: Mapping[str, tuple[GivenAnswer, ...]]
    documents: RatedDocuments
    broken: tuple[str, ...]


def read_sources(sources: ServedFiles) -> Read:
    """Read all answers that there are. Raises `InputError` where a file cannot be read at all."""
    broken: list[str] = []
    having = (*sources.annotated, *sources.references)
    rows = {path: list(_rows(path, broken)) for path in (*sources.predictions, *having)}
    answers: dict[Path, list[GivenAnswer]] = {path: _of_predictions(path, rows[path]) for path in sources.predictions}
    answers |= {path: _of_references(rows[path]) for path in having}
    answers |= {run: _of_run(run, _records(run, broken)) for run in sources.runs}
    names = _names([path for path, found in answers.items() if found])
    return Read(
        {names[path]: tuple(found) for path, found in answers.items() if found},
        _documents(row for path in having for row in rows[path]),
        tuple(broken),
    )


def _records(run: Path, broken: list[str]) -> list[Record]:
    """A run's records; one that cannot be read does not hide the others."""
    try:
        return run_records(run)
    except InputError as error:
        broken.append(str(error))
        return []


def _rows(path: Path, broken: list[str]) -> Iterator[dict[str, Any]]:
    try:
        lines = path.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n")
    except OSError as error:
        raise InputError("PATH", path, f"cannot be read ({error.strerror})") from None
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                row = None
            if isinstance(row, dict):
                yield row
            else:
                broken.append(f"{path.name}, line {number}: is no JSON object")


def _for_humans(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows that people are to judge, where the file marks such rows, else all."""
    return [row for row in rows if row.get("evaluation") == _BY_HUMANS] or list(rows)


def _of_predictions(path: Path, rows: Sequence[dict[str, Any]]) -> list[GivenAnswer]:
    group_of = _groups(path, rows)
    return [
        GivenAnswer(row["query"], (row["gt"],), "", key, row[key], group_of(row), (row["query"], row["gt"]))
        for row in _for_humans(rows)
        for key in row
        if key.endswith("_pred") and all(isinstance(row.get(name), str) for name in ("query", "gt", key))
    ]


def _groups(path: Path, rows: Sequence[dict[str, Any]]) -> Callable[[dict[str, Any]], str]:
    """What tells the document of a row: its place, in the whole file of a task whose documents are known."""
    name = path.name.removesuffix(PREDICTIONS)
    task = TASKS.get(name)
    if task is None or len(rows) != task.expected or sum(task.questions) != task.expected:
        return lambda _row: ""
    numbers = [number for number, count in enumerate(task.questions) for _ in range(count)]
    groups = {id(row): f"{name} {number}" for row, number in zip(rows, numbers, strict=True)}
    return lambda row: groups[id(row)]


def _of_references(rows: Sequence[dict[str, Any]]) -> list[GivenAnswer]:
    """L-Eval's `claude.gpt4.ref.jsonl`: documents whose rows have answers too, a list for each model."""
    having = [row for row in rows if any(_is_answers(row, key) for key in row)]
    return [
        GivenAnswer(question, (reference,), "", key, text, "", (question, reference))
        for row in _for_humans(having)
        for key in row
        if _is_answers(row, key)
        for question, reference, text in zip(row["instructions"], row["outputs"], row[key], strict=True)
    ]


def _is_answers(row: Mapping[str, Any], key: str) -> bool:
    lists = [row.get(name) for name in ("instructions", "outputs", key)]
    if not key.endswith(_ANSWERS) or not all(map(_texts, lists)):
        return False
    return len({len(each) for each in lists if each is not None}) == 1


def _texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _of_run(run: Path, records: Sequence[Record]) -> list[GivenAnswer]:
    """The trials that a model answered, whatever the score."""
    found = []
    as_it_is = {id(record) for record in as_asked(records) if record.reference.get("absent") is not True}
    for record in records:
        if record.outcome not in (*SCORED, *UNDECIDED):
            continue
        question, expected = str(record.question or ""), tuple(record.expected)
        asked = str(record.reference.get("question") or question), expected[0] if expected else ""
        group = f"{record.task_label} {record.panel} {record.sample_number}"
        answer = record.response.text or record.answer
        name = record.id or record.key
        plain = id(record) in as_it_is
        found.append(GivenAnswer(question, expected, name, record.model, answer, group, asked, run, plain))
    return found


def _documents(rows: Iterator[dict[str, Any]]) -> RatedDocuments:
    texts: dict[str, int] = {}
    of: dict[tuple[str, str], int] = {}
    for row in rows:
        text = row.get("input")
        if isinstance(text, str) and _texts(row.get("instructions")) and _texts(row.get("outputs")):
            number = texts.setdefault(text, len(texts))
            for asked in zip(row["instructions"], row["outputs"], strict=False):
                of.setdefault(asked, number)
    return RatedDocuments(tuple(texts), of)


def _names(paths: Sequence[Path]) -> dict[Path, str]:
    """A name for each path: as few of its last folders as tell all apart."""
    for parts in range(1, max((len(path.parts) for path in paths), default=1) + 1):
        names = {path: "/".join(path.parts[-parts:]) for path in paths}
        if len(set(names.values())) == len(paths):
            return names
    return {path: str(path) for path in paths}


SCHEMA = """
CREATE TABLE IF NOT EXISTS rating_seed (one INTEGER PRIMARY KEY CHECK (one = 1), seed TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS rating_annotators (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL, folded TEXT NOT NULL UNIQUE,
    started TEXT NOT NULL, done TEXT, shown TEXT);
"""
PAGE = "rating"
WHOLE_ITEM = ""  # the `answer` of a mark that skips an item, or takes that back
Place = tuple[str, str]  # item, answer


@dataclass(frozen=True, slots=True)
class Annotator:
    """`started`, `done`, `shown` (the models' names, with the results): when, UTC."""

    number: int
    name: str
    started: str
    done: str | None
    shown: str | None


@dataclass(frozen=True, slots=True)
class RatingMark:
    """What stands for one answer, or for an item as a whole. `number` 0: nothing was said yet.

    `comment`: of an item that is skipped, why.
    """

    number: int = 0
    item: str = ""
    answer: str = WHOLE_ITEM
    rating: int | None = None
    comment: str = ""
    skipped: bool = False
    at: str = ""


class StaleError(Exception):
    """Another tab said something since; `mark` is what stands now."""

    def __init__(self, mark: RatingMark) -> None:
        super().__init__("another tab has changed this since")
        self.mark = mark


def seed_of(connection: sqlite3.Connection) -> str:
    """The seed of this state file, drawn when it is first asked for."""
    connection.execute("INSERT OR IGNORE INTO rating_seed VALUES (1, ?)", (token_hex(8),))
    return str(connection.execute("SELECT seed FROM rating_seed").fetchone()["seed"])


def begin(connection: sqlite3.Connection, name: str) -> int:
    """The number of the annotator of this name, a new one where there is none; capitals make no other name."""
    connection.execute(
        "INSERT OR IGNORE INTO rating_annotators (name, folded, started) VALUES (?, ?, ?)",
        (name, name.casefold(), utc_now()),
    )
    found = connection.execute("SELECT number FROM rating_annotators WHERE folded = ?", (name.casefold(),))
    return int(found.fetchone()["number"])


def annotators(connection: sqlite3.Connection) -> list[Annotator]:
    """All annotators, in the order in which they began."""
    rows = connection.execute("SELECT number, name, started, done, shown FROM rating_annotators ORDER BY number")
    return [Annotator(**row) for row in rows]


def set_done(connection: sqlite3.Connection, annotator: int, *, done: bool) -> None:
    """Keep that an annotator is done, or goes on."""
    connection.execute(
        "UPDATE rating_annotators SET done = ? WHERE number = ?", (utc_now() if done else None, annotator)
    )


def set_shown(connection: sqlite3.Connection) -> None:
    """Keep that names and results are shown from now on, to everyone who has begun."""
    connection.execute("UPDATE rating_annotators SET shown = ? WHERE shown IS NULL", (utc_now(),))


def marks_of(connection: sqlite3.Connection, annotator: int, item: str | None = None) -> dict[Place, RatingMark]:
    """What stands for each answer and item that an annotator said something about; of one item where it is given."""
    events = _log(connection).standing(who=_name(connection, annotator))
    marks = [_mark(each) for each in events if item is None or each.item[0] == item]
    return {(mark.item, mark.answer): mark for mark in marks}


def standing(connection: sqlite3.Connection, annotator: int, item: str, answer: str) -> RatingMark:
    """What stands for one answer, or an item."""
    found = _log(connection).standing([item, answer], _name(connection, annotator))
    return _mark(found[-1]) if found else RatingMark(item=item, answer=answer)


def say(connection: sqlite3.Connection, annotator: int, mark: RatingMark) -> RatingMark:
    """Keep what an annotator says; `mark.number` is that of what it replaces. Returns it with its own.

    A rating takes back that its item was skipped; one that stays, with another comment, keeps its time. Raises
    `StaleError`.
    """
    stands = standing(connection, annotator, mark.item, mark.answer)
    if stands.number != mark.number:
        raise StaleError(stands)
    if mark.answer != WHOLE_ITEM:
        whole = standing(connection, annotator, mark.item, WHOLE_ITEM)
        if whole.skipped:
            _insert(connection, annotator, RatingMark(item=mark.item))
    same = mark.rating is not None and mark.rating == stands.rating
    return _insert(connection, annotator, replace(mark, at=stands.at if same else ""))


def undo(connection: sqlite3.Connection, annotator: int) -> RatingMark | None:
    """Undo the last thing that an annotator said; returns it, or `None` where there is nothing."""
    found = _log(connection).standing(who=_name(connection, annotator))
    if not found:
        return None
    _log(connection).take_back(found[-1])
    return _mark(found[-1])


def what_of(answer: str, *, skipped: bool) -> str:
    """What the log calls a mark."""
    if answer != WHOLE_ITEM:
        return "rated"
    return "skipped" if skipped else "taken up"


def _log(connection: sqlite3.Connection) -> Log:
    return Log(connection, PAGE)


def _name(connection: sqlite3.Connection, annotator: int) -> str:
    row = connection.execute("SELECT name FROM rating_annotators WHERE number = ?", (annotator,)).fetchone()
    return str(row["name"])


def _mark(event: Event) -> RatingMark:
    item, answer = event.item
    return RatingMark(event.number, item, answer, **event.said, at=event.at)


def _insert(connection: sqlite3.Connection, annotator: int, mark: RatingMark) -> RatingMark:
    """Times of its own are kept."""
    said = {"rating": mark.rating, "comment": mark.comment, "skipped": mark.skipped}
    what, where = what_of(mark.answer, skipped=mark.skipped), [mark.item, mark.answer]
    return _mark(_log(connection).add(where, _name(connection, annotator), what, said, at=mark.at))
