"""The end of a session: what stood in for a missing text is told, models and connections are closed."""

from __future__ import annotations

import gc

import pytest

from needlework.haystack_fixtures.session.kept import ENGINE, FILLED, QUEUE, STAND_INS


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config) -> None:
    ran = ENGINE in config.stash and exitstatus != pytest.ExitCode.USAGE_ERROR
    for line in config.stash[STAND_INS] if ran else ():
        terminalreporter.write_line(line, yellow=True)
    if ran and FILLED in config.stash and not config.option.plan:
        terminalreporter.write_line(str(config.stash[FILLED]))


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    if QUEUE in config.stash:
        config.stash[QUEUE].close()
    if ENGINE in config.stash:
        config.stash[ENGINE].close()
        gc.freeze()  # pytest ends with five whole collections, half a second each after 10,000 cells
