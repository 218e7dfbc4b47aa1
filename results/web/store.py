"""State of the pages in files."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from needlework.core.errors import InputError

_WAIT_S = 10.0


class Store:
    """The file that holds what people said. Threads may share it: each request has a connection of its own."""

    def __init__(self, path: Path, schemas: Iterable[str]) -> None:
        """`schemas`: what the pages keep, as `CREATE TABLE IF NOT EXISTS` statements. Raises `InputError`."""
        self.path = path
        schemas = tuple(schemas)
        try:
            with self._open("rwc") as connection:
                there = _tables(connection)
                if there and not there & _tables_of(schemas):
                    raise InputError("--state", path, "is another program's file; name one for what people say")
                connection.execute("PRAGMA journal_mode = WAL")
                for schema in schemas:
                    connection.executescript(schema)
            with self.writing():
                pass  # what cannot be written is told now, not at the first click
        except (sqlite3.Error, OSError) as error:
            raise unusable(path, error) from None

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection; its rows are read by column name. A file that is gone is not made again: it would be empty."""
        with self._open("rw") as connection:
            yield connection

    @contextmanager
    def _open(self, mode: str) -> Iterator[sqlite3.Connection]:
        name = f"{self.path.absolute().as_uri()}?mode={mode}"
        connection = sqlite3.connect(name, timeout=_WAIT_S, isolation_level=None, uri=True)
        try:
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA synchronous = FULL")
            yield connection
        finally:
            connection.close()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A connection in a transaction: all that is written in it stays, or nothing. Raises `sqlite3.Error`."""
        with self.reading() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                if connection.in_transaction:  # a full disk has ended it
                    connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")


def unusable(path: Path, error: Exception) -> InputError:
    """What is said where the state file cannot be used."""
    return InputError("--state", path, f"cannot be used as the file of what people say ({error})")


def name_beside(path: Path, state: Path) -> str:
    """What a state file calls a file: its path from there, so that both can be moved together."""
    return as_text(os.path.relpath(path, state.resolve().parent).replace(os.sep, "/"))


def as_text(name: str) -> str:
    """A file's name as SQLite takes it: bytes that are no UTF-8 are written out."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _tables(connection: sqlite3.Connection) -> set[str]:
    found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    return {name for (name,) in found if not name.startswith("sqlite_")}


def _tables_of(schemas: Iterable[str]) -> set[str]:
    with closing(sqlite3.connect(":memory:")) as empty:
        for schema in schemas:
            empty.executescript(schema)
        return _tables(empty)


# `item`, `said`: JSON, in ASCII: half a surrogate pair has no UTF-8. `undone`: the number of the event that says so.
SCHEMA = """
CREATE TABLE IF NOT EXISTS events (
    number INTEGER PRIMARY KEY AUTOINCREMENT, page TEXT NOT NULL, file TEXT NOT NULL, item TEXT NOT NULL,
    who TEXT NOT NULL, what TEXT NOT NULL, said TEXT NOT NULL, at TEXT NOT NULL, undone INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS events_of ON events (page, file, item, who);
"""
UNDONE = "undone"  # what an event says that takes another one back


@dataclass(frozen=True, slots=True)
class Event:
    """`number`: its place in the log. `item`: what it is about. `what`: the kind. `said`: the rest. `at`: UTC."""

    number: int
    item: Any
    who: str
    what: str
    said: Mapping[str, Any]
    at: str


@dataclass(frozen=True, slots=True)
class Log:
    """What was said on one page about one file."""

    connection: sqlite3.Connection
    page: str
    file: str = ""

    def add(
        self, item: Any, who: str, what: str, said: Mapping[str, Any], *, at: str = "", stands: bool = True
    ) -> Event:
        """Add an event. `at`: now, where it is empty. `stands`: it counts; else it is there to be read again."""
        at = at or utc_now()
        number = self.connection.execute(
            "INSERT INTO events (page, file, item, who, what, said, at) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (self.page, self.file, json.dumps(item), who, what, json.dumps(said), at),
        ).lastrowid
        event = Event(number or 0, item, who, what, said, at)
        if not stands:
            self._undone(event.number, event.number)
        return event

    def take_back(self, event: Event) -> None:
        """Add that somebody takes back what they said: what they said before it stands again."""
        by = self.add(event.item, event.who, UNDONE, {"undoes": event.number}, stands=False)
        self._undone(event.number, by.number)

    def amend(self, number: int, who: str, what: str, said: Mapping[str, Any]) -> None:
        """Go on with an event: what is being typed is one, not one for each pause."""
        self.connection.execute(
            "UPDATE events SET who = ?, what = ?, said = ?, at = ? WHERE number = ?",
            (who, what, json.dumps(said), utc_now(), number),
        )

    def standing(self, item: Any = None, who: str | None = None) -> list[Event]:
        """The last event of each person about each item that was not undone, in order; of one item, of one person."""
        return self._found("*, MAX(number) AS last", "AND undone = 0", "GROUP BY item, who ORDER BY last", item, who)

    def history(self, item: Any = None, what: str | None = None) -> list[Event]:
        """All events in order, those that do not stand too; of one item, of one kind."""
        kind = "" if what is None else " AND what = ?"
        return self._found("*", kind, "ORDER BY number", item, None, *([] if what is None else [what]))

    def items_since(self, number: int) -> list[Any]:
        """The items that anything was said about after a number of the log, undoing too."""
        found = self.connection.execute(
            "SELECT DISTINCT item FROM events WHERE page = ? AND file = ? AND number > ?",
            (self.page, self.file, number),
        )
        return [json.loads(row["item"]) for row in found]

    def last_number(self) -> int:
        """The number of the last event; 0 before the first."""
        found = self.connection.execute(
            "SELECT MAX(number) AS number FROM events WHERE page = ? AND file = ?", (self.page, self.file)
        )
        return int(found.fetchone()["number"] or 0)

    def _found(self, columns: str, where: str, end: str, item: Any, who: str | None, *more: str) -> list[Event]:
        given: list[str] = [self.page, self.file, *more]
        if item is not None:
            where += " AND item = ?"
            given.append(json.dumps(item))
        if who is not None:
            where += " AND who = ?"
            given.append(who)
        asked = f"SELECT {columns} FROM events WHERE page = ? AND file = ? {where} {end}"  # noqa: S608 - our own words
        return [_event(row) for row in self.connection.execute(asked, given)]

    def _undone(self, number: int, by: int) -> None:
        self.connection.execute("UPDATE events SET undone = ? WHERE number = ?", (by, number))


def newest(events: Sequence[Event]) -> dict[Any, Event]:
    """Of each item the last event, whoever said it."""
    return {each.item: each for each in events}


def utc_now() -> str:
    """The time as it is kept, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _event(row: sqlite3.Row) -> Event:
    said = json.loads(row["said"])
    return Event(row["number"], json.loads(row["item"]), row["who"], row["what"], said, row["at"])
