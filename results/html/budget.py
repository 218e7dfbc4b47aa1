"""Which trials' details the page keeps, so that it stays below its limit.

Everything, where that fits; else shorter texts; else also fewer trials: of many equal cells beside each other the
middle ones go first. What is left out is counted, and the page says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from results.html.details import Level, Row, Value, row_of
from results.html.texts import script_json
from results.records import Record
from results.summary import Panel, Tally

LEVELS = (Level(20_000, 64), Level(4_000, 64), Level(1_000, 16), Level(400, 12))
_BREAK = 2  # a comma and a line break

PanelKey = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Entry:
    """A trial and its place: panel, column (length) and row (depth) of its cell."""

    record: Record
    panel: int
    column: int
    row: int


@dataclass(frozen=True, slots=True)
class Kept:
    """The details that fit, as JSON texts: the table of values and one row for each trial, in reading order."""

    values: tuple[str, ...]
    rows: tuple[str, ...]
    dropped: int
    shortened: int
    level: Level

    @property
    def whole(self) -> bool:
        """Whether nothing is missing."""
        return not self.dropped and not self.shortened and self.level.digest >= LEVELS[0].digest


@dataclass(slots=True)
class _Shelf:
    """Rows so far by the number of their trial, the table of values, and the bytes left."""

    room: int
    numbers: dict[Value, int] = field(default_factory=dict)
    values: list[str] = field(default_factory=list)
    rows: dict[int, str] = field(default_factory=dict)
    shortened: int = 0

    def take(self, number: int, entry: Entry, row: Row) -> bool:
        """Add a row where it fits; a value that another row has already costs nothing but its number."""
        new = [value for value in dict.fromkeys(row.shared) if value not in self.numbers]
        numbers = {value: len(self.values) + i for i, value in enumerate(new)}
        texts = [script_json(value) for value in new]
        shared = ",".join(str(numbers.get(value, self.numbers.get(value))) for value in row.shared)
        line = f"[{entry.panel},{entry.column},{entry.row},{shared},{row.own}]"
        cost = sum(len(text.encode()) + _BREAK for text in [line, *texts])
        if cost > self.room:
            return False
        self.room -= cost
        self.numbers |= numbers
        self.values += texts
        self.rows[number] = line
        self.shortened += row.cut
        return True


def entries(records: Sequence[Record], panels: Sequence[Panel]) -> list[Entry]:
    """Return the trials in reading order: panel, depth, length, repeat."""
    numbers: dict[PanelKey, int] = {(p.model, p.task, p.needle): i for i, p in enumerate(panels)}
    columns = [{length: i for i, length in enumerate(panel.lengths)} for panel in panels]
    rows = [{depth: i for i, depth in enumerate(panel.depths)} for panel in panels]
    found = []
    for record in records:
        panel = numbers[record["model"], record["task"], record["needle"]]
        found.append(Entry(record, panel, columns[panel][record["length"]], rows[panel][record["depth"]]))
    return sorted(found, key=_reading_order)


def fit(trials: Sequence[Entry], panels: Sequence[Panel], room: int) -> Kept:
    """Keep as much of `trials` (in reading order) as `room` bytes of JSON can hold."""
    everything = range(len(trials))
    for level in LEVELS:
        shelf = _filled(trials, everything, level, room)
        if len(shelf.rows) == len(trials):
            return _kept(shelf, trials, level)
    return _kept(_filled(trials, _most_telling_first(trials, panels), LEVELS[-1], room), trials, LEVELS[-1])


def _filled(trials: Sequence[Entry], order: Sequence[int], level: Level, room: int) -> _Shelf:
    """Take trials until one does not fit: that costs time for what is kept, however much there is."""
    shelf = _Shelf(max(0, room))
    for number in order:
        if not shelf.take(number, trials[number], row_of(trials[number].record, level)):
            break
    return shelf


def _kept(shelf: _Shelf, trials: Sequence[Entry], level: Level) -> Kept:
    rows = tuple(shelf.rows[number] for number in sorted(shelf.rows))
    return Kept(tuple(shelf.values), rows, len(trials) - len(rows), shelf.shortened, level)


def _most_telling_first(trials: Sequence[Entry], panels: Sequence[Panel]) -> list[int]:
    """Order trials by how much would be lost with them.

    First by how far they are inside a run of equal cells, and how many trials of their cell are like them; then what
    was not simply found before what was; the rest is scattered, so that no part of a heatmap is left out as a whole.
    """
    inside = [_steps_inside(panel) for panel in panels]
    like: dict[tuple[Any, ...], int] = {}
    ranked = []
    for number, entry in enumerate(trials):
        record = entry.record
        alike = (entry.panel, entry.column, entry.row, record["outcome"], record["score"])
        like[alike] = like.get(alike, -1) + 1
        steps = inside[entry.panel][entry.row, entry.column] + like[alike]
        ranked.append((steps, record["outcome"] == "found", number * 2_654_435_761 % 2**32, number))
    return [rank[-1] for rank in sorted(ranked)]


def _steps_inside(panel: Panel) -> Mapping[tuple[int, int], int]:
    """For each cell (row, column) its distance from the nearer end of its run of equal cells along the row."""
    steps: dict[tuple[int, int], int] = {}
    for row, depth in enumerate(panel.depths):
        for first, last in _runs([_look(panel.cells.get((length, depth))) for length in panel.lengths]):
            for column in range(first, last + 1):
                steps[row, column] = min(column - first, last - column)
    return steps


def _runs(looks: Sequence[object]) -> Iterator[tuple[int, int]]:
    first = 0
    for i in range(1, len(looks) + 1):
        if i == len(looks) or looks[i] != looks[first]:
            yield first, i - 1
            first = i


def _look(cell: Tally | None) -> object:
    return None if cell is None else (cell.mean, tuple(cell.counts.items()))


def _reading_order(entry: Entry) -> tuple[int, int, int, int, str]:
    return entry.panel, entry.row, entry.column, entry.record["repeat"], str(entry.record.get("key", ""))
