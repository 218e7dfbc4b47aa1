"""`--plan`: the time that a run takes, and with `--power` the trials that a finding needs, are told below the plan."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from needlework.haystack_fixtures.needles.needle_sets import EACH
from needlework.haystack_fixtures.session.kept import settings_of
from needlework.haystack_fixtures.workers.top_up_items import cell_of
from needlework.results.gates.power_plan import parse_power, power_lines
from needlework.results.run.pace import time_lines


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, object, object]:
    done = yield
    settings, reporter = settings_of(session.config), session.config.pluginmanager.get_plugin("terminalreporter")
    cells = [cell for item in session.items if (cell := cell_of(item)) is not None]
    if not settings.plan or not cells or not isinstance(reporter, pytest.TerminalReporter):
        return done
    for line in time_lines(settings, [cell.length for cell in cells]):
        reporter.write_line(line)
    if settings.power:
        own = {suite.task for suite in settings.suites if suite.needle_set == EACH}
        for line in power_lines(parse_power(settings.power), cells, own):
            reporter.write_line(line)
    return done
