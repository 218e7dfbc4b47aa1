"""What people said, in SQLite: every click is a transaction, on disk before the page says so."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from haystack_fixtures.errors import InputError

_WAIT_S = 10.0


class Store:
    """The file that holds what people said. Threads may share it: each request has a connection of its own."""

    def __init__(self, path: Path, schemas: Iterable[str]) -> None:
        """`schemas`: what the pages keep, as `CREATE TABLE IF NOT EXISTS` statements. Raises `InputError`."""
        self.path = path
        try:
            with self.reading() as connection:
                connection.execute("PRAGMA journal_mode = WAL")
                for schema in schemas:
                    connection.executescript(schema)
        except (sqlite3.Error, OSError) as error:
            raise InputError("--state", path, f"cannot be used as the file of what people say ({error})") from None

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection; its rows are read by column name."""
        connection = sqlite3.connect(self.path, timeout=_WAIT_S, isolation_level=None)
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
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")
