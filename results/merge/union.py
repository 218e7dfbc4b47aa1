"""The union of several parts' records: one for each trial, whatever the order in which the parts ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

from needlework.results.merge.parts import PART
from needlework.results.records.record import FINAL, OutcomeName, Record
from needlework.results.records.tests_of_cells import answered_before, identity

Identity = tuple[str, str, str]
Keep = Literal["first", "last"]
# Of failures, the one that says most: that a prompt does not fit is a fact, that a server was down is none.
_FAILURES: tuple[OutcomeName, ...] = ("error", "invalid", "skipped")


@dataclass(frozen=True, slots=True)
class Twice:
    """A trial that two parts have different records of: the parts and their records, in the order of the parts."""

    parts: tuple[str, str]
    records: tuple[Record, Record]


@dataclass(frozen=True, slots=True)
class Union:
    """`records`: one for each trial, with the name of its part in `timing`. `conflicts`: two different answers to one
    prompt; `foreign`: two prompts under one name."""

    records: tuple[Record, ...]
    conflicts: tuple[Twice, ...]
    foreign: tuple[Twice, ...]


def union(parts: Mapping[str, Sequence[Record]], keep: Keep = "first") -> Union:
    """Join the records of parts, by their names; the name `""` is of the folder that is merged into.

    An answer beats any failure. Of two answers that are alike the first part's stays, of two that differ the one that
    `keep` says.
    """
    found: dict[Identity, tuple[str, Record]] = {}
    conflicts, foreign = [], []
    for part, records in parts.items():
        for at, record in _latest(records).items():
            if at not in found:
                found[at] = part, record
                continue
            other, before = found[at]
            both = Twice((other, part), (before, record))
            if "" not in (before["key"], record["key"]) and before["key"] != record["key"]:
                foreign.append(both)
            elif {before["outcome"], record["outcome"]} <= FINAL:
                if _answer(before) != _answer(record):
                    conflicts.append(both)
                    if keep == "last":
                        found[at] = part, record
            elif _rank(record) > _rank(before):
                found[at] = part, record
    return Union(tuple(_of(part, record) for part, record in found.values()), tuple(conflicts), tuple(foreign))


def _latest(records: Sequence[Record]) -> dict[Identity, Record]:
    """The records that count of one journal."""
    latest: dict[Identity, Record] = {}
    for record in records:
        at = identity(record)
        if at not in latest or not answered_before(latest[at], record):
            latest[at] = record
    return latest


def _rank(record: Record) -> int:
    outcome = record["outcome"]
    return len(_FAILURES) if outcome in FINAL else _FAILURES.index(outcome)


def _answer(record: Record) -> tuple[object, ...]:
    response = record["response"]
    return record["outcome"], record["score"], response.get("text"), response.get("finish_reason")


def _of(part: str, record: Record) -> Record:
    if not part:
        return record
    return cast("Record", {**record, "timing": {**record["timing"], PART: part}})
