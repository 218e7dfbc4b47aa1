"""What a process of a run keeps: the recorder, the run's folder, the answers that are stored there."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.session.kept import settings_of
from needlework.haystack_fixtures.trials.exchange import StoredAnswer
from needlework.haystack_fixtures.workers.distribution import is_worker
from needlework.results.records.journal import read_journal
from needlework.results.records.run_folder import JOURNAL
from needlework.results.records.stored_answers import stored_answers
from needlework.results.records.waiting_answers import WaitingAnswers, read_rulings, read_waiting
from needlework.results.run.recorder import Recorder

RECORDER = "needlework-recorder"
INPUT = "needlework_run_folder"
_STORED = pytest.StashKey[dict[str, StoredAnswer]]()
WAITING = pytest.StashKey[WaitingAnswers]()
RECIPE = pytest.StashKey[str]()
SHARED = pytest.StashKey[frozenset[Cell]]()
"""The cells that several tests ask."""
TOLD = pytest.StashKey[set[tuple[str, str, str, bool]]]()


def stored_of(config: pytest.Config) -> dict[str, StoredAnswer]:
    """The answers that need not be asked for, by key."""
    if _STORED not in config.stash:
        folder, fresh = folder_of(config), settings_of(config).fresh
        earlier = read_journal(folder / JOURNAL) if is_worker(config) else recorder_of(config).folder.earlier
        config.stash[_STORED] = {} if fresh else stored_answers(earlier, read_waiting(folder), read_rulings(folder))
    return config.stash[_STORED]


def folder_of(config: pytest.Config) -> Path:
    if is_worker(config):
        return Path(cast("Any", config).workerinput[INPUT])
    return recorder_of(config).folder.path


def recorder_of(config: pytest.Config) -> Recorder:
    return cast("Recorder", config.pluginmanager.get_plugin(RECORDER))
