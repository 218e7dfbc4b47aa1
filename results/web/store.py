"""What people said, in SQLite: every click is a transaction, on disk before the page says so."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from needlework.haystack_fixtures.errors import InputError

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
