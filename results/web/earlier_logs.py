"""State files of earlier versions, whose pages had logs of their own: what they hold goes into the one log."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

from needlework.results.web.editing.documents import kept
from needlework.results.web.editing.questions import files, opinions
from needlework.results.web.log import Event, Log
from needlework.results.web.rating import marks

TABLES = (
    "rating_marks", "annotating_history", "annotating_rows", "annotating_exports", "reviewing_said", "reviewing_written"
)  # fmt: skip


def take_over_earlier(connection: sqlite3.Connection) -> int:
    """Move what tables of earlier versions hold into the log, in a transaction of the caller's. How many events."""
    found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    there = {row["name"] for row in found} & set(TABLES)
    moved = sum(take(connection) for table, take in _TAKES.items() if table in there)
    for table in there:
        connection.execute(f"DROP TABLE {table}")
    return moved


def _marks(connection: sqlite3.Connection) -> int:
    log = Log(connection, marks.PAGE)
    asked = (
        "SELECT m.*, a.name FROM rating_marks m JOIN rating_annotators a ON a.number = m.annotator ORDER BY m.number"
    )
    rows = _rows(connection, asked)
    for row in rows:
        said = {"rating": row["rating"], "comment": row["comment"], "skipped": bool(row["skipped"])}
        what = marks.what_of(row["answer"], skipped=bool(row["skipped"]))
        log.add([row["item"], row["answer"]], row["name"], what, said, at=row["at"], stands=not row["undone"])
    return len(rows)


def _opinions(connection: sqlite3.Connection) -> int:
    rows = _rows(connection, "SELECT * FROM reviewing_said ORDER BY number")
    events: dict[int, tuple[Log, Event]] = {}
    for row in rows:
        log, said = Log(connection, opinions.PAGE, row["file"]), json.loads(row["said"])
        if "undoes" in said:
            known = events.get(said["undoes"])
            if known:
                known[0].take_back(known[1])
        else:
            status = said.pop("status")
            event = log.add(json.loads(row["key"]), row["reviewer"], status, said, at=row["at"])
            events[row["number"]] = (log, event)
    return len(rows)


def _written(connection: sqlite3.Connection) -> int:
    rows = _rows(connection, "SELECT * FROM reviewing_written ORDER BY number")
    for row in rows:
        log = Log(connection, files.WRITTEN, row["target"])
        log.add(row["file"], row["reviewer"], "wrote", {"sha256": row["sha256"]}, at=row["at"])
    return len(rows)


def _history(connection: sqlite3.Connection) -> int:
    """The newest state of a row is that of its last event that stands."""
    rows = {(row["file"], row["row"]): row for row in _rows(connection, "SELECT * FROM annotating_rows")}
    entries = _rows(connection, "SELECT * FROM annotating_history ORDER BY id")
    for entry in entries:
        row = rows.get((entry["file"], entry["row"]), {"place": 0, "revision": 0})
        said = {"place": row["place"], "revision": row["revision"], "state": entry["state"]}
        said |= {"pairs": json.loads(entry["pairs"]), "tab": entry["tab"], "began": entry["began"]}
        said |= {"batch": entry["batch"] or 0}
        log = Log(connection, kept.PAGE, entry["file"])
        stands = entry["what"] != kept.OVERTAKEN
        log.add(entry["row"], entry["person"], entry["what"], said, at=entry["at"], stands=stands)
    return len(entries)


def _exports(connection: sqlite3.Connection) -> int:
    rows = _rows(connection, "SELECT * FROM annotating_exports")
    for row in rows:
        kept.note_export(connection, row["file"], row["sha256"])
    return len(rows)


def _rows(connection: sqlite3.Connection, asked: str) -> list[dict[str, Any]]:
    return [dict(row) for row in connection.execute(asked)]


_TAKES = {
    "rating_marks": _marks,
    "reviewing_said": _opinions,
    "reviewing_written": _written,
    "annotating_history": _history,
    "annotating_exports": _exports,
}
