"""What comes up while cells run is written to the terminal at once: a server that has fallen silent."""

from __future__ import annotations

import os
from contextlib import suppress

import pytest

from needlework.haystack_fixtures.workers.distribution import is_worker, worker_name
from needlework.results.run.progress.terminal import output_of

_OUTPUT = pytest.StashKey[int]()
_FIRST_WORKER = "gw0"  # all workers ask one server: once is enough


def pytest_sessionstart(session: pytest.Session) -> None:
    config = session.config
    if not is_worker(config) or worker_name(config) == _FIRST_WORKER:
        output = output_of(config, errors=is_worker(config))  # a worker's standard output is no terminal
        if output is not None:
            config.stash[_OUTPUT] = output


def pytest_needlework_news(config: pytest.Config, line: str) -> None:
    output = config.stash.get(_OUTPUT, None)
    if output is None:
        return
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    column, live = 1, False
    if isinstance(reporter, pytest.TerminalReporter):
        column, live = reporter._tw.width_of_current_line, reporter.hasmarkup  # noqa: SLF001 - as in progress/live.py
    before = ("\x1b[K" if live else "") + ("\n" if column else "")  # the live line stands behind the cursor
    with suppress(OSError):
        os.write(output, f"{before}{line}\n".encode())


def pytest_unconfigure(config: pytest.Config) -> None:
    output = config.stash.get(_OUTPUT, None)
    if output is not None:
        del config.stash[_OUTPUT]
        os.close(output)
