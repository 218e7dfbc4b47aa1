"""The start of a session: settings and gates are checked, the recorder and the progress line begin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from needlework.core.errors import EndSignals, InputError, printable
from needlework.pytest_plugin.asking.state import SETTINGS, grid_of, settings_of
from needlework.pytest_plugin.recording.made_questions import make_questions, with_made_questions
from needlework.pytest_plugin.recording.progress import PROGRESS, progress_of
from needlework.pytest_plugin.recording.recorder import Recorder, shared_cells
from needlework.pytest_plugin.recording.state import (
    INPUT,
    RECIPE,
    RECORDER,
    SHARED,
    TOLD,
    WAITING,
    check_adaptive_run,
    check_judging,
    check_parts,
    checked_gates,
    folder_of,
)
from needlework.pytest_plugin.workers.distribution import call_when_left, is_worker, refuse
from needlework.pytest_plugin.workers.top_up import cell_of
from needlework.results.records.journal import WaitingAnswers
from needlework.results.records.manifest import recipe_of
from needlework.results.records.run_folder import run_folder

if TYPE_CHECKING:
    from needlework.results.judging.ask import OpenJudge


_SIGNALS = pytest.StashKey[EndSignals]()


def pytest_configure(config: pytest.Config) -> None:
    if is_worker(config):
        config.stash[SETTINGS] = with_made_questions(settings_of(config), folder_of(config), dry=False)
    settings = settings_of(config)
    config.stash[RECIPE] = recipe_of(settings)
    config.stash[TOLD] = set()
    config.stash[SHARED] = frozenset()
    if is_worker(config):
        config.stash[WAITING] = WaitingAnswers(folder_of(config))
        return
    try:
        gates = checked_gates(settings)
        check_parts(settings)
        folder = run_folder(settings)
        dry = settings.plan or config.option.collectonly
        config.stash[SETTINGS] = settings = with_made_questions(settings, folder, dry=dry)
        check_judging(settings)
        check_adaptive_run(settings, folder)
    except (InputError, ValueError) as error:
        raise pytest.UsageError(str(error)) from None
    config.pluginmanager.register(Recorder(config, settings, folder, gates), RECORDER)
    config.stash[WAITING] = WaitingAnswers(folder_of(config))


def pytest_needlework_questions(config: pytest.Config, open_model: OpenJudge) -> None:
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    for line in make_questions(settings_of(config), folder_of(config), open_model):
        if isinstance(reporter, pytest.TerminalReporter):
            reporter.write_line(printable(line))


def pytest_collection_finish(session: pytest.Session) -> None:
    config, tests = session.config, [(item.nodeid, cell) for item in session.items if (cell := cell_of(item))]
    try:
        config.stash[SHARED] = shared_cells(tests)
        if settings_of(config).adaptive and not config.option.collectonly:
            from needlework.pytest_plugin.recording.adaptive_run import check_selected

            check_selected([cell for _, cell in tests], grid_of(config))
    except InputError as error:
        refuse(session, error)
    if is_worker(config) and tests:
        config.stash[_SIGNALS] = signals = EndSignals(heeded=False)  # a signal to both would race the controller's end
        signals.start()
        call_when_left(config, signals.end)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if _SIGNALS in session.config.stash:
        session.config.stash[_SIGNALS].ignore()


def pytest_sessionstart(session: pytest.Session) -> None:
    config = session.config
    if is_worker(config):
        return
    progress = progress_of(config, folder_of(config), all_named=settings_of(config).adaptive is not None)
    if progress is not None:
        config.pluginmanager.register(progress, PROGRESS)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    recorder = node.config.pluginmanager.get_plugin(RECORDER)
    node.workerinput[INPUT] = str(recorder.folder.path)
