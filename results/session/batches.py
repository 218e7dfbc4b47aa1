"""`--batch-out`: what to do when the requests are answered is told below the files."""

from __future__ import annotations

import os
import shlex
from collections.abc import Generator
from pathlib import Path

import pytest

import needlework
from needlework.haystack_fixtures.session.batches import WRITTEN
from needlework.haystack_fixtures.workers.top_up_items import cell_of
from needlework.results.records.batch_cells import write_batch_cells
from needlework.results.session.kept import folder_of

_BENCHMARKS = Path(needlework.__file__).resolve().parent / "benchmarks"


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, object, object]:
    cells = [(item.path, cell.id) for item in session.items if (cell := cell_of(item)) is not None]
    done = yield
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if session.config.stash.get(WRITTEN, []) and isinstance(reporter, pytest.TerminalReporter):
        packaged = all(path.is_relative_to(_BENCHMARKS) for path, _ in cells)
        write_batch_cells(folder_of(session.config), (cell_id for _, cell_id in cells), packaged=packaged)
        folder = shlex.quote(os.path.relpath(folder_of(session.config)))
        reporter.write_line(f"when they are answered: needlework batch-in {folder} ANSWERS.jsonl ...")
    return done
