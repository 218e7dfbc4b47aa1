"""`--batch-out`: what to do when the requests are answered is told below the files."""

from __future__ import annotations

import os
import shlex
from collections.abc import Generator

import pytest

from needlework.haystack_fixtures.session.batches import WRITTEN
from needlework.results.session.kept import folder_of


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, object, object]:
    done = yield
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if session.config.stash.get(WRITTEN, []) and isinstance(reporter, pytest.TerminalReporter):
        folder = shlex.quote(os.path.relpath(folder_of(session.config)))
        reporter.write_line(f"when they are answered: needlework batch-in {folder} ANSWERS.jsonl ...")
    return done
