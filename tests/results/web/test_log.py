"""The one log of what people said: what stands, what was undone, and what earlier versions' files held."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.results.web.app import build_app
from needlework.results.web.earlier_logs import TABLES, take_over_earlier
from needlework.results.web.editing.documents import kept
from needlework.results.web.editing.questions import files, opinions
from needlework.results.web.log import SCHEMA, Log
from needlework.results.web.rating import marks
from needlework.results.web.sources import find_sources
from needlework.results.web.store import Store
from tests.results.web.signed_in import LOGIN

EARLIER = """
CREATE TABLE rating_marks (number INTEGER PRIMARY KEY, annotator INTEGER, item TEXT, answer TEXT, rating INTEGER,
    comment TEXT, skipped INTEGER, at TEXT, undone INTEGER);
INSERT INTO rating_annotators (number, name, folded, started) VALUES (1, 'Ann', 'ann', '2026-01-01');
INSERT INTO rating_marks VALUES (1, 1, 'q', 'a', 3, '', 0, '2026-01-01', 0), (2, 1, 'q', 'a', 5, 'sure', 0, 'then', 0),
    (3, 1, 'q', 'b', 1, '', 0, 'then', 1), (4, 1, 'q', '', NULL, 'why', 1, 'then', 0);
CREATE TABLE reviewing_said (number INTEGER PRIMARY KEY, file TEXT, key TEXT, reviewer TEXT, at TEXT, said TEXT);
INSERT INTO reviewing_said VALUES
    (1, 'q.json', '"0"', 'Ann', 'then', '{"status": "accept", "reason": "", "pair": null, "about": "x"}'),
    (2, 'q.json', '"0"', 'Ann', 'then', '{"status": "reject", "reason": "no", "pair": null, "about": "x"}'),
    (3, 'q.json', '"0"', 'Ann', 'then', '{"undoes": 2}');
CREATE TABLE reviewing_written (number INTEGER PRIMARY KEY, file TEXT, target TEXT, reviewer TEXT, at TEXT,
    sha256 TEXT);
INSERT INTO reviewing_written VALUES (1, 'q.json', 'q.reviewed.json', 'Ann', 'then', 'abc');
CREATE TABLE annotating_rows (file TEXT, row TEXT, place INTEGER, revision INTEGER, state TEXT, pairs TEXT, person TEXT,
    at TEXT);
INSERT INTO annotating_rows VALUES ('d.jsonl', 'r', 4, 2, 'done', '[["i", "o"]]', 'Bob', 'then'),
    ('d.jsonl', 's', 5, 2, 'untouched', '[]', 'Bob', 'then');
CREATE TABLE annotating_history (id INTEGER PRIMARY KEY, file TEXT, row TEXT, what TEXT, state TEXT, pairs TEXT,
    person TEXT, tab TEXT, began TEXT, at TEXT, batch INTEGER);
INSERT INTO annotating_history VALUES
    (1, 'd.jsonl', 'r', 'draft', 'begun', '[["i", ""]]', 'Bob', 't', '2026-01-01T00:00:00Z', 'then', NULL),
    (2, 'd.jsonl', 'r', 'saved', 'done', '[["i", "o"]]', 'Bob', 't', '2026-01-01T00:00:00Z', 'then', NULL),
    (3, 'd.jsonl', 'r', 'overtaken', 'begun', '[["late", ""]]', 'Eve', 'u', '2026-01-01T00:00:00Z', 'then', NULL),
    (4, 'd.jsonl', 's', 'draft', 'begun', '[["x", ""]]', 'Bob', 't', '2026-01-01T00:00:00Z', 'then', NULL),
    (5, 'd.jsonl', 's', 'set aside', 'begun', '[["x", ""]]', 'Bob', '', '2026-01-01T00:00:00Z', 'then', 1);
CREATE TABLE annotating_exports (file TEXT PRIMARY KEY, sha256 TEXT, at TEXT);
INSERT INTO annotating_exports VALUES ('d.jsonl', 'def', 'then');
"""


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with Store(tmp_path / "people.sqlite", [SCHEMA, marks.SCHEMA]).reading() as connection:
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


def test_files_of_earlier_versions_go_into_the_log(connection: sqlite3.Connection) -> None:
    connection.executescript(EARLIER)
    assert take_over_earlier(connection) == 4 + 3 + 1 + 5 + 1
    assert take_over_earlier(connection) == 0
    left = {row["name"] for row in connection.execute("SELECT name FROM sqlite_master")}
    assert not left & set(TABLES)

    said = marks.marks_of(connection, 1)
    assert [(place, mark.rating, mark.comment, mark.skipped) for place, mark in said.items()] == [
        (("q", "a"), 5, "sure", False),
        (("q", ""), None, "why", True),
    ]
    (opinion,) = opinions.opinions(opinions.opinions_log(connection, "q.json"))
    assert (opinion.key, opinion.by, opinion.status, opinion.at) == ("0", "Ann", "accept", "then")
    file = files.QuestionsFile(Path("q.json"), "q.json")
    assert files.written_by(connection, file, "abc") == "Ann"
    rows = kept.rows_log(connection, "d.jsonl")
    now = kept.works(rows)
    assert (now["r"].place, now["r"].revision, now["r"].state, now["r"].pairs) == (4, 2, "done", (("i", "o"),))
    assert (now["s"].state, now["s"].pairs) == ("untouched", ())
    assert [each["what"] for each in kept.history(rows, "r")] == ["overtaken", "saved", "draft"]
    assert kept.restore(rows, 1, "Bob") == 1
    assert kept.works(rows)["s"].pairs == (("x", ""),)
    assert kept.exported(connection, "d.jsonl") == "def"


def test_a_server_says_that_it_took_an_earlier_file_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state, questions = tmp_path / "people.sqlite", tmp_path / "q.json"
    questions.write_text(json.dumps({"0": {"question": "q", "answer": "a", "answer_doc": "d"}}))
    Store(state, [marks.SCHEMA])
    with closing(sqlite3.connect(state)) as connection:
        connection.executescript(EARLIER)
    for line in (f"{state}: 14 entries of an earlier version are now in one log\n", ""):
        build_app(
            find_sources([questions], None), state, rebuild=lambda *_: pytest.fail("asked"), hosts=(), login=LOGIN
        )
        assert capsys.readouterr().err == line
