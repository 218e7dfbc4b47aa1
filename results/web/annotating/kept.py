"""What annotators did, in SQLite: each row's newest state, and its history, from which nothing is ever taken away."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from needlework.results.web.annotating.line import Pair

State = Literal["untouched", "begun", "done"]
SCHEMA = """
CREATE TABLE IF NOT EXISTS annotating_rows (
    file TEXT NOT NULL, row TEXT NOT NULL, place INTEGER NOT NULL, revision INTEGER NOT NULL,
    state TEXT NOT NULL, pairs TEXT NOT NULL, person TEXT NOT NULL, at TEXT NOT NULL,
    PRIMARY KEY (file, row)
);
CREATE TABLE IF NOT EXISTS annotating_history (
    id INTEGER PRIMARY KEY, file TEXT NOT NULL, row TEXT NOT NULL, what TEXT NOT NULL, state TEXT NOT NULL,
    pairs TEXT NOT NULL, person TEXT NOT NULL, tab TEXT NOT NULL, began TEXT NOT NULL, at TEXT NOT NULL, batch INTEGER
);
CREATE INDEX IF NOT EXISTS annotating_history_of ON annotating_history (file, row);
CREATE TABLE IF NOT EXISTS annotating_exports (file TEXT PRIMARY KEY, sha256 TEXT NOT NULL, at TEXT NOT NULL);
"""
# What a history entry says. A draft and an overtaken one are written over by the same tab for so long.
DRAFT, SAVED, OVERTAKEN, SET_ASIDE, RESTORED = "draft", "saved", "overtaken", "set aside", "restored"
KINDS = (DRAFT, SAVED, RESTORED)  # that a page may ask for
_ONE_DRAFT = timedelta(minutes=2)


@dataclass(frozen=True, slots=True)
class Work:
    """What was made of a row. `place`: the row's index when it was worked on. `revision`: grows with every change."""

    row: str
    place: int
    revision: int
    state: State
    pairs: tuple[Pair, ...]
    person: str
    at: str


@dataclass(frozen=True, slots=True)
class Change:
    """What a page sends. `base`: the revision that it builds on. `tab`: the browser tab. `what`: one of `KINDS`."""

    row: str
    place: int
    base: int
    state: State
    pairs: tuple[Pair, ...]
    person: str
    tab: str
    what: str


def works(connection: sqlite3.Connection, file: str) -> dict[str, Work]:
    """What was made of a file's rows, by key; rows that were set back are among them as untouched."""
    found = connection.execute("SELECT * FROM annotating_rows WHERE file = ?", (file,))
    return {each["row"]: _work(each) for each in found}


def work(connection: sqlite3.Connection, file: str, row: str) -> Work | None:
    """What was made of a row."""
    found = connection.execute("SELECT * FROM annotating_rows WHERE file = ? AND row = ?", (file, row)).fetchone()
    return _work(found) if found else None


def keep(connection: sqlite3.Connection, file: str, change: Change) -> tuple[Work, bool]:
    """Keep a change; the row's newest state, and whether the change is that.

    It is not where somebody changed the row since `change.base`: then the change is kept in the history alone.
    """
    now = _now()
    newest = work(connection, file, change.row)
    if newest is not None and (newest.pairs, newest.state) == (change.pairs, change.state):
        if change.what != DRAFT:
            _enter(connection, file, change, change.what, now)
        return newest, True
    if change.base != (newest.revision if newest else 0):
        _enter(connection, file, change, OVERTAKEN, now)
        if newest is None:  # the page saw a state file that is no longer there
            newest = Work(change.row, change.place, 0, "untouched", (), "", now)
        return newest, False
    _enter(connection, file, change, change.what, now)
    return _put(connection, file, change, now), True


def history(connection: sqlite3.Connection, file: str, row: str) -> list[dict[str, Any]]:
    """What happened to a row, newest first: id, what, state, person, at, pairs."""
    found = connection.execute(
        "SELECT * FROM annotating_history WHERE file = ? AND row = ? ORDER BY id DESC", (file, row)
    )
    names = ("id", "what", "state", "person", "at")
    return [{**{name: each[name] for name in names}, "pairs": json.loads(each["pairs"])} for each in found]


def set_aside(connection: sqlite3.Connection, file: str, person: str) -> int:
    """Begin a file anew: its rows are untouched again. What was made of them can be restored. How many there were."""
    now, batch = _now(), _next_batch(connection)
    begun = [each for each in works(connection, file).values() if each.state != "untouched"]
    for each in begun:
        old = Change(each.row, each.place, each.revision, each.state, each.pairs, person, "", SET_ASIDE)
        _enter(connection, file, old, SET_ASIDE, now, batch)
        _put(connection, file, _untouched(old), now)
    return len(begun)


