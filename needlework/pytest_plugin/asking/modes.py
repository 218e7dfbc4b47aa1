"""`--limit` and `--plan`: fewer cells, or none."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from needlework.core.grid import Cell, first_trials
from needlework.core.settings import Suite
from needlework.pytest_plugin.asking.state import FILLED, engine_of, grid_of, settings_of, tasks_of
from needlework.pytest_plugin.workers.top_up import cell_of


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


def pytest_runtestloop(session: pytest.Session) -> bool | None:
    if not settings_of(session.config).plan or session.testsfailed:
        return None
    from needlework.pipeline.plan import plan_lines

    cells = [cell for item in session.items if (cell := cell_of(item)) is not None]
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if not isinstance(reporter, pytest.TerminalReporter):
        return None
    if (found := session.config.stash.get(FILLED, None)) is not None:
        reporter.write_line(str(found))
    for line in plan_lines(engine_of(session.config), cells):
        reporter.write_line(line)
    return True
