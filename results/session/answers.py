"""Answers are written down the moment they arrive, and those of earlier runs are not asked for again."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from needlework.haystack_fixtures.trials.exchange import Exchange, StoredAnswer
from needlework.haystack_fixtures.workers.distribution import worker_name
from needlework.results.records.waiting_answers import WaitingAnswers
from needlework.results.run.making_records.answer_facts import waiting_answer
from needlework.results.session.kept import WAITING, folder_of, stored_of


def pytest_cell_stored(config: pytest.Config, key: str) -> StoredAnswer | None:
    return stored_of(config).get(key)


def pytest_cell_answered(config: pytest.Config, exchange: Exchange) -> None:
    answer = waiting_answer(exchange, worker_name(config))
    if answer is None:
        return
    if config.stash[WAITING] is None:
        config.stash[WAITING] = WaitingAnswers(folder_of(config))
    cast("WaitingAnswers", config.stash[WAITING]).append(answer)


def pytest_needlework_server_folder(config: pytest.Config) -> Path:
    return folder_of(config) / "server"


def pytest_unconfigure(config: pytest.Config) -> None:
    waiting = config.stash.get(WAITING, None)
    if waiting is not None:
        waiting.close()
