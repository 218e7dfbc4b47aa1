"""Which worker gets which cells, and what becomes of a dead worker's. Imports pytest-xdist."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

from haystack_fixtures.cells import parse_id


class HaystackScheduling(LoadScopeScheduling):  # type: ignore[misc]  # xdist is untyped
    """Units are haystacks; every test that is no cell is a unit of its own."""

    def __init__(self, config: pytest.Config, log: Any) -> None:
        super().__init__(config, log)
        self._places: dict[Any, dict[str, int]] = {}

    def _split_scope(self, nodeid: str) -> str:
        cell = parse_id(nodeid)
        return nodeid if cell is None else f"{nodeid.partition('[')[0]}[{cell.haystack_id}]"

    def _assign_work_unit(self, node: Any) -> None:
        scope, unit = self.workqueue.popitem(last=False)
        self.assigned_work.setdefault(node, {})[scope] = unit
        # The places of tests in a worker's list are looked up: searching them is quadratic in the cells.
        if node not in self._places:
            self._places[node] = {nodeid: i for i, nodeid in enumerate(self.registered_collections[node])}
        node.send_runtest_some([self._places[node][nodeid] for nodeid, done in unit.items() if not done])

    def _reschedule(self, node: Any) -> None:
        # A replacement that has not collected yet gets its work when it has.
        if node.shutting_down or node not in self.registered_collections:
            return
        # A worker starts a test only when it knows the next one, or that there is none: one queued test and no
        # word of more would leave the replacement of a dead worker waiting for ever.
        while self.workqueue and self._pending_of(self.assigned_work[node]) <= 2:
            self._assign_work_unit(node)
        if not self.workqueue:
            node.shutdown()

    def remove_node(self, node: Any) -> str | None:
        """Take a worker's unfinished cells back; the one that it died on is not run again."""
        units = self.assigned_work.pop(node)
        crashed = next(_pending(units), None)
        if crashed is None:
            return None
        for unit in units.values():
            if crashed in unit:
                unit[crashed] = True
        # Finished units must not come back: an empty one would leave its worker waiting for ever.
        self.workqueue.update({scope: unit for scope, unit in units.items() if not all(unit.values())})
        for other in self.assigned_work:
            self._reschedule(other)
        return crashed


def _pending(units: dict[str, dict[str, bool]]) -> Iterator[str]:
    return (nodeid for unit in units.values() for nodeid, done in unit.items() if not done)
