"""The end of a session: nothing more is asked, what stood in for a missing text is told, models are closed."""

from __future__ import annotations

import gc
from collections.abc import Generator, Iterable

import pytest

from needlework.pytest_plugin.asking.state import ENGINE, FILLED, QUEUE, STAND_INS, THRESHOLDS


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, object, object]:
    """However the loop ends: files are written next, and what waits for its place would be asked meanwhile."""
    try:
        return (yield)
    finally:
        if QUEUE in session.config.stash:
            session.config.stash[QUEUE].close()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config) -> None:
    ran = ENGINE in config.stash and exitstatus != pytest.ExitCode.USAGE_ERROR
    for line in config.stash[STAND_INS] if ran else ():
        terminalreporter.write_line(line, yellow=True)
    for line in _notes(config) if ran else ():
        terminalreporter.write_line(line, yellow=True)
    if ran and FILLED in config.stash and not config.option.plan:
        terminalreporter.write_line(str(config.stash[FILLED]))


def _notes(config: pytest.Config) -> Iterable[str]:
    """What tasks say of the user's files, each line once."""
    told = {series.suite: series.task.notes for series in config.stash[ENGINE].series() if series.task.notes}
    every = config.option.verbose > 0
    return dict.fromkeys(line for suite, notes in told.items() for line in notes(suite, every))


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    if ENGINE in config.stash:
        config.stash[ENGINE].close()
        gc.freeze()  # pytest ends with five whole collections, half a second each after 10,000 cells
    if THRESHOLDS in config.stash:
        gc.set_threshold(*config.stash[THRESHOLDS])
