"""Hooks of a session, from its options to its end; runs cells that are chosen during it."""

from __future__ import annotations

import gc
import os
from collections.abc import Generator, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from needlework.core.errors import EndSignals, InputError, printable
from needlework.core.grid import Cell
from needlework.core.settings import Settings
from needlework.haystack_fixtures.configuration.messages import notes, unused
from needlework.haystack_fixtures.configuration.presets import built_in_presets, load_preset
from needlework.haystack_fixtures.configuration.resolve import written_value
from needlework.models.specs import runs_here
from needlework.pipeline.engine import judging_notes
from needlework.pipeline.preparation import prepare
from needlework.pytest_plugin import devices
from needlework.pytest_plugin.collection import in_order
from needlework.pytest_plugin.modes import ServerOfRun, check_batch
from needlework.pytest_plugin.options import command_line_values, ini_values
from needlework.pytest_plugin.progress import PROGRESS, output_of, progress_of
from needlework.pytest_plugin.recorder import Recorder, shared_cells
from needlework.pytest_plugin.run_state import RUN_FOLDER, WINDOW, RunState, run_state
from needlework.pytest_plugin.workers import (
    call_when_left,
    cell_of,
    cells_for_workers,
    cells_to_come,
    has_workers,
    is_worker,
    refuse,
    usage_errors,
    use_one_process,
    worker_name,
    workers_asked,
)
from needlework.results.records.journal import WaitingAnswers
from needlework.results.records.manifest import recipe_of
from needlework.results.records.run_folder import run_folder

if TYPE_CHECKING:
    from needlework.results.gates.gate import Gate


_FIRST_WORKER = "gw0"  # of all workers it alone shows the status of their server


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    if config.getoption("preset") == "list":
        for preset in built_in_presets().values():
            print(f"{preset.name:22} {preset.about}")
        return 0
    if config.getoption("load") and len(run_state(config).settings.load) > 1 and not config.getoption("plan"):
        load = import_module("needlework.cluster.matrix")  # by name: cluster/ stands above this folder, and runs pytest
        settings = run_state(config).settings
        with usage_errors():
            words = list(map(str, config.invocation_params.args))
            code: int = load.run_loads(words, settings, run_folder(settings).name)
            return code
    if config.getoption("plan") or config.getoption("batch_out") or config.getoption("batch_in"):
        use_one_process(config)  # ignores -n: a plan needs no workers, and one process writes the files of batches
    elif workers_asked(config) and cells_to_come(config):
        with usage_errors():
            devices.limit_workers(config, run_state(config).settings)
    return None


def pytest_configure(config: pytest.Config) -> None:
    if gc.get_freeze_count():  # an earlier run in this process, as in a notebook: free its tests and records
        gc.unfreeze()
        gc.collect()
    state = run_state(config)
    try:
        _open_run(config, state)
        check_batch(state.settings)
    except (InputError, ValueError) as error:
        raise pytest.UsageError(str(error)) from None
    config.addinivalue_line("markers", "cells(task): run once for each cell of this task's, or family's, grid")
    for task in state.tasks.values():
        config.addinivalue_line("markers", f"{task.name}: {task.about}")
    for family in dict.fromkeys(task.family for task in state.tasks.values() if task.family):
        config.addinivalue_line("markers", f"{family}: every task of this family")
    if state.serving is not None and not is_worker(config):
        config.pluginmanager.register(ServerOfRun(config, state.serving), "needlework-server")
    settings = state.settings
    if not all(runs_here(spec) for spec in settings.model):
        state.in_flight = 4 * settings.concurrency  # as many as `LookAhead` starts before one is taken


def _open_run(config: pytest.Config, state: RunState) -> None:
    """Check the run's options and open its recorder. Raises `InputError` or `ValueError`."""
    if is_worker(config):
        state.recipe = recipe_of(state.settings)
    else:
        state.recipe = recipe_of(state.settings)
        folder = run_folder(state.settings)
        recorder = Recorder(config, state.settings, folder, _check_run(state.settings, folder))
        state.open_folder = recorder.folder
        config.pluginmanager.register(recorder, "needlework-recorder")
    state.waiting_answers = WaitingAnswers(state.folder)


def _check_run(settings: Settings, folder: Path) -> list[Gate]:
    """Check combinations of options; returns the gates. Raises `InputError` or `ValueError`."""
    names = "gate baseline top_up shard relative_to power judge judge_prompt adaptive max_cost"
    needs_check = any(getattr(settings, name) for name in names.split()) or settings.judge_strategy.startswith("llm")
    if not (needs_check or any(suite.scorer for suite in settings.suites)):
        return []  # the import below takes start-up time
    from needlework.results.run.checks import check_run

    return check_run(settings, folder)


def pytest_report_header(config: pytest.Config) -> list[str]:
    state, words = run_state(config), command_line_values(config)
    judging = [] if config.option.collectonly else judging_notes(state.settings)
    preset = load_preset(written_value(words, ini_values(config), "preset") or "quick")
    lines = [*map(printable, preset.notes), *notes(state.settings), *unused(words, state.settings), *judging]
    if state.window is not None:
        lines.append(str(state.window))
    if state.serving is not None:
        lines += map(printable, state.serving.served.notes)
    return [f"needlework: {line}" for line in lines]


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    state = run_state(node.config)
    node.workerinput[RUN_FOLDER] = str(state.folder)
    if state.window is not None:
        node.workerinput[WINDOW] = state.window.tokens


