"""Which cells a session set out to run, and which of them it came to."""

from __future__ import annotations

from collections.abc import Iterable

from needlework.haystack_fixtures.grid.cells import parse_id
from needlework.results.records.record import Record
from needlework.results.records.tests_of_cells import of_tests


class Selected:
    """Cells by the node ids of their tests; other tests are not counted."""

    def __init__(self) -> None:
        self._asked: set[str] = set()
        self._ended: set[str] = set()

    def __bool__(self) -> bool:
        return bool(self._asked)

    def add(self, nodeids: Iterable[str]) -> None:
        """These were collected, and not deselected."""
        self._asked.update(nodeid for nodeid in nodeids if parse_id(nodeid) is not None)

    def end(self, nodeid: str) -> None:
        """This one has run to its end, with or without a record: a test may skip itself."""
        self._ended.add(nodeid)

    def of(self, records: Iterable[Record], now: Iterable[Record]) -> list[Record]:
        """Of a run's records those that this session is about: of the cells that it selects, and of those that it has
        asked beyond, of which `now` has the records. A run's folder may hold more, of earlier commands."""
        return of_tests(records, {*self._asked, *(record["nodeid"] for record in now)})

    def planned(self, records: Iterable[Record]) -> int:
        """The trials of a run whose `records` there are, those included that the session did not come to."""
        known = [record["nodeid"] for record in records]
        return len(known) + len(self._asked - self._ended - set(known))
