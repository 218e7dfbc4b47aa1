"""Several workers: which process gets which cells. No module but `scheduling` needs pytest-xdist itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest

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
    from haystack_fixtures.scheduling import HaystackScheduling

    return HaystackScheduling(config, log)