def pytest_sessionstart(session: pytest.Session) -> None:
    """Make what all cells share before workers start, and refuse what every cell would fail on."""
    config, state = session.config, run_state(session.config)
    further = "" if state.settings.plan else devices.further_option(state.settings)
    if further and (has_workers(config) or is_worker(config)):
        raise pytest.UsageError(f"{further}: decides in one process what is asked next: leave out -n")
    if not is_worker(config) or worker_name(config) == _FIRST_WORKER:
        state.terminal = output_of(config, errors=is_worker(config))  # a worker's standard output is a pipe
    if is_worker(config):
        return
    progress = progress_of(config, adaptive=state.settings.adaptive is not None)
    if progress is not None:
        config.pluginmanager.register(progress, PROGRESS)
    with usage_errors():
        if cells_for_workers(config):
            state.misfits = prepare(state.engine, [cell for series in state.grid for cell in series.cells])


def pytest_collection_finish(session: pytest.Session) -> None:
    config, state = session.config, run_state(session.config)
    tests = [(item.nodeid, cell) for item in session.items if (cell := cell_of(item))]
    try:
        state.shared_cells = shared_cells(tests)
        if state.settings.adaptive and not config.option.collectonly:
            from needlework.results.adaptive.survey import check_selected

            check_selected([cell for _, cell in tests], state.grid)
    except InputError as error:
        refuse(session, error)
    if is_worker(config) and tests:
        state.signals = EndSignals(heeded=False)  # ignored: on Ctrl-C the controller ends the workers
        state.signals.start()
        call_when_left(config, state.signals.end)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, object, object]:
    """Run the collected cells, then those that are chosen when these have ended (`--adaptive`, `--top-up`).

    Closes the queue however the loop ends, so that nothing is sent while files are written.
    """
    state, collected, hook = run_state(session.config), session.items, session.config.hook
    settings = state.settings
    chooses = bool(devices.further_option(settings)) and not settings.plan and not session.config.option.collectonly
    if chooses and settings.adaptive:  # the collected cells are not run; they only say where cells may be chosen
        session.items = [item for item in collected if cell_of(item) is None]
        session.testscollected = len(session.items)
    try:
        done = yield
        session.items = collected
        while chooses and (cells := hook.pytest_needlework_more_cells(config=session.config)):
            _run_further(session, in_order(session.config, cells))
        return done
    finally:
        session.items = collected
        if "queue" in vars(state):
            state.queue.close()


def _run_further(session: pytest.Session, cells: Sequence[Cell]) -> None:
    items = make_items(session.items, cells)
    run_state(session.config).queue.announce(cells)
    for item, following in zip(items, [*items[1:], None], strict=True):
        session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    state = run_state(session.config)
    if state.signals is not None:
        state.signals.ignore()
    state.judging.close()  # no further ruling is paid for
    gc.freeze()  # spares the records the five full collections at pytest's end


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config) -> None:
    state = run_state(config)
    if "engine" not in vars(state) or exitstatus == pytest.ExitCode.USAGE_ERROR:
        return
    task_notes = {series.suite: series.task.notes for series in state.engine.series() if series.task.notes}
    every = config.option.verbose > 0
    about_files = dict.fromkeys(line for suite, lines in task_notes.items() for line in lines(suite, every))
    for line in (*state.stand_ins, *about_files):
        terminalreporter.write_line(line, yellow=True)
    if state.window is not None and not config.option.plan:
        terminalreporter.write_line(str(state.window))


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    state = run_state(config)
    if state.terminal is not None:
        os.close(state.terminal)
        state.terminal = None
    if state.waiting_answers is not None:
        state.waiting_answers.close()
    if "engine" in vars(state):
        state.engine.close()


def make_items(collected: Sequence[pytest.Item], cells: Sequence[Cell]) -> list[pytest.Item]:
    """Make the tests of these cells as collection does, in the order of the cells."""
    tests: dict[str, dict[tuple[Any, str], None]] = {}  # by the id of the cell at repeat 0
    for item in collected:
        if (cell := cell_of(item)) is not None:
            test: Any = item
            tests.setdefault(_first_repeat(cell), {})[test.parent, test.originalname] = None
    cells_of: dict[tuple[Any, str], list[Cell]] = {}
    for cell in cells:
        for test in tests.get(_first_repeat(cell), ()):
            cells_of.setdefault(test, []).append(cell)
    made: list[tuple[Cell, pytest.Item]] = []
    for (parent, name), test_cells in cells_of.items():
        state = run_state(parent.config)
        state.cells_in_making = test_cells
        try:
            items = parent.ihook.pytest_pycollect_makeitem(collector=parent, name=name, obj=getattr(parent.obj, name))
        finally:
            state.cells_in_making = None
        made += [(cell, item) for item in items or () if (cell := cell_of(item)) is not None]
    order = {cell: index for index, cell in enumerate(cells)}
    return [item for _, item in sorted(made, key=lambda pair: order[pair[0]])]


def _first_repeat(cell: Cell) -> str:
    return replace(cell, repeat=0).id
