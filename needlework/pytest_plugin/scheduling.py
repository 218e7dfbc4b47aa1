"""Scheduler of cells over workers, also over those of a dead worker. Imports pytest-xdist."""

from collections.abc import Sequence
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

from needlework.core.grid import parse_id


class HaystackScheduling(LoadScopeScheduling):  # type: ignore[misc]  # xdist is untyped
    """Schedules haystacks as units; a test that is no cell is its own. Units hold unfinished tests.

    `buffer`: a worker that has no more tests than this gets another unit.
    """

    def __init__(self, config: pytest.Config, log: Any, buffer: int) -> None:
        super().__init__(config, log)
        self._buffer = buffer
        self.collection: list[str] | None = None
        self._index: dict[str, int] = {}

    def _split_scope(self, nodeid: str) -> str:
        cell = parse_id(nodeid)
        return nodeid if cell is None else f"{nodeid.partition('[')[0]}[{cell.haystack_id}]"

    def add_node_collection(self, node: Any, collection: Sequence[str]) -> None:
        """Take note of what a worker has collected; one that replaces a dead worker must have the same tests."""
        if self.collection_is_completed and list(collection) != self.collection:
            # Nobody would ever give it work, and nobody would end the run.
            raise pytest.exit.Exception(
                "a worker died, and the one in its place collects other tests: files changed while the run went on; "
                "run the same command again, every answer is kept",
                returncode=4,
            )
        super().add_node_collection(node, collection)

    def schedule(self) -> None:
        """Hand out the first units; called again when a replacement has collected."""
        if self.collection is not None:
            for node in self.nodes:
                self._reschedule(node)
        elif self._check_nodes_have_same_collection():
            collected: list[str] = list(next(iter(self.registered_collections.values())))
            self.collection = collected
            self._index = {nodeid: index for index, nodeid in enumerate(collected)}
            for nodeid in collected:
                self.workqueue.setdefault(self._split_scope(nodeid), {})[nodeid] = False
            while len(self.nodes) > max(1, len(self.workqueue)):
                unused, _ = self.assigned_work.popitem()
                unused.shutdown()
            self._deal()
        else:
            self.log("**Different tests collected, aborting run**")

    def _deal(self) -> None:
        """Assign units round-robin, so that one worker does not get all of a small set."""
        ready = [node for node in self.nodes if not node.shutting_down and node in self.registered_collections]
        while self.workqueue and ready:
            ready = [node for node in ready if self._pending_of(self.assigned_work[node]) <= self._buffer]
            for node in ready[: len(self.workqueue)]:
                self._assign_work_unit(node)
        for node in self.nodes:
            self._reschedule(node)

    def _assign_work_unit(self, node: Any) -> None:
        scope, unit = self.workqueue.popitem(last=False)
        self.assigned_work.setdefault(node, {})[scope] = unit
        # The indexes of tests in a worker's list are looked up: searching them is quadratic in the cells.
        node.send_runtest_some([self._index[nodeid] for nodeid in unit])

    def _reschedule(self, node: Any) -> None:
        if node.shutting_down or node not in self.registered_collections:
            return  # a replacement that has not collected yet gets its work when it has
        # One queued test and no word of more would leave the replacement of a dead worker waiting for ever.
        while self.workqueue and self._pending_of(self.assigned_work[node]) <= self._buffer:
            self._assign_work_unit(node)
        if not self.workqueue:
            node.shutdown()

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:  # noqa: ARG002
        """A worker has ended a test."""
        assert self.collection is not None
        nodeid = self.collection[item_index]
        scope = self._split_scope(nodeid)
        unit = self.assigned_work[node][scope]
        # What is done is dropped: counting what is pending would otherwise grow with all that ever was.
        unit.pop(nodeid, None)
        if not unit:
            del self.assigned_work[node][scope]
        self._reschedule(node)

    def remove_node(self, node: Any) -> str | None:
        """Take a worker's unfinished cells back; the one that it died on is not run again."""
        units = self.assigned_work.pop(node)
        crashed: str | None = next((nodeid for unit in units.values() for nodeid in unit), None)
        if crashed is None:
            return None
        for unit in units.values():
            unit.pop(crashed, None)
        # Finished units must not come back: an empty one would leave its worker waiting for ever.
        self.workqueue.update({scope: unit for scope, unit in units.items() if unit})
        for other in self.assigned_work:
            self._reschedule(other)
        return crashed
