"""The one log of what people said: what stands, and what was undone."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.results.web import rating_marks
from needlework.results.web.store import SCHEMA, Log, Store


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with Store(tmp_path / "people.sqlite", [SCHEMA, rating_marks.SCHEMA]).reading() as connection:
        yield connection


def test_the_last_word_of_each_person_stands(connection: sqlite3.Connection) -> None:
    log = Log(connection, "questions", "a.json")
    for who, what in (("Ann", "accept"), ("Bob", "reject"), ("Ann", "reject")):
        log.add("0", who, what, {})
    Log(connection, "questions", "b.json").add("0", "Ann", "accept", {})
    Log(connection, "rating").add("0", "Ann", "rated", {})
    assert [(each.who, each.what) for each in log.standing()] == [("Bob", "reject"), ("Ann", "reject")]
    assert [each.what for each in log.history("0")] == ["accept", "reject", "reject"]


def test_what_is_undone_gives_way_to_what_was_said_before_and_others_see_that(connection: sqlite3.Connection) -> None:
    log = Log(connection, "questions", "a.json")
    first, second = log.add("0", "Ann", "accept", {}), log.add("0", "Ann", "reject", {"reason": "no"})
    seen = log.last_number()
    assert log.items_since(seen) == []
    log.take_back(second)
    assert log.standing() == [first]
    assert log.items_since(seen) == ["0"]
    log.take_back(first)
    assert log.standing() == []
    assert [each.what for each in log.history()] == ["accept", "reject", "undone", "undone"]


def test_what_does_not_stand_is_in_the_history_alone(connection: sqlite3.Connection) -> None:
    log = Log(connection, "documents", "a.jsonl")
    log.add("row", "Ann", "overtaken", {}, stands=False)
    assert log.standing() == []
    assert [each.what for each in log.history("row")] == ["overtaken"]


@given(item=st.text() | st.lists(st.text()), said=st.dictionaries(st.text(), st.text() | st.integers() | st.none()))
def test_any_text_comes_back(item: str | list[str], said: dict[str, str | int | None]) -> None:
    """Half a character too: some model sent it."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.row_factory = sqlite3.Row
        connection.executescript(SCHEMA)
        log = Log(connection, "page")
        event = log.add(item, "Ann", "said", {**said, "half": "\ud800"})
        assert log.standing(item) == [event] == log.history()
