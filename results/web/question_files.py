"""Question files that are reviewed."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from threading import Event, Thread
from typing import Any, Generic, TypeVar

from needlework.core.errors import InputError
from needlework.core.files import write_whole
from needlework.haystack_fixtures.documents.near_copies import twins
from needlework.haystack_fixtures.documents.questions import Rows, is_decided, question_file, read_rows, status_of
from needlework.haystack_fixtures.documents.readers import OwnDocument, read_documents
from needlework.results.questions.evidence import DocumentIndex
from needlework.results.web.question_pairs import (
    Opinion,
    ReviewedPair,
    Row,
    changed_fields,
    fingerprint,
    pair_json,
    pair_of,
    with_pair,
)
from needlework.results.web.store import Log, as_text, name_beside

Opinions = Mapping[str, Opinion]  # by reviewer


@dataclass(frozen=True, slots=True)
class Reviewed:
    """The rows of a reviewed file. Counts of rows: `decided` ("accept", "edit", "reject") by the reviewer, `earlier` by
    a decision that the file had, `undecided` by the check's status; `disagreements` between reviewers. `problems`: what
    keeps a run from asking rows.
    """

    rows: dict[str, dict[str, Any]]
    decided: Counter[str] = field(default_factory=Counter)
    earlier: int = 0
    undecided: Counter[str] = field(default_factory=Counter)
    disagreements: int = 0
    problems: tuple[str, ...] = ()


def counts_now(opinion: Opinion, row: Row) -> bool:
    """Whether the file still says what was decided on."""
    return opinion.about == fingerprint(pair_of(row))


def disagree(opinions: Opinions, row: Row) -> bool:
    """Whether two reviewers say something else of a row: accept or reject, or another wording of an accepted pair."""
    said = {
        (each.status, None if each.status == "reject" else each.pair or pair_of(row))
        for each in opinions.values()
        if counts_now(each, row)
    }
    return len(said) > 1


def opinion_json(opinion: Opinion, row: Row) -> dict[str, Any]:
    """A decision as the page has it; `stale`: the file says something else since."""
    return {
        "number": opinion.number,
        "by": opinion.by,
        "at": opinion.at,
        "status": opinion.status,
        "reason": opinion.reason,
        "pair": opinion.pair and pair_json(opinion.pair),
        "stale": not counts_now(opinion, row),
    }


def reviewed(
    rows: Mapping[str, Row], opinions: Mapping[str, Opinions], by: str, has: Callable[[str], bool]
) -> Reviewed:
    """The file as one reviewer decided: all rows in order, all their fields, and `decision`.

    Rows that this reviewer did not decide on stay as they are, with the decision that the file had. `has`: whether
    there is a document of this name.
    """
    changed: dict[str, dict[str, Any]] = {}
    decided: Counter[str] = Counter()
    undecided: Counter[str] = Counter()
    earlier = disagreements = 0
    problems: list[str] = []
    for key, row in rows.items():
        said = opinions.get(key, {})
        disagreements += disagree(said, row)
        mine = said.get(by)
        if mine is not None and counts_now(mine, row):
            changed[key] = decided_row(row, mine)
            decided["edit" if mine.status == "accept" and mine.pair else mine.status] += 1
        else:
            changed[key] = dict(row)
            if is_decided(row):
                earlier += 1
            else:
                undecided[status_of(row) or "no status"] += 1
        if status_of(changed[key]) != "reject" and (problem := problem_of(pair_of(changed[key]), has)):
            problems.append(f"pair {key}: {problem}")
    return Reviewed(changed, decided, earlier, undecided, disagreements, tuple(problems))


def decided_row(row: Row, opinion: Opinion) -> dict[str, Any]:
    """The row with a reviewer's wording, status and `decision`."""
    pair = opinion.pair or pair_of(row)
    decision: dict[str, Any] = {"status": opinion.status, "by": opinion.by, "at": opinion.at}
    if opinion.reason:
        decision["reason"] = opinion.reason
    if edited := changed_fields(pair_of(row), pair):
        decision["edited"] = edited
    return {**with_pair(row, pair), "status": opinion.status, "decision": decision}


def problem_of(pair: ReviewedPair, has: Callable[[str], bool]) -> str:
    """Why a run cannot ask a pair; empty where it can."""
    if not pair.question:
        return "it has no question"
    if not pair.answers:
        return "it has no answer"
    if not pair.document:
        return "it names no answer document"
    missing = [name for name in (pair.document, *pair.supporting) if not has(name)]
    return f"there is no document {missing[0]!r} in the folder" if missing else ""


