"""Told below the plan: the time that a run takes, the trials that a finding needs (`--power`), and what an adaptive run
may cost (`--adaptive`)."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence

import pytest

from needlework.core.grid import Cell
from needlework.haystack_fixtures.needles.needle_sets import EACH
from needlework.pipeline.engine import Engine
from needlework.pytest_plugin.asking.state import engine_of, grid_of, settings_of
from needlework.pytest_plugin.workers.top_up import cell_of
from needlework.results.run.open_folder import time_lines


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, object, object]:
    done = yield
    settings, reporter = settings_of(session.config), session.config.pluginmanager.get_plugin("terminalreporter")
    cells = [cell for item in session.items if (cell := cell_of(item)) is not None]
    if not settings.plan or not cells or not isinstance(reporter, pytest.TerminalReporter):
        return done
    lengths = _lengths(engine_of(session.config), cells)
    for line in _adaptive_lines(session.config, cells) if settings.adaptive else time_lines(settings, lengths):
        reporter.write_line(line)
    if settings.power:
        from needlework.results.gates.gatekeeper import parse_power, power_lines

        own = {suite.task for suite in settings.suites if suite.needle_set == EACH}
        for line in power_lines(parse_power(settings.power), cells, own):
            reporter.write_line(line)
    return done


def _lengths(engine: Engine, cells: Sequence[Cell]) -> list[int]:
    """Of the cells that their model's window holds, as far as it is known: tokens."""
    windows = {cell.model: engine.described(engine.series_of(cell).model).window for cell in cells}
    return [cell.length for cell in cells if (window := windows[cell.model]) is None or cell.length <= window]


def _adaptive_lines(config: pytest.Config, cells: Sequence[Cell]) -> Iterator[str]:
    from needlework.results.adaptive import survey as forecast
    from needlework.results.statistics.adaptive import axes_of, rules_of
    from needlework.results.tables.adaptive import plan_lines

    rules, chosen = rules_of(settings_of(config)), set(cells)
    for series in grid_of(config):
        if chosen & set(series.cells):
            lengths, depths = axes_of(series)
            name = " · ".join((series.model, series.cells[0].task, series.cells[0].needle))
            costs, most = forecast.costs(rules, lengths, len(depths)), forecast.most(rules, lengths, len(depths))
            yield from plan_lines(name, rules.mode, costs, most)
