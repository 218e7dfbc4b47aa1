"""Which trials' details the page keeps, so that it stays below its limit.

Details are packed: JSON, deflated, in base64; the page unpacks them when it has loaded. Everything, where that fits;
else shorter texts; else also fewer trials, by a rule: what was not simply found stays longest, and of the others the
first ones of every cell. What is left out is counted, and the page says so.
"""

from __future__ import annotations

import random
import zlib
from base64 import b64encode
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

from needlework.results.html.details import Level, Row, rows_at
from needlework.results.html.texts import script_safe
from needlework.results.html.trial_json import Value, value_json
from needlework.results.records.record import Record

LEVELS = (
    Level(20_000, 64, 160, 160),
    Level(4_000, 16, 160, 160),
    Level(1_000, 16, 80, 80),
    Level(400, 12, 60, 0),
    Level(400, 12, 0, 0),
)
# A level that is hopeless is told without trying it: trials of a sample, and how many times what fits they must come
# to. The larger sample is asked where the first says more than fits, and not so much.
_SAMPLES = ((250, 1.2), (1_000, 1.05))
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

    @property
    def whole(self) -> bool:
        """Whether nothing is missing but the ends of hashes."""
        return not self.dropped and not self.shortened and self.level.around_found > 0

    def notice(self, limit_bytes: int) -> list[str]:
        """What is not in the page, one sentence each; empty where everything is."""
        if self.whole:
            return []
        sentences = ["All scores are complete."]
        if self.dropped:
            which = f"{self.dropped:,} of {self.dropped + self.kept:,}"
            sentences.append(
                f"Details of {which} trials are left out: of each cell the last of those that were found, first."
            )
        if self.shortened:
            trials = "1 trial" if self.shortened == 1 else f"{self.shortened:,} trials"
            sentences.append(f"Texts of {trials} are cut to {self.level.text:,} characters, with a mark.")
        if self.kept and not self.level.around_found:
            which = "needles that were found" if self.level.around else "needles"
            sentences.append(f"The text around {which} is left out.")
        if self.kept and self.level.digest < LEVELS[0].digest:
            sentences.append(f"Hashes are cut to {self.level.digest} characters.")
        return [*sentences, f"This keeps the page below {limit_bytes / 1e6:g} MB; results.json has everything."]


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
    for level in LEVELS:
        if _is_hopeless(trials, level, room):
            continue
        shelf = _filled(trials, range(len(trials)), level, room)
        packed = shelf.packed()
        if len(shelf.rows) == len(trials) and len(packed) <= room:
            return Kept(packed, len(trials), 0, shelf.shortened, level)
    order = _most_telling_first(trials)
    while order:
        shelf = _filled(trials, order, LEVELS[-1], room)
        packed = shelf.packed()
        if len(packed) <= room:
            return Kept(packed, len(shelf.rows), len(trials) - len(shelf.rows), shelf.shortened, LEVELS[-1])
        # Fewer trials by as much as it is too large, and a little more; the packing of fewer is not quite as good.
        order = order[: min(len(shelf.rows) - 1, int(len(shelf.rows) * room / len(packed) * 0.98))]
    return Kept("", 0, len(trials), 0, LEVELS[-1])


def _is_hopeless(trials: Sequence[Entry], level: Level, room: int) -> bool:
    """Whether all trials at `level` are more than `room` bytes, as far as samples tell."""
    for sampled, times in _SAMPLES:
        about = _estimate(trials, level, room, sampled)
        if about <= room or about > times * room:
            return about > room
    return False


def _estimate(trials: Sequence[Entry], level: Level, room: int, sampled: int) -> float:
    """About the bytes of all trials at `level`, from what half of a sample adds to the other half.

    Too many where trials share much.
    """
    sample = random.Random(0).sample(range(len(trials)), min(sampled, len(trials)))  # every n-th would be too alike
    half = len(sample) // 2
    shelf = _filled(trials, sample[:half], level, room)
    before = len(shelf.packed())
    _fill(shelf, trials, sample[half:], level)
    if len(shelf.rows) < len(sample):
        return inf
    size = len(shelf.packed())
    further = (len(trials) - len(sample)) / max(1, len(sample) - half)
    return size + (size - before) * further


def _filled(trials: Sequence[Entry], order: Sequence[int], level: Level, room: int) -> _Shelf:
    """Take trials until what they could be packed into is full: that costs time for what is kept, not for what is."""
    shelf = _Shelf(max(0, room) * _MOST_PACKED)
    _fill(shelf, trials, order, level)
    return shelf


def _fill(shelf: _Shelf, trials: Sequence[Entry], order: Sequence[int], level: Level) -> None:
    row_of = rows_at(level)
    for number in order:
        parts = [None if record is None else row_of(record) for record in trials[number].records]
        if not shelf.take(number, trials[number], parts):
            break


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
