"""Which cells several tests of a session ask: they share one answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.grid.cells import Cell
from needlework.results.records.tests_of_cells import name_of_test


def shared_cells(tests: Iterable[tuple[str, Cell]]) -> frozenset[Cell]:
    """The cells of several tests, given as node id and cell. Raises `InputError` where a record could not say whose it
    is: two files of one name have tests of one name."""
    named: dict[tuple[str, Cell], str] = {}
    for nodeid, cell in tests:
        other = named.setdefault((name_of_test(nodeid, cell.id), cell), nodeid)
        if other != nodeid:
            raise InputError("tests", f"{other} and {nodeid}", "have one name and one cell: rename one, or its file")
    counts = Counter(cell for _, cell in named)
    return frozenset(cell for cell, count in counts.items() if count > 1)
