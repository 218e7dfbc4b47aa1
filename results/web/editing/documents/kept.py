"""What annotators made of the rows of a file: events of the log, the newest of which is a row's state."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from needlework.results.web.editing.documents.line import Pair
from needlework.results.web.log import Event, Log, newest, utc_now

State = Literal["untouched", "begun", "done"]
PAGE, EXPORTED = "documents", "exported"  # pages of the log
# What an event says. A draft and an overtaken one are written over by the same tab for so long.
DRAFT, SAVED, OVERTAKEN, SET_ASIDE, RESTORED = "draft", "saved", "overtaken", "set aside", "restored"
TAKEN_OVER = "taken over"
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


def rows_log(connection: sqlite3.Connection, file: str) -> Log:
    """What was done to the rows of a file."""
    return Log(connection, PAGE, file)


def works(log: Log) -> dict[str, Work]:
    """What was made of a file's rows, by key; rows that were set back are among them as untouched."""
    return {row: _work(each) for row, each in newest(log.standing()).items()}


def work(log: Log, row: str) -> Work | None:
    """What was made of a row."""
    found = log.standing(row)
    return _work(found[-1]) if found else None


def keep(log: Log, change: Change) -> tuple[Work, bool]:
    """Keep a change; the row's newest state, and whether the change is that.

    It is not where somebody changed the row since `change.base`: then the change is kept in the history alone.
    """
    last = work(log, change.row)
    if last is not None and (last.pairs, last.state) == (change.pairs, change.state):
        if change.what != DRAFT:
            _enter(log, change, change.what, last.revision)
        return last, True
    if change.base != (last.revision if last else 0):
        _enter(log, change, OVERTAKEN, 0)
        if last is None:  # the page saw a state file that is no longer there
            last = Work(change.row, change.place, 0, "untouched", (), "", utc_now())
        return last, False
    _enter(log, change, change.what, change.base + 1)
    kept = work(log, change.row)
    assert kept is not None
    return kept, True


def history(log: Log, row: str) -> list[dict[str, Any]]:
    """What happened to a row, newest first: id, what, state, person, at, pairs."""
    return [
        {"id": each.number, "what": each.what, "state": each.said["state"], "person": each.who, "at": each.at}
        | {"pairs": each.said["pairs"]}
        for each in reversed(log.history(row))
    ]


def set_aside(log: Log, person: str) -> int:
    """Begin a file anew: its rows are untouched again. What was made of them can be restored. How many there were."""
    batch = 1 + max((each.said["batch"] for each in log.history(what=SET_ASIDE)), default=0)
    begun = [each for each in works(log).values() if each.state != "untouched"]
    for each in begun:
        old = Change(each.row, each.place, each.revision, each.state, each.pairs, person, "", SET_ASIDE)
        _enter(log, old, SET_ASIDE, each.revision + 1, batch)
    return len(begun)


def set_aside_before(log: Log) -> list[dict[str, Any]]:
    """What was set aside, newest first: batch, at, person, rows."""
    batches: dict[int, dict[str, Any]] = {}
    for each in log.history(what=SET_ASIDE):
        first = {"batch": each.said["batch"], "at": each.at, "person": each.who, "rows": 0}
        batches.setdefault(each.said["batch"], first)["rows"] += 1
    return [batches[batch] for batch in sorted(batches, reverse=True)]


def restore(log: Log, batch: int, person: str) -> int:
    """Take back what was set aside then; what was made of these rows since stays in their history. How many rows."""
    found, now = [each for each in log.history(what=SET_ASIDE) if each.said["batch"] == batch], works(log)
    for each in found:
        row, last = each.item, now[each.item]
        pairs = _pairs(each.said["pairs"])
        change = Change(row, last.place, last.revision, each.said["state"], pairs, person, "", RESTORED)
        _enter(log, change, RESTORED, last.revision + 1)
    return len(found)


def take_over(log: Log, row: str, person: str) -> None:
    """Note that what was made of a row, which changed on disk, went into the row that it is now."""
    old = work(log, row)
    if old is not None and old.state != "untouched":
        change = Change(row, old.place, old.revision, old.state, old.pairs, person, "", TAKEN_OVER)
        _enter(log, change, TAKEN_OVER, old.revision + 1)


def exported(connection: sqlite3.Connection, file: str) -> str:
    """The sha256 of what was exported of a file last; nothing where nothing was."""
    found = Log(connection, EXPORTED, file).standing()
    return str(found[-1].said["sha256"]) if found else ""


def note_export(connection: sqlite3.Connection, file: str, sha256: str) -> None:
    """Remember what was exported."""
    Log(connection, EXPORTED, file).add(file, "", EXPORTED, {"sha256": sha256})


def edited(found: Mapping[str, Work]) -> dict[str, tuple[Pair, ...]]:
    """The pairs of the rows that somebody worked on."""
    return {row: each.pairs for row, each in found.items() if each.state != "untouched"}


def _enter(log: Log, change: Change, what: str, revision: int, batch: int = 0) -> None:
    """Add an event, or go on with the one that this tab is writing."""
    said: dict[str, Any] = {"place": change.place, "revision": revision, "state": change.state, "pairs": change.pairs}
    said |= {"tab": change.tab, "began": utc_now(), "batch": batch}
    last = next(iter(reversed(log.history(change.row))), None)
    if last is not None and last.said["tab"] == change.tab != "":
        same = (_pairs(last.said["pairs"]), last.said["state"]) == (change.pairs, change.state)
        saves = same and what == SAVED and last.what in (DRAFT, SAVED)
        goes_on = what == last.what and what in (DRAFT, OVERTAKEN) and _young(last.said["began"])
        if saves or goes_on:
            who = last.who if saves else change.person
            log.amend(last.number, who, what, {**said, "began": last.said["began"]})
            return
    log.add(change.row, change.person, what, said, stands=what != OVERTAKEN)


def _work(event: Event) -> Work:
    """What an event made of its row: what was set aside or taken over leaves it untouched."""
    place, revision = event.said["place"], event.said["revision"]
    if event.what in (SET_ASIDE, TAKEN_OVER):
        return Work(event.item, place, revision, "untouched", (), event.who, event.at)
    return Work(event.item, place, revision, event.said["state"], _pairs(event.said["pairs"]), event.who, event.at)


def _pairs(pairs: Sequence[Sequence[str]]) -> tuple[Pair, ...]:
    return tuple(Pair(*each) for each in pairs)


def _young(began: str) -> bool:
    return datetime.now(UTC) - datetime.fromisoformat(began) < _ONE_DRAFT
