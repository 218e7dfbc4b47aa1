"""`--plan`: what would be run is told in place of running it."""

from __future__ import annotations

import pytest

from needlework.haystack_fixtures.session.kept import FILLED, engine_of, settings_of
from needlework.haystack_fixtures.workers.top_up_items import cell_of


def pytest_runtestloop(session: pytest.Session) -> bool | None:
    if not settings_of(session.config).plan or session.testsfailed:
        return None
    from needlework.haystack_fixtures.asking.plan import plan_lines

    cells = [cell for item in session.items if (cell := cell_of(item)) is not None]
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if not isinstance(reporter, pytest.TerminalReporter):
        return None
    if (found := session.config.stash.get(FILLED, None)) is not None:
        reporter.write_line(str(found))
    for line in plan_lines(engine_of(session.config), cells):
        reporter.write_line(line)
    return True
