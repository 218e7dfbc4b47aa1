"""`--shard I/N`: of the tests that were selected, this process keeps those of its shard."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from needlework.core.devices import Division, divided, shard_named
from needlework.pytest_plugin.asking.state import settings_of
from needlework.pytest_plugin.workers.top_up import cell_of

DIVISION = pytest.StashKey[Division]()
"""What the shard is a part of; absent without `--shard`, before collecting, and in a controller of workers."""
_SELECTED = pytest.StashKey[int]()
_OUTPUT = "needlework_selected"


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Generator[None]:
    """Last of all: what `-k`, `-m` and other plugins leave is what is divided."""
    yield
    asked = settings_of(config).shard
    if asked is None:
        return
    cells = {item: cell_of(item) for item in items}
    names = [item.nodeid for item, cell in cells.items() if cell is not None]
    mine, config.stash[DIVISION] = divided(shard_named(asked), cells, names)
    left = [item for item in items if item not in mine]
    if left:
        items[:] = [item for item in items if item in mine]
        config.hook.pytest_deselected(items=left)


def pytest_report_collectionfinish(config: pytest.Config) -> str | None:
    division = config.stash.get(DIVISION, None)
    if division is None:
        return None
    cells = division.counts[division.shard.number - 1]
    return f"needlework: shard {division.shard}: {cells} of {sum(division.counts)} trials"


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Under workers: the controller has not collected."""
    selected = getattr(node, "workeroutput", {}).get(_OUTPUT, 0)
    node.config.stash[_SELECTED] = max(selected, node.config.stash.get(_SELECTED, 0))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None]:
    """A shard without cells is done, where others have some: more shards than haystacks are no mistake."""
    config = session.config
    division = config.stash.get(DIVISION, None)
    if division is not None:
        config.stash[_SELECTED] = sum(division.counts)
        if hasattr(config, "workeroutput"):
            config.workeroutput[_OUTPUT] = sum(division.counts)
    if session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and config.stash.get(_SELECTED, 0):
        session.exitstatus = pytest.ExitCode.OK
    yield
