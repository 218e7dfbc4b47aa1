"""Which trials the parts of a run were to have, and which of them nobody has a record of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from needlework.haystack_fixtures.grid.cells import parse_id
from needlework.haystack_fixtures.workers.shard import Shard
from needlework.results.merge.parts import Part
from needlework.results.records.record import Record
from needlework.results.records.tests_of_cells import name_of_test, of_tests

_SHOWN = 5  # cells that are named


@dataclass(frozen=True, slots=True)
class Missing:
    """What a part was to have and has not. `cells`: their names, as far as they are known; `count`: how many.

    `begun`: whether the part has a folder at all.
    """

    part: str
    count: int
    cells: tuple[str, ...]
    begun: bool


def missing_of(parts: Sequence[Part], records: Sequence[Record]) -> list[Missing]:
    """What is missing of a run that has these parts and records: trials of a part, and whole shards."""
    there = {_test(record["nodeid"]) for record in records}
    found = []
    for part in parts:
        planned = _planned(part)
        if isinstance(planned, int):
            own = len({_test(record["nodeid"]) for record in part.records})
            found.append(Missing(part.name, max(0, planned - own), (), begun=True))
        else:
            cells = [test.partition("[")[2].removesuffix("]") for test in planned if _test(test) not in there]
            found.append(Missing(part.name, len(cells), tuple(cells), begun=True))
    return [each for each in (*found, *absent_shards(parts)) if each.count]


def selected_of(parts: Sequence[Part], records: Sequence[Record]) -> list[Record]:
    """Of a merged run's records those of the cells that its shards are to ask; all where a part is no shard."""
    tests = [part.planned.tests for part in parts if part.planned is not None]
    return of_tests(records, chain(*tests)) if len(tests) == len(parts) else list(records)


def missing_lines(missing: Sequence[Missing]) -> Iterator[str]:
    """A line for each part: which cells it lacks, and what to do."""
    for each in missing:
        if not each.begun:
            yield f"{each.part} is missing ({_trials(each.count)}): run it, with the command of the others"
            continue
        named = ", ".join(each.cells[:_SHOWN])
        more = f" and {len(each.cells) - _SHOWN} more" if len(each.cells) > _SHOWN else ""
        yield f"{each.part} lacks {_trials(each.count)}{f': {named}{more}' if named else ''}; run it again: it goes on"


def _planned(part: Part) -> tuple[str, ...] | int:
    """The tests of a shard; of another part how many there are to be, as its manifest says."""
    if part.planned is not None:
        return part.planned.tests
    planned = part.manifest.get("planned")
    return planned if isinstance(planned, int) else 0


def absent_shards(parts: Sequence[Part]) -> Iterator[Missing]:
    """Shards that have not begun, of those that were divided together, unless one such division is all there."""
    divisions: dict[tuple[str, tuple[int, ...]], dict[int, Part]] = {}
    for part in parts:
        if part.planned is not None:
            division = part.planned.division
            divisions.setdefault((division.selection, division.counts), {})[division.shard.number] = part
    absent = {
        (selection, counts): [number for number, count in enumerate(counts, 1) if count and number not in there]
        for (selection, counts), there in divisions.items()
    }
    whole = {selection for (selection, _), numbers in absent.items() if not numbers}
    for (selection, counts), numbers in absent.items():
        for number in numbers if selection not in whole else ():
            yield Missing(f"shards/{Shard(number, len(counts)).name}", counts[number - 1], (), begun=False)


def _test(nodeid: str) -> str:
    """A test's name wherever pytest runs."""
    cell = parse_id(nodeid)
    return f"{name_of_test(nodeid, cell.id)} {cell.id}" if cell else nodeid


def _trials(count: int) -> str:
    return f"{count:,} {'trial' if count == 1 else 'trials'}"
