"""What annotators said of answers: an event of the log for every click."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, replace
from secrets import token_hex

from needlework.results.web.log import Event, Log, utc_now

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


def marks_of(connection: sqlite3.Connection, annotator: int, item: str | None = None) -> dict[Place, Mark]:
    """What stands for each answer and item that an annotator said something about; of one item where it is given."""
    events = _log(connection).standing(who=_name(connection, annotator))
    marks = [_mark(each) for each in events if item is None or each.item[0] == item]
    return {(mark.item, mark.answer): mark for mark in marks}


def standing(connection: sqlite3.Connection, annotator: int, item: str, answer: str) -> Mark:
    """What stands for one answer, or an item."""
    found = _log(connection).standing([item, answer], _name(connection, annotator))
    return _mark(found[-1]) if found else Mark(item=item, answer=answer)


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


def _mark(event: Event) -> Mark:
    item, answer = event.item
    return Mark(event.number, item, answer, **event.said, at=event.at)


def _insert(connection: sqlite3.Connection, annotator: int, mark: Mark) -> Mark:
    """Times of its own are kept."""
    said = {"rating": mark.rating, "comment": mark.comment, "skipped": mark.skipped}
    what, where = what_of(mark.answer, skipped=mark.skipped), [mark.item, mark.answer]
    return _mark(_log(connection).add(where, _name(connection, annotator), what, said, at=mark.at))
