"""What reviewers decided: events of the log, and taking one back."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, cast

from needlework.results.web.editing.questions.pairs import Pair, pair_from, pair_json
from needlework.results.web.log import Event, Log

PAGE = "questions"
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


def opinions_log(connection: sqlite3.Connection, file: str) -> Log:
    """What was said about a questions file."""
    return Log(connection, PAGE, file)


def opinions(log: Log, *, key: str | None = None, by: str | None = None) -> tuple[Opinion, ...]:
    """The decisions that stand, in order: each reviewer's last one about each key; of one key, by one reviewer."""
    return tuple(_opinion(each) for each in log.standing(key, by))


def by_key(found: Iterable[Opinion]) -> dict[str, dict[str, Opinion]]:
    """Decisions by key and reviewer."""
    keyed: dict[str, dict[str, Opinion]] = {}
    for each in found:
        keyed.setdefault(each.key, {})[each.by] = each
    return keyed


def last_opinion(log: Log, key: str, by: str) -> Opinion | None:
    """What a reviewer says of a key now."""
    found = opinions(log, key=key, by=by)
    return found[-1] if found else None


def decide(log: Log, key: str, by: str, *, status: Status, reason: str, pair: Pair | None, about: str) -> None:
    """Add a decision."""
    log.add(key, by, status, {"reason": reason, "pair": pair and pair_json(pair), "about": about})


def take_back(log: Log, opinion: Opinion) -> None:
    """Add that a reviewer takes a decision of theirs back; the one before it counts again."""
    log.take_back(Event(opinion.number, opinion.key, opinion.by, opinion.status, {}, opinion.at))


def _opinion(event: Event) -> Opinion:
    pair = event.said["pair"]
    return Opinion(
        number=event.number,
        key=event.item,
        by=event.who,
        at=event.at,
        status=cast("Status", event.what),
        reason=event.said["reason"],
        pair=pair_from(pair) if pair else None,
        about=event.said["about"],
    )
