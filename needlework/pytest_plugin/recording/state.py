"""What a pytest session keeps of its records, and quick checks of its options."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from needlework.core.grid import Cell
from needlework.core.settings import Settings
from needlework.haystack_fixtures.tasks.own_documents import votes_by_embeddings
from needlework.pipeline.exchange import StoredAnswer
from needlework.pytest_plugin.asking.state import settings_of
from needlework.pytest_plugin.recording.recorder import Recorder
from needlework.pytest_plugin.workers.distribution import is_worker
from needlework.results.records.journal import WaitingAnswers, read_journal, read_rulings, read_waiting, stored_answers
from needlework.results.records.run_folder import JOURNAL

if TYPE_CHECKING:
    from needlework.results.gates.gate import Gate


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


# waits for what is imported before its first question, and few have one of these.
def checked_gates(settings: Settings) -> list[Gate]:
    """The gates of a run. Raises `InputError` where one is none, or lacks what it needs."""
    if not (settings.gate or settings.baseline or settings.top_up):
        return []
    from needlework.results.gates.gate import parse_gate
    from needlework.results.gates.gatekeeper import check_gates

    gates = [parse_gate(text) for text in settings.gate]
    check_gates(settings, gates)
    return gates


def check_parts(settings: Settings) -> None:
    """`--shard`, `--power`, `--relative-to`. Raises `InputError`."""
    if settings.shard is not None or settings.relative_to is not None:
        from needlework.pytest_plugin.recording.checks import check_base, check_shard

        check_shard(settings)
        check_base(settings)
    if settings.power is not None:
        from needlework.results.gates.gatekeeper import check_power

        check_power(settings)


def check_judging(settings: Settings) -> None:
    """Scorers, judges, and what votes. Raises `InputError`."""
    judging = settings.judge or settings.judge_prompt is not None or settings.judge_strategy.startswith("llm")
    if judging or any(suite.scorer is not None for suite in settings.suites):
        from needlework.pytest_plugin.recording.checks import check_scorers

        check_scorers(settings)
    if votes_by_embeddings(settings.suites) is not None:
        from needlework.pytest_plugin.recording.answer_vectors import voting_embedder

        voting_embedder(settings)  # refused now, and not when every answer is there


def check_adaptive_run(settings: Settings, folder: Path) -> None:
    """`--adaptive`. Raises `InputError`."""
    if settings.adaptive is not None:
        from needlework.pytest_plugin.recording.checks import check_adaptive

        check_adaptive(settings, folder)
