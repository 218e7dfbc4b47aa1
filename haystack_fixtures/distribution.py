"""Several workers: which process gets which cells. The only module that knows pytest-xdist, which may be missing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

import pytest

from haystack_fixtures.cells import parse_id

if TYPE_CHECKING:
    from xdist.scheduler import LoadScopeScheduling


def is_worker(config: pytest.Config) -> bool:
    """Whether this process is an xdist worker."""
    return hasattr(config, "workerinput")


def has_workers(config: pytest.Config) -> bool:
    """Whether this process is the controller of workers."""
    return not is_worker(config) and getattr(config.option, "dist", "no") != "no" and bool(config.option.tx)


def worker_name(config: pytest.Config) -> str:
    """`gw0`, `gw1`, ...; `main` without xdist."""
    return cast("dict[str, str]", config.workerinput)["workerid"] if hasattr(config, "workerinput") else "main"


def worker_count(config: pytest.Config) -> int:
    """How many processes share the run."""
    return int(cast("dict[str, Any]", config.workerinput)["workercount"]) if hasattr(config, "workerinput") else 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling | None:
    """Cells of one haystack stay on one worker, in order; every other test is a unit of its own.

    Stock schedulers scatter such cells (`load`), or hang and repeat the crashing test after a worker dies
    (`loadscope`, `loadgroup`: pytest-xdist #1323, #1327, #1371, #1378).
    """
    if config.getvalue("dist") != "load":
        return None
    return _scheduler(config, log)


def _scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    from xdist.scheduler import LoadScopeScheduling

    class HaystackScheduling(LoadScopeScheduling):  # type: ignore[misc]  # xdist is untyped
        """Units are haystacks; the places of tests in a worker's list are looked up, not searched."""

        _places: dict[Any, dict[str, int]]

        def _split_scope(self, nodeid: str) -> str:
            cell = parse_id(nodeid)
            return nodeid if cell is None else f"{nodeid.partition('[')[0]}[{cell.haystack_id}]"

        def _assign_work_unit(self, node: Any) -> None:
            scope, unit = self.workqueue.popitem(last=False)
            self.assigned_work.setdefault(node, {})[scope] = unit
            places = self.__dict__.setdefault("_places", {})
            if node not in places:
                places[node] = {nodeid: i for i, nodeid in enumerate(self.registered_collections[node])}
            node.send_runtest_some([places[node][nodeid] for nodeid, done in unit.items() if not done])

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

    return HaystackScheduling(config, log)


def _pending(units: dict[str, dict[str, bool]]) -> Iterator[str]:
    return (nodeid for unit in units.values() for nodeid, done in unit.items() if not done)