def set_aside_before(connection: sqlite3.Connection, file: str) -> list[dict[str, Any]]:
    """What was set aside, newest first: batch, at, person, rows."""
    found = connection.execute(
        "SELECT batch, MIN(at) AS at, MIN(person) AS person, COUNT(*) AS rows FROM annotating_history"
        " WHERE file = ? AND what = ? GROUP BY batch ORDER BY batch DESC",
        (file, SET_ASIDE),
    )
    return [dict(each) for each in found]


def restore(connection: sqlite3.Connection, file: str, batch: int, person: str) -> int:
    """Take back what was set aside then; what was made of these rows since stays in their history. How many rows."""
    now = _now()
    found = connection.execute(
        "SELECT h.*, r.revision, r.place FROM annotating_history h JOIN annotating_rows r USING (file, row)"
        " WHERE file = ? AND what = ? AND batch = ?",
        (file, SET_ASIDE, batch),
    ).fetchall()
    for each in found:
        pairs = _pairs(each["pairs"])
        change = Change(each["row"], each["place"], each["revision"], each["state"], pairs, person, "", RESTORED)
        _enter(connection, file, change, RESTORED, now)
        _put(connection, file, change, now)
    return len(found)


def take_over(connection: sqlite3.Connection, file: str, row: str, person: str) -> None:
    """Note that what was made of a row, which changed on disk, went into the row that it is now."""
    old = work(connection, file, row)
    if old is not None and old.state != "untouched":
        change = Change(row, old.place, old.revision, old.state, old.pairs, person, "", "taken over")
        _enter(connection, file, change, "taken over", _now())
        _put(connection, file, _untouched(change), _now())


def exported(connection: sqlite3.Connection, file: str) -> str:
    """The sha256 of what was exported of a file last; nothing where nothing was."""
    found = connection.execute("SELECT sha256 FROM annotating_exports WHERE file = ?", (file,)).fetchone()
    return str(found["sha256"]) if found else ""


def note_export(connection: sqlite3.Connection, file: str, sha256: str) -> None:
    """Remember what was exported."""
    connection.execute("INSERT OR REPLACE INTO annotating_exports VALUES (?, ?, ?)", (file, sha256, _now()))


def edited(found: Mapping[str, Work]) -> dict[str, tuple[Pair, ...]]:
    """The pairs of the rows that somebody worked on."""
    return {row: each.pairs for row, each in found.items() if each.state != "untouched"}


def _put(connection: sqlite3.Connection, file: str, change: Change, now: str) -> Work:
    new = Work(change.row, change.place, change.base + 1, change.state, change.pairs, change.person, now)
    connection.execute(
        "INSERT OR REPLACE INTO annotating_rows VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (file, new.row, new.place, new.revision, new.state, _text(new.pairs), new.person, new.at),
    )
    return new


def _enter(
    connection: sqlite3.Connection, file: str, change: Change, what: str, now: str, batch: int | None = None
) -> None:
    """Add an entry to the history, or go on with the one that this tab is writing."""
    pairs = _text(change.pairs)
    last = connection.execute(
        "SELECT id, what, tab, began, pairs, state FROM annotating_history WHERE file = ? AND row = ?"
        " ORDER BY id DESC LIMIT 1",
        (file, change.row),
    ).fetchone()
    mine = last is not None and last["tab"] == change.tab != ""
    same = mine and (last["pairs"], last["state"]) == (pairs, change.state)
    if same and what == SAVED and last["what"] in (DRAFT, SAVED):
        connection.execute("UPDATE annotating_history SET what = ?, at = ? WHERE id = ?", (what, now, last["id"]))
    elif mine and what == last["what"] and what in (DRAFT, OVERTAKEN) and _young(last["began"], now):
        connection.execute(
            "UPDATE annotating_history SET pairs = ?, state = ?, person = ?, at = ? WHERE id = ?",
            (pairs, change.state, change.person, now, last["id"]),
        )
    else:
        connection.execute(
            "INSERT INTO annotating_history (file, row, what, state, pairs, person, tab, began, at, batch)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (file, change.row, what, change.state, pairs, change.person, change.tab, now, now, batch),
        )


def _untouched(change: Change) -> Change:
    return Change(change.row, change.place, change.base, "untouched", (), change.person, "", change.what)


def _next_batch(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT COALESCE(MAX(batch), 0) + 1 FROM annotating_history").fetchone()[0])


def _work(row: sqlite3.Row) -> Work:
    return Work(row["row"], row["place"], row["revision"], row["state"], _pairs(row["pairs"]), row["person"], row["at"])


def _text(pairs: Sequence[Pair]) -> str:
    return json.dumps(pairs)  # ASCII: half characters have no UTF-8


def _pairs(text: str) -> tuple[Pair, ...]:
    return tuple(Pair(*each) for each in json.loads(text))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _young(began: str, now: str) -> bool:
    return datetime.fromisoformat(now) - datetime.fromisoformat(began) < _ONE_DRAFT
