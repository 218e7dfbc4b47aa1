"""Answers are kept as they come; batches of them."""

from __future__ import annotations

import os
import shlex
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import needlework
from needlework.pipeline.exchange import Exchange, StoredAnswer
from needlework.pytest_plugin.asking.batches import WRITTEN
from needlework.pytest_plugin.recording.state import WAITING, folder_of, stored_of
from needlework.pytest_plugin.workers.distribution import worker_name
from needlework.pytest_plugin.workers.top_up import cell_of
from needlework.results.records.record import WaitingAnswer, WaitingRuling
from needlework.results.records.run_folder import write_batch_cells
from needlework.results.run.answer_facts import waiting_answer, waiting_ruling

if TYPE_CHECKING:
    from needlework.scoring.recording import Scored


def pytest_cell_stored(config: pytest.Config, key: str) -> StoredAnswer | None:
    return stored_of(config).get(key)


def pytest_cell_answered(config: pytest.Config, exchange: Exchange) -> None:
    _write_down(config, waiting_answer(exchange, worker_name(config)))


def pytest_cell_ruled(config: pytest.Config, exchange: Exchange, scored: Scored) -> None:
    _write_down(config, waiting_ruling(exchange, scored))


def _write_down(config: pytest.Config, line: WaitingAnswer | WaitingRuling | None) -> None:
    if line is not None:
        config.stash[WAITING].append(line)


def pytest_needlework_server_folder(config: pytest.Config) -> Path:
    return folder_of(config) / "server"


def pytest_unconfigure(config: pytest.Config) -> None:
    if WAITING in config.stash:
        config.stash[WAITING].close()


_BENCHMARKS = (Path(needlework.__file__).parent / "benchmarks").resolve()  # a link in a checkout


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, object, object]:
    cells = [(item.path, cell.id) for item in session.items if (cell := cell_of(item)) is not None]
    done = yield
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if session.config.stash.get(WRITTEN, []) and isinstance(reporter, pytest.TerminalReporter):
        packaged = all(path.resolve().is_relative_to(_BENCHMARKS) for path, _ in cells)
        write_batch_cells(folder_of(session.config), (cell_id for _, cell_id in cells), packaged=packaged)
        folder = shlex.quote(os.path.relpath(folder_of(session.config)))
        reporter.write_line(f"when they are answered: needlework batch-in {folder} ANSWERS.jsonl ...")
    return done
