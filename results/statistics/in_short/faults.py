"""What went wrong in a run, most frequent first: `19 of 19: the judge's reply cannot be read: `reason` is missing`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from needlework.results.records.record import Record
from needlework.results.style.text import fit, one_line

FAULTS = ("error", "invalid")
_LONGEST = 240  # columns of a reason
_NUMBERS = re.compile(r"\d+(?:\.\d+)?")
_OURS = re.compile(r"(?:no answer: |no connection: |context too long: )?[^:'\"]*")  # before what the server said
_WAYS = 3  # so many reasons that differ in the server's words alone may each be a fault of its own


@dataclass(frozen=True, slots=True)
class Fault:
    """`count` of `trials` trials went wrong for the same `reason`. `outcome`: `error` or `invalid`; `id`: the first."""

    outcome: str
    reason: str
    count: int
    trials: int
    id: str

    @property
    def text(self) -> str:
        """`19 of 19: the judge's reply cannot be read`."""
        return f"{self.count:,} of {self.trials:,}: {self.reason}"


def faults_of(records: Sequence[Record]) -> tuple[Fault, ...]:
    """Return the faults of a run, those of most trials first. Reasons that differ in numbers alone are one, and those
    that differ in what the server said, where it says many things.
    """
    groups: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for record in records:
        if record["outcome"] in FAULTS:
            reason = reason_of(record)
            at = record["outcome"], _NUMBERS.sub("0", reason)
            groups.setdefault(at, []).append((reason, record["id"]))
    alike: dict[tuple[str, str], list[list[tuple[str, str]]]] = {}
    for (outcome, _), those in groups.items():
        alike.setdefault((outcome, _ours(those[0][0])), []).append(those)
    found = list[Fault]()
    for (outcome, _), ways in alike.items():
        many = len(ways) > _WAYS
        for those in [[each for way in ways for each in way]] if many else ways:
            reason = Counter(reason for reason, _ in those).most_common(1)[0][0]
            told = f"{reason} (of {len(ways)} that begin like it)" if many else reason
            found.append(Fault(outcome, told, len(those), len(records), those[0][1]))
    return tuple(sorted(found, key=lambda fault: (-fault.count, fault.outcome, fault.reason)))


def _ours(reason: str) -> str:
    """A reason up to the server's words, with the numbers of statuses alone."""
    begins = _OURS.match(reason)
    return re.sub(r"(?<!HTTP )(?<!\d)\d+(?:\.\d+)?", "0", begins[0]) if begins else ""


def reason_of(record: Record) -> str:
    """Why a trial has no score, in a line: the error's message, or what made it invalid."""
    error = record["error"] or {}
    said = error.get("message") or error.get("kind") if record["outcome"] == "error" else None
    return fit(one_line(str(said or record["why"] or f"{record['outcome']}, and nothing tells why")), _LONGEST, "…")
