"""Cells as parameters, in order; `--limit` and `--shard` leave a part of them."""

from __future__ import annotations

import gc
from collections.abc import Generator, Sequence
from contextlib import suppress
from typing import Any

import pytest

from needlework.core.devices import divided, shard_named
from needlework.core.errors import InputError
from needlework.core.grid import Cell, first_trials, left_out
from needlework.core.settings import Suite
from needlework.haystack_fixtures.tasks.arms import split_label
from needlework.haystack_fixtures.tasks.catalogue import controls_of, deepest_first, longest_first, tasks_marked
from needlework.models.specs import runs_here
from needlework.pipeline.preparation import prepare
from needlework.pytest_plugin.run_state import run_state
from needlework.pytest_plugin.workers import cell_of, cells_to_come, is_worker, refuse
from needlework.results.records.run_folder import write_shard_file
from needlework.results.style import relative

_OF_A_CELL = {"cell", "haystack", "model"}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    marker = metafunc.definition.get_closest_marker("cells")
    if marker is None or not _OF_A_CELL & set(metafunc.fixturenames):
        return
    if "cell" not in metafunc.fixturenames:
        metafunc.fixturenames.append("cell")
    name, state = marker.args[0] if marker.args else marker.kwargs.get("task"), run_state(metafunc.config)
    try:
        tasks = {task.name: task for task in tasks_marked(str(name), state.tasks)}
        cells = [cell for series in state.grid if series.suite.task in tasks for cell in series.cells]
    except InputError as error:
        state.collection_error = str(error)
        raise pytest.Collector.CollectError(str(error)) from None
    if state.cells_in_making is None:
        cells = in_order(metafunc.config, cells)
    else:
        cells = [cell for cell in state.cells_in_making if cell.task in tasks]
    marks = {name: [getattr(pytest.mark, word) for word in (name, task.family) if word] for name, task in tasks.items()}
    metafunc.parametrize("cell", [pytest.param(cell, id=cell.id, marks=marks[cell.task]) for cell in cells])


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makeitem() -> Generator[None, Any, Any]:
    """Leave out the tests of tasks that the preset does not run; pytest would show each as skipped."""
    made = yield
    if not isinstance(made, list):
        return made
    return [
        item
        for item in made
        if not isinstance(item, pytest.Item) or item.get_closest_marker("cells") is None or cell_of(item) is not None
    ]


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Refuse a wrong grid once and not again for every file of cells, and what collecting shows to be wrong."""
    state, worker = run_state(session.config), is_worker(session.config)
    if not worker and cells_to_come(session.config):
        try:
            _ = state.grid
        except InputError as error:
            raise pytest.UsageError(str(error)) from None
    done = yield
    if state.collection_error and not worker:
        raise pytest.UsageError(state.collection_error)
    gc.freeze()  # tests and cells live to the end: the garbage collector need not look at them again and again
    return done


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, items: list[pytest.Item]) -> Generator[None]:
    """Of what `-k`, `-m` and other plugins leave: what is not too short for its task, of that `--limit`, of that a
    shard. The same in every process: each worker collects for itself.
    """
    yield
    _leave_out_too_short(session, items)
    _limit(session.config, items)
    _keep_shard(session.config, items)


def _leave_out(config: pytest.Config, items: list[pytest.Item], left: Sequence[pytest.Item]) -> None:
    if left:
        gone = set(left)
        items[:] = [item for item in items if item not in gone]
        config.hook.pytest_deselected(items=left)


def _leave_out_too_short(session: pytest.Session, items: list[pytest.Item]) -> None:
    config, cells = session.config, {item: cell for item in items if (cell := cell_of(item)) is not None}
    if not cells or config.option.collectonly:
        return
    try:
        misfits = prepare(run_state(config).engine, list(cells.values()))
    except InputError as error:
        items.clear()  # pytest finishes collecting all the same: nothing may begin with what is refused
        refuse(session, error)
    short = {(each.of, each.length) for each in misfits}
    left = [item for item, cell in cells.items() if (f"{cell.task} {cell.needle}", cell.length) in short]
    _leave_out(config, items, left)
    run_state(config).misfits = misfits


def _limit(config: pytest.Config, items: list[pytest.Item]) -> None:
    state = run_state(config)
    if state.settings.limit is None:
        return
    cells = {item: cell for item in items if (cell := cell_of(item)) is not None}
    if not cells:
        return
    panels: dict[tuple[Suite, str], list[tuple[Cell, ...]]] = {}
    twins: dict[Cell, tuple[object, ...]] = {}  # controls, each with the place of its question
    for series in state.grid:
        needle, control = split_label(series.cells[0].needle, controls_of(series.task, series.suite))
        if control:  # of a question that is counted once
            twins |= {cell: (cell.task, cell.model, needle, cell.length, cell.repeat) for cell in series.cells}
        else:
            panels.setdefault((series.suite, series.model), []).append(series.cells)
    first: set[Cell] = set()
    for (suite, _), of_panel in panels.items():
        rows = state.tasks[suite.task].rows
        first |= first_trials(of_panel, set(cells.values()), state.settings.limit, rows=rows)
    places = {(cell.task, cell.model, cell.needle, cell.length, cell.repeat) for cell in first}
    selected = first | {cell for cell, at in twins.items() if at in places}
    _leave_out(config, items, [item for item, cell in cells.items() if cell not in selected])


def _keep_shard(config: pytest.Config, items: list[pytest.Item]) -> None:
    state = run_state(config)
    if state.settings.shard is None:
        return
    cells = {item: cell_of(item) for item in items}
    names = [item.nodeid for item, cell in cells.items() if cell is not None]
    mine, state.division = divided(shard_named(state.settings.shard), cells, names)
    _leave_out(config, items, [item for item in items if item not in mine])


def pytest_report_collectionfinish(config: pytest.Config) -> list[str]:
    state, lines = run_state(config), []
    if state.misfits:
        lines.append(f"needlework: {left_out(state.misfits)}")
    if state.division is not None:
        count = state.division.counts[state.division.shard.number - 1]
        lines.append(f"needlework: shard {state.division.shard}: {count} of {sum(state.division.counts)} trials")
    return lines


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Write the shard's part of the run into its folder (under workers only these know the cells); announce cells."""
    config, option, state = session.config, session.config.option, run_state(session.config)
    cells = {item.nodeid: cell for item in session.items if (cell := cell_of(item)) is not None}
    if not cells or option.collectonly:
        return
    looks = option.showfixtures or option.show_fixtures_per_test or state.settings.plan
    if state.division is not None and not looks:
        with suppress(OSError):  # the journal tells of a full disk
            write_shard_file(state.folder, state.division, list(cells))
    if not is_worker(config) and state.settings.adaptive is None:
        state.queue.announce(cells.values())


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None]:
    """A shard without cells is done, where others have some: more shards than haystacks are no mistake."""
    state = run_state(session.config)
    is_shard = state.settings.shard is not None and (state.division is None or sum(state.division.counts) > 0)
    if session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and is_shard:
        session.exitstatus = pytest.ExitCode.OK
    yield


def in_order(config: pytest.Config, cells: Sequence[Cell]) -> list[Cell]:
    """Cells in the order in which they are asked: local models compute shared beginnings once."""
    state = run_state(config)
    if is_worker(config):
        return longest_first(cells)
    return deepest_first(cells, state.tasks) if all(map(runs_here, state.settings.model)) else list(cells)


def pytest_report_header(config: pytest.Config) -> list[str]:
    settings = run_state(config).settings
    if settings.shard is None:
        return []
    shard = shard_named(settings.shard)
    lines = [f"needlework: shard {shard}: gates and --max-errors wait for needlework merge, which sees the whole run"]
    if settings.run_name is None:
        lines.append("needlework: without --run-name each shard has a run folder of its own: give all shards the same")
    return lines


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config) -> None:
    settings = run_state(config).settings
    if settings.shard is None or settings.plan or config.option.collectonly or exitstatus not in (0, 1):
        return
    run = relative(run_state(config).folder.parent.parent)
    terminalreporter.write_line(f"shard {shard_named(settings.shard)} has ended; when all have: needlework merge {run}")
