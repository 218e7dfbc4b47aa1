"""The file that keeps what people said: whose it may be, and that nothing is lost or told to be kept that is not."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from needlework.core.errors import InputError
from needlework.results.web.command import state_place
from needlework.results.web.store import Store, name_beside
from tests.results.web.run_folders import record, write_journal

SCHEMA = "CREATE TABLE IF NOT EXISTS said (what TEXT NOT NULL)"


def said(store: Store) -> list[str]:
    with store.reading() as connection:
        return [row["what"] for row in connection.execute("SELECT what FROM said")]


def say(store: Store, what: str) -> None:
    with store.writing() as connection:
        connection.execute("INSERT INTO said VALUES (?)", (what,))


def test_a_file_of_another_program_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "places.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE bookmarks (url TEXT)")
    before = path.read_bytes()

    with pytest.raises(InputError, match="another program's file"):
        Store(path, [SCHEMA])
    assert path.read_bytes() == before


def test_a_file_that_a_later_version_has_added_to_is_ours(tmp_path: Path) -> None:
    say(Store(tmp_path / "state", [SCHEMA]), "one")
    more = Store(tmp_path / "state", [SCHEMA, "CREATE TABLE IF NOT EXISTS further (x TEXT)"])
    assert said(more) == ["one"]


def test_a_file_that_cannot_be_written_is_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("needlework.results.web.store._WAIT_S", 0.1)
    Store(tmp_path / "state", [SCHEMA])
    with closing(sqlite3.connect(tmp_path / "state", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(InputError, match="database is locked"):
            Store(tmp_path / "state", [SCHEMA])


def test_a_file_that_is_gone_is_not_made_anew(tmp_path: Path) -> None:
    store = Store(tmp_path / "state", [SCHEMA])
    store.path.unlink()
    with pytest.raises(sqlite3.OperationalError, match="unable to open"):
        say(store, "lost")
    assert not store.path.exists()


def test_a_full_disk_says_so_and_keeps_what_was_kept(tmp_path: Path) -> None:
    store = Store(tmp_path / "state", [SCHEMA])
    say(store, "kept")

    def say_much() -> None:
        with store.writing() as connection:
            connection.execute("PRAGMA max_page_count = 1")  # as if the disk had no more room
            connection.execute("INSERT INTO said VALUES (?)", ("x" * 1_000_000,))

    with pytest.raises(sqlite3.OperationalError, match="database or disk is full"):
        say_much()
    assert said(store) == ["kept"]


@pytest.mark.parametrize(
    "name", ["a b?#%.sqlite", "Ünï 你好.sqlite", "caf\udce9.sqlite"], ids=["signs", "letters", "no UTF-8"]
)
def test_any_name_will_do(tmp_path: Path, name: str) -> None:
    store = Store(tmp_path / name, [SCHEMA])
    say(store, "one")
    assert store.path.exists()
    assert said(Store(tmp_path / name, [SCHEMA])) == ["one"]


def test_files_are_called_by_their_way_from_the_state_file(tmp_path: Path) -> None:
    assert name_beside(tmp_path / "data" / "ü.jsonl", tmp_path / "state") == "data/ü.jsonl"
    assert name_beside(tmp_path / "caf\udce9.jsonl", tmp_path / "state") == "caf\\xe9.jsonl"


def test_what_people_say_lies_in_the_folder_that_was_given(tmp_path: Path) -> None:
    write_journal(tmp_path / "runs" / "big", [record(0)])
    for first in (tmp_path / "runs", tmp_path / "runs" / "big"):
        assert state_place(first) == first / "people.sqlite"
    assert state_place(tmp_path / "q.json") == tmp_path / "people.sqlite"
