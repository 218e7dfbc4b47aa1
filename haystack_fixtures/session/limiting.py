"""`--limit N`: of the tests that were selected, those of the first trials of each task and language are kept."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.grid.limit import first_trials
from needlework.haystack_fixtures.session.kept import grid_of, settings_of, tasks_of
from needlework.haystack_fixtures.settings.settings import Suite
from needlework.haystack_fixtures.workers.top_up_items import cell_of


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Generator[None]:
    """Of what `-k`, `-m` and lengths that are too short have left; a shard is a part of what is kept here.

    The same in every process: each worker collects for itself.
    """
    yield
    settings = settings_of(config)
    if settings.limit is None or settings.adaptive is not None:
        return
    cells = {item: cell for item in items if (cell := cell_of(item)) is not None}
    if not cells:
        return
    wanted = set(cells.values())
    panels: dict[tuple[Suite, str], list[tuple[Cell, ...]]] = {}
    for series in grid_of(config):
        panels.setdefault((series.suite, series.model), []).append(series.cells)
    tasks, kept = tasks_of(config), set()
    for (suite, _), found in panels.items():
        kept |= first_trials(found, wanted, settings.limit, rows=tasks[suite.task].rows)
    left = [item for item, cell in cells.items() if cell not in kept]
    if left:
        gone = set(left)
        items[:] = [item for item in items if item not in gone]
        config.hook.pytest_deselected(items=left)
