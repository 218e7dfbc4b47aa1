"""What a test's report carries from the process that ran it to the one that writes: its record, as JSON text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from needlework.haystack_fixtures.writing.json_encoder import encoder_of
from needlework.results.records.record import Record

Shown = tuple[str, str, str, str]
"""A test in the terminal: category, letter, words, colour."""

_encode = encoder_of(json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":"), default=str))


@dataclass(frozen=True, slots=True)
class Carried:
    """`facts`: what the manifest is to tell, once for each series of cells. `fault`: why the run has to end, if it has.

    `line`: the record as it came, for the journal; empty where it did not come as text. `record` is `None` once
    everyone has seen it.
    """

    record: Record | None
    shown: Shown
    facts: Mapping[str, Any]
    fault: str = ""
    line: str = ""


def attach(report: object, carried: Carried, *, as_text: bool = True) -> None:
    """Put it on a report, as text: reports of workers are sent, and the record of somebody's own test may hold what
    JSON turns into something else. A record whose values all came from a journal needs that only to be sent.
    """
    if not as_text:
        cast("Any", report).needlework = carried
        return
    carries = (_encode(carried.record), carried.shown, _encode(carried.facts), carried.fault)
    cast("Any", report).needlework = carries


def carried_by(report: object) -> Carried | None:
    """What a report carries; `None` where it is of no cell. For the process that writes: read, it cannot be sent."""
    found = getattr(report, "needlework", None)
    if isinstance(found, tuple):
        line, shown, facts, fault = found
        found = Carried(json.loads(line), shown, json.loads(facts), fault, line)
        cast("Any", report).needlework = found
    return found if isinstance(found, Carried) else None


def drop_record(report: object) -> None:
    """Keep the record no longer: it has been seen, or sent."""
    found = getattr(report, "needlework", None)
    if found is not None:
        cast("Any", report).needlework = replace(found, record=None, line="") if isinstance(found, Carried) else None
