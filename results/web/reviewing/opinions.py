"""What reviewers decided, as a log that only grows: decisions, and taking one back. Nothing in it is ever changed."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, cast

from needlework.results.web.reviewing.pairs import Pair, pair_from, pair_json

# `said`: JSON of a decision (`status`, `reason`, `pair` or null, `about`: fingerprint of the pair in the file), or of
# taking one back (`undoes`: its number). `key` is JSON too: a key may be half of a surrogate pair.
SCHEMA = """
CREATE TABLE IF NOT EXISTS reviewing_said (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  file TEXT NOT NULL, key TEXT NOT NULL, reviewer TEXT NOT NULL, at TEXT NOT NULL, said TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS reviewing_said_of ON reviewing_said (file, key, reviewer);
CREATE TABLE IF NOT EXISTS reviewing_written (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  file TEXT NOT NULL, target TEXT NOT NULL, reviewer TEXT NOT NULL, at TEXT NOT NULL, sha256 TEXT NOT NULL
);
"""
Status = Literal["accept", "reject"]
STATUSES: tuple[Status, ...] = ("accept", "reject")


@dataclass(frozen=True, slots=True)
class Opinion:
    """A decision. `pair`: the wording that it is about; `None`: the file's. `about`: fingerprint of the file's pair.

    `number`: its place in the log. `at`: UTC.
    """

    number: int
    key: str
    by: str
    at: str
    status: Status
    reason: str
    pair: Pair | None
    about: str


def latest(opinions: Iterable[Opinion]) -> dict[str, dict[str, Opinion]]:
    """By key and reviewer, the last decision."""
    found: dict[str, dict[str, Opinion]] = {}
    for each in opinions:
        found.setdefault(each.key, {})[each.by] = each
    return found


def read_opinions(
    connection: sqlite3.Connection, file: str, *, key: str | None = None, by: str | None = None
) -> tuple[Opinion, ...]:
    """The decisions that still count, in order: about a file, or one key of it, or by one reviewer."""
    asked: list[str] = [file]
    where = "file = ?"
    if key is not None:
        where += " AND key = ?"
        asked.append(json.dumps(key))
    if by is not None:
        where += " AND reviewer = ?"
        asked.append(by)
    rows = connection.execute(f"SELECT * FROM reviewing_said WHERE {where} ORDER BY number", asked)  # noqa: S608 - ours
    return _standing(cast("Iterable[Mapping[str, Any]]", rows))


def last_opinion(connection: sqlite3.Connection, file: str, key: str, by: str) -> Opinion | None:
    """What a reviewer says of a key now."""
    found = read_opinions(connection, file, key=key, by=by)
    return found[-1] if found else None


def keys_since(connection: sqlite3.Connection, file: str, number: int) -> Sequence[str]:
    """The keys that anything was said about after a number of the log."""
    rows = connection.execute("SELECT DISTINCT key FROM reviewing_said WHERE file = ? AND number > ?", (file, number))
    return [json.loads(row["key"]) for row in rows]


def last_number(connection: sqlite3.Connection, file: str) -> int:
    """The number of the last thing that was said about a file; 0 before the first."""
    row = connection.execute("SELECT max(number) AS number FROM reviewing_said WHERE file = ?", (file,)).fetchone()
    return int(row["number"] or 0)


def decide(
    connection: sqlite3.Connection,
    file: str,
    key: str,
    by: str,
    *,
    status: Status,
    reason: str,
    pair: Pair | None,
    about: str,
) -> None:
    """Add a decision."""
    said = {"status": status, "reason": reason, "pair": pair and pair_json(pair), "about": about}
    _say(connection, file, key, by, said)


def take_back(connection: sqlite3.Connection, file: str, opinion: Opinion) -> None:
    """Add that a reviewer takes a decision of theirs back; the one before it counts again."""
    _say(connection, file, opinion.key, opinion.by, {"undoes": opinion.number})


def utc_now() -> str:
    """The time as it is kept, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _say(connection: sqlite3.Connection, file: str, key: str, by: str, said: Mapping[str, Any]) -> None:
    connection.execute(
        "INSERT INTO reviewing_said (file, key, reviewer, at, said) VALUES (?, ?, ?, ?, ?)",
        (file, json.dumps(key), by, utc_now(), json.dumps(said)),
    )


def _standing(rows: Iterable[Mapping[str, Any]]) -> tuple[Opinion, ...]:
    opinions: dict[int, Opinion] = {}
    for row in rows:
        said = json.loads(row["said"])
        if "undoes" in said:
            opinions.pop(said["undoes"], None)
            continue
        opinions[row["number"]] = Opinion(
            number=row["number"],
            key=json.loads(row["key"]),
            by=row["reviewer"],
            at=row["at"],
            status=said["status"],
            reason=said["reason"],
            pair=pair_from(said["pair"]) if said["pair"] else None,
            about=said["about"],
        )
    return tuple(opinions.values())
