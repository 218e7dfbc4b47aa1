"""The details of trials that fit into the page.

Details are packed: JSON, deflated, in base64; the page unpacks them when it has loaded. Where all of them fit, all are
kept. Where they do not, texts are shorter, and trials are kept until the page is full: first what was not simply
found, then of every cell its first trials. The page says in one line what it left out.
"""

from __future__ import annotations

import zlib
from base64 import b64encode
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from needlework.results.html.details import Level, Row, rows_at
from needlework.results.html.texts import script_safe
from needlework.results.html.trial_json import Value, value_json
from needlework.results.records.record import Record

WHOLE, SHORT = Level(20_000, 64, 160), Level(1_000, 16, 80)
_MOST_PACKED = 20  # times smaller than their JSON details may come to be; beyond that, packing is not tried


class Entry(NamedTuple):
    """What one trial has to show: its record, or its records in two runs, `None` where a run has none.

    `panel`, `column` (length) and `row` (depth) are the place of its cell. `telling`: how much would be lost with it, 0
    the most.
    """

    records: tuple[Record | None, ...]
    panel: int
    column: int
    row: int
    telling: int


@dataclass(frozen=True, slots=True)
class Kept:
    """The details that fit, packed: the table of `values`, and `rows` with one of each trial, in reading order.

    `kept` and `dropped` count trials, `shortened` those of `kept` with a text that is cut.
    """

    packed: str
    kept: int
    dropped: int
    shortened: int
    level: Level

    def notice(self, limit_bytes: int) -> list[str]:
        """One line that says what is not in the page; empty where everything is."""
        missing = []
        if self.dropped:
            missing.append(
                f"details of {self.dropped:,} of {self.dropped + self.kept:,} trials, those that were found first"
            )
        if self.shortened:
            trials = "1 trial" if self.shortened == 1 else f"{self.shortened:,} trials"
            missing.append(f"what is longer than {self.level.text:,} characters in texts of {trials}")
        if self.kept and self.level == SHORT:
            missing.append(f"hashes and texts around needles beyond {SHORT.digest} and {SHORT.around} characters")
        if not missing:
            return []
        why = f"to keep the page below {limit_bytes / 1e6:g} MB; scores are complete, and results.json has everything"
        return [f"Left out: {'; '.join(missing)} ({why})."]


@dataclass(slots=True)
class _Shelf:
    """Rows so far by the number of their trial, the table of values, and the bytes of JSON left."""

    room: int
    numbers: dict[Value, str] = field(default_factory=dict)
    values: list[str] = field(default_factory=list)
    rows: dict[int, str] = field(default_factory=dict)
    shortened: int = 0

    def take(self, number: int, entry: Entry, parts: Sequence[Row | None]) -> bool:
        """Add a row where it fits; a value that another row has already costs nothing but its number."""
        numbers, texts = self.numbers, []

        def trial(part: Row) -> str:
            found = []
            for value in part.shared:
                at = numbers.get(value)
                if at is None:
                    at = numbers[value] = str(len(numbers))
                    texts.append(script_safe(value_json(value)))
                found.append(at)
            return f"[{','.join(found)},{part.own}]"

        trials = ",".join("null" if part is None else trial(part) for part in parts)
        line = f"[{entry.panel},{entry.column},{entry.row},{trials}]"
        cost = len(line.encode()) + sum(len(text.encode()) for text in texts)
        if cost > self.room:
            for _ in texts:
                numbers.popitem()
            return False
        self.room -= cost
        self.values += texts
        self.rows[number] = line
        self.shortened += any(part is not None and part.cut for part in parts)
        return True

    def packed(self) -> str:
        """Everything as the page unpacks it."""
        rows = ",\n".join(self.rows[number] for number in sorted(self.rows))
        text = f'{{"values":[{",".join(self.values)}],\n"rows":[{rows}]}}'
        return b64encode(zlib.compress(text.encode(), 6)).decode()


def fit(trials: Sequence[Entry], room: int) -> Kept:
    """Keep as much of `trials` (in reading order) as `room` bytes can hold."""
    shelf = _filled(trials, range(len(trials)), WHOLE, room)
    if len(shelf.rows) == len(trials) and len(packed := shelf.packed()) <= room:
        return Kept(packed, len(trials), 0, shelf.shortened, WHOLE)
    order = _most_telling_first(trials)
    while order:
        shelf = _filled(trials, order, SHORT, room)
        packed = shelf.packed()
        if len(packed) <= room:
            return Kept(packed, len(shelf.rows), len(trials) - len(shelf.rows), shelf.shortened, SHORT)
        # Fewer trials by as much as it is too large, and a little more; the packing of fewer is not quite as good.
        order = order[: min(len(shelf.rows) - 1, int(len(shelf.rows) * room / len(packed) * 0.98))]
    return Kept("", 0, len(trials), 0, SHORT)


def _filled(trials: Sequence[Entry], order: Sequence[int], level: Level, room: int) -> _Shelf:
    """Take trials until what they could be packed into is full: that costs time for what is kept, not for what is."""
    shelf = _Shelf(max(0, room) * _MOST_PACKED)
    row_of = rows_at(level)
    for number in order:
        parts = [None if record is None else row_of(record) for record in trials[number].records]
        if not shelf.take(number, trials[number], parts):
            break
    return shelf


def _most_telling_first(trials: Sequence[Entry]) -> list[int]:
    """Order trials by how much would be lost with them; of equal ones the first of every cell, then the second, ...

    Those are scattered, so that no part of a heatmap is left out as a whole.
    """
    before: Counter[tuple[int, int, int, int]] = Counter()
    ranked = []
    for number, entry in enumerate(trials):
        alike = (entry.panel, entry.column, entry.row, entry.telling)
        ranked.append((entry.telling, before[alike], number * 2_654_435_761 % 2**32, number))
        before[alike] += 1
    return [rank[-1] for rank in sorted(ranked)]