class Library:
    """Read once, when the server starts. Numbers are places in the folder's order."""

    def __init__(self, folder: Path | None) -> None:
        """Raises `InputError`. The index of words is made in the background."""
        self.folder = folder
        self._set = None if folder is None else read_documents(str(folder))
        self.documents: tuple[OwnDocument, ...] = self._set.documents if self._set else ()
        self._numbers = {each.name: number for number, each in enumerate(self.documents)}
        self._index = Later(lambda: DocumentIndex(self.documents))
        self._twins = Later(self._find_twins)

    @property
    def known(self) -> bool:
        """Whether a folder was given."""
        return self._set is not None

    def index(self, wait_s: float) -> DocumentIndex | None:
        """The index of words; `None` where it is not ready within so many seconds."""
        return self._index.get(wait_s)

    def twins_of(self, number: int) -> tuple[int, ...] | None:
        """The documents that are the same or nearly; `None` until that is known."""
        twins = self._twins.get()
        return None if twins is None else twins.get(number, ())

    def has(self, name: str) -> bool:
        """Whether there is a document of this name; where no folder was given, any is taken to be there."""
        return not self.known or self.number_of(name) is not None

    def number_of(self, name: str) -> int | None:
        """The document that a questions file calls so; files may be named without their folder."""
        document = self._set.named(name) if self._set else None
        return None if document is None else self._numbers[document.name]

    def numbers_of(self, names: object) -> list[int]:
        """The documents of a list of names, each once; what is no name of a document is passed by."""
        listed = names if isinstance(names, list | tuple) else ()
        found = [self.number_of(each) for each in listed if isinstance(each, str)]
        return list(dict.fromkeys(each for each in found if each is not None))

    def _find_twins(self) -> dict[int, tuple[int, ...]]:
        self._index.get(None)  # people wait for that one
        groups = [[self._numbers[name] for name in group] for group in twins(self.documents)]
        return {each: tuple(other for other in group if other != each) for group in groups for each in group}


_OPTION = "PATH"
WRITTEN = "written"  # the page of the log that has what was written to files


@dataclass(frozen=True, slots=True)
class QuestionsFile:
    """`name`: what the state file calls it, so that both can be moved together."""

    path: Path
    name: str

    def read(self) -> tuple[Rows, str]:
        """Its rows now, and its sha256. Raises `InputError`."""
        try:
            stat = self.path.stat()
        except OSError as error:
            raise InputError(_OPTION, self.path, f"cannot be read ({error.strerror})") from None
        return _rows(str(self.path), stat.st_mtime_ns, stat.st_size)

    @property
    def target(self) -> Path:
        """Where the reviewed file goes: `q.checked.json` and `q.json` become `q.reviewed.json`."""
        stem = self.path.stem.removesuffix(".checked")
        return self.path.with_name(f"{stem}.reviewed.json")


def named(path: Path, state: Path) -> QuestionsFile:
    """A file, named by its path from the folder of the state file."""
    return QuestionsFile(path, name_beside(path, state))


def on_disk(path: Path) -> str | None:
    """The sha256 of a file; `None` where there is none."""
    try:
        return sha256(path.read_bytes()).hexdigest()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(_OPTION, path, f"cannot be read ({error.strerror})") from None


def written_by(connection: sqlite3.Connection, file: QuestionsFile, digest: str) -> str | None:
    """The reviewer whose decisions we wrote to the target, with this sha256; `None` where it is not from here."""
    found = [each.who for each in _written(connection, file).history() if each.said["sha256"] == digest]
    return found[-1] if found else None


def write_reviewed(connection: sqlite3.Connection, file: QuestionsFile, rows: Rows, by: str) -> str:
    """Write the reviewed file whole, and return its sha256, which runs record. Raises `InputError`."""
    content = question_file(rows)
    digest = sha256(content).hexdigest()
    try:
        write_whole(file.target, content)
    except OSError as error:
        raise InputError(_OPTION, file.target, f"cannot be written ({error.strerror})") from None
    _written(connection, file).add(file.name, by, "wrote", {"sha256": digest})
    return digest


def _written(connection: sqlite3.Connection, file: QuestionsFile) -> Log:
    """What was written to the target, from whichever file."""
    return Log(connection, WRITTEN, as_text(file.target.name))


@lru_cache(8)
def _rows(path: str, _changed: int, _size: int) -> tuple[Rows, str]:
    return read_rows(path, _OPTION)


_Made = TypeVar("_Made")


class Later(Generic[_Made]):
    """Something that is made in a thread of its own, beside the pages."""

    def __init__(self, make: Callable[[], _Made]) -> None:
        self._done = Event()
        self._made: _Made | None = None
        self._problem: BaseException | None = None

        def run() -> None:
            try:
                self._made = make()
            except BaseException as error:  # noqa: BLE001 - told to whoever asks
                self._problem = error
            self._done.set()

        Thread(target=run, daemon=True).start()

    def get(self, wait_s: float | None = 0.0) -> _Made | None:
        """What was made; `None` where it is not ready after so many seconds. Raises what making it raised.

        `wait_s` none: however long it takes.
        """
        if not self._done.wait(wait_s):
            return None
        if self._problem is not None:
            raise self._problem
        return self._made
