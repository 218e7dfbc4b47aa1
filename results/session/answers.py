"""Answers are written down the moment they arrive, and those of earlier runs are not asked for again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from needlework.haystack_fixtures.trials.exchange import Exchange, StoredAnswer
from needlework.haystack_fixtures.workers.distribution import worker_name
from needlework.results.records.record import WaitingAnswer, WaitingRuling
from needlework.results.run.making_records.answer_facts import waiting_answer, waiting_ruling
from needlework.results.session.kept import WAITING, folder_of, stored_of

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
