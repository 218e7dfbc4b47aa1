"""What annotators said, in the state file: a row for every click, none ever changed but to say that it was undone."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from secrets import token_hex

SCHEMA = """
CREATE TABLE IF NOT EXISTS rating_seed (one INTEGER PRIMARY KEY CHECK (one = 1), seed TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS rating_annotators (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL, folded TEXT NOT NULL UNIQUE,
    started TEXT NOT NULL, done TEXT, shown TEXT);
CREATE TABLE IF NOT EXISTS rating_marks (
    number INTEGER PRIMARY KEY AUTOINCREMENT, annotator INTEGER NOT NULL REFERENCES rating_annotators,
    item TEXT NOT NULL, answer TEXT NOT NULL, rating INTEGER CHECK (rating BETWEEN 1 AND 5),
    comment TEXT NOT NULL, skipped INTEGER NOT NULL, at TEXT NOT NULL, undone INTEGER NOT NULL DEFAULT 0);
CREATE INDEX IF NOT EXISTS rating_latest ON rating_marks (annotator, undone, item, answer);
"""
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
class Mark:
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

    def __init__(self, mark: Mark) -> None:
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
        (name, name.casefold(), _now()),
    )
    found = connection.execute("SELECT number FROM rating_annotators WHERE folded = ?", (name.casefold(),))
    return int(found.fetchone()["number"])


def annotators(connection: sqlite3.Connection) -> list[Annotator]:
    """All annotators, in the order in which they began."""
    rows = connection.execute("SELECT number, name, started, done, shown FROM rating_annotators ORDER BY number")
    return [Annotator(**row) for row in rows]


def set_done(connection: sqlite3.Connection, annotator: int, *, done: bool) -> None:
    """Keep that an annotator is done, or goes on."""
    connection.execute("UPDATE rating_annotators SET done = ? WHERE number = ?", (_now() if done else None, annotator))


def set_shown(connection: sqlite3.Connection) -> None:
    """Keep that names and results are shown from now on, to everyone who has begun."""
    connection.execute("UPDATE rating_annotators SET shown = ? WHERE shown IS NULL", (_now(),))


def marks_of(connection: sqlite3.Connection, annotator: int, item: str | None = None) -> dict[Place, Mark]:
    """What stands for each answer and item that an annotator said something about; of one item where it is given."""
    rows = connection.execute(
        f"SELECT {_COLUMNS}, MAX(number) AS number FROM rating_marks"  # noqa: S608 - our own columns
        " WHERE annotator = ? AND undone = 0 AND (? IS NULL OR item = ?) GROUP BY item, answer",
        (annotator, item, item),
    )
    return {(mark.item, mark.answer): mark for mark in map(_mark, rows)}


def standing(connection: sqlite3.Connection, annotator: int, item: str, answer: str) -> Mark:
    """What stands for one answer, or an item."""
    row = connection.execute(
        f"SELECT {_COLUMNS}, number FROM rating_marks"  # noqa: S608 - our own columns
        " WHERE annotator = ? AND undone = 0 AND item = ? AND answer = ? ORDER BY number DESC LIMIT 1",
        (annotator, item, answer),
    ).fetchone()
    return Mark(item=item, answer=answer) if row is None else _mark(row)


def say(connection: sqlite3.Connection, annotator: int, mark: Mark) -> Mark:
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
            _insert(connection, annotator, Mark(item=mark.item))
    same = mark.rating is not None and mark.rating == stands.rating
    return _insert(connection, annotator, replace(mark, at=stands.at if same else ""))


def undo(connection: sqlite3.Connection, annotator: int) -> Mark | None:
    """Undo the last thing that an annotator said; returns it, or `None` where there is nothing."""
    row = connection.execute(
        f"SELECT {_COLUMNS}, number FROM rating_marks"  # noqa: S608 - our own columns
        " WHERE annotator = ? AND undone = 0 ORDER BY number DESC LIMIT 1",
        (annotator,),
    ).fetchone()
    if row is None:
        return None
    connection.execute("UPDATE rating_marks SET undone = 1 WHERE number = ?", (row["number"],))
    return _mark(row)


_COLUMNS = "item, answer, rating, comment, skipped, at"


def _mark(row: sqlite3.Row) -> Mark:
    return Mark(
        row["number"], row["item"], row["answer"], row["rating"], row["comment"], bool(row["skipped"]), row["at"]
    )


def _insert(connection: sqlite3.Connection, annotator: int, mark: Mark) -> Mark:
    """Times of its own are kept."""
    at = mark.at or _now()
    number = connection.execute(
        "INSERT INTO rating_marks (annotator, item, answer, rating, comment, skipped, at) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (annotator, mark.item, mark.answer, mark.rating, mark.comment, mark.skipped, at),
    ).lastrowid
    return replace(mark, number=number or 0, at=at)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
