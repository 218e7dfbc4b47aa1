"""Cells as parameters, in order."""

from __future__ import annotations

import gc
from collections.abc import Generator, Sequence
from typing import Any

import pytest

from needlework.core.errors import InputError
from needlework.core.grid import Cell, left_out
from needlework.haystack_fixtures.tasks.catalogue import deepest_first, longest_first, tasks_marked
from needlework.models.specs import runs_here
from needlework.pytest_plugin.asking.state import (
    MISFITS,
    THRESHOLDS,
    engine_of,
    grid_of,
    queue_of,
    settings_of,
    tasks_of,
)
from needlework.pytest_plugin.workers import distribution, worker_devices
from needlework.pytest_plugin.workers.distribution import cells_to_come
from needlework.pytest_plugin.workers.top_up import FURTHER, cell_of

_WRONG = pytest.StashKey[str]()
_LOOKS_AFTER = 50_000  # new objects: 800 cells' worth
_OF_A_CELL = {"cell", "haystack", "model"}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    marker = metafunc.definition.get_closest_marker("cells")
    if marker is None or not _OF_A_CELL & set(metafunc.fixturenames):
        return
    if "cell" not in metafunc.fixturenames:
        metafunc.fixturenames.append("cell")
    name = marker.args[0] if marker.args else marker.kwargs.get("task")
    try:
        tasks = {task.name: task for task in tasks_marked(str(name), tasks_of(metafunc.config))}
        cells = [cell for series in grid_of(metafunc.config) if series.suite.task in tasks for cell in series.cells]
    except InputError as error:
        metafunc.config.stash[_WRONG] = str(error)
        raise pytest.Collector.CollectError(str(error)) from None
    further = metafunc.config.stash.get(FURTHER, None)
    found = in_order(metafunc.config, cells) if further is None else [cell for cell in further if cell.task in tasks]
    marks = {name: [getattr(pytest.mark, word) for word in (name, task.family) if word] for name, task in tasks.items()}
    metafunc.parametrize("cell", [pytest.param(cell, id=cell.id, marks=marks[cell.task]) for cell in found])


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makeitem() -> Generator[None, Any, Any]:
    """Leave out the tests of tasks that the preset does not run; pytest would show each as skipped."""
    made = yield
    if not isinstance(made, list):
        return made
    kept = [
        item
        for item in made
        if not isinstance(item, pytest.Item) or item.get_closest_marker("cells") is None or cell_of(item) is not None
    ]
    _locate([item for item in kept if cell_of(item) is not None])
    return kept


def _locate(tests: list[pytest.Item]) -> None:
    """Tell the tests of one function where it stands, as pytest finds out for each of them anew."""
    if tests:
        path, line, name = tests[0].location
        function = name.removesuffix(tests[0].name)
        for test in tests[1:]:
            vars(test)["location"] = path, line, f"{function}{test.name}"


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Items are many and live to the end: the garbage collector need not walk over them while they are made, nor later
    (10,000 cells: 1.5 s of CPU in place of 2.2 s).
    """
    _check_grid(session.config)
    gc.unfreeze()  # what an earlier session of this process left
    enabled = gc.isenabled()
    gc.disable()
    try:
        done = yield
        if _WRONG in session.config.stash and not distribution.is_worker(session.config):
            raise pytest.UsageError(session.config.stash[_WRONG])
        return done
    finally:
        gc.freeze()
        if enabled:
            gc.enable()


def _check_grid(config: pytest.Config) -> None:
    """Refuse a wrong grid once, and not again for every file of cells."""
    if distribution.is_worker(config) or not cells_to_come(config):
        return
    try:
        grid_of(config)
    except InputError as error:
        raise pytest.UsageError(str(error)) from None


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(session: pytest.Session, items: list[pytest.Item]) -> Generator[None]:
    """Leave out what is too short for its task, of what `-k` and `-m` have left; a shard is a part of the rest."""
    yield
    config, cells = session.config, {item: cell for item in items if (cell := cell_of(item)) is not None}
    if not cells or config.option.collectonly:
        return
    try:
        worker_devices.check_devices(config, settings_of(config))
        misfits = engine_of(config).prepare(list(cells.values()))
    except InputError as error:
        items.clear()  # pytest finishes collecting all the same: nothing may begin with what is refused
        distribution.refuse(session, error)
    short = {(each.of, each.length) for each in misfits}
    left = [item for item, cell in cells.items() if (f"{cell.task} {cell.needle}", cell.length) in short]
    if left:
        items[:] = [item for item in items if item not in set(left)]
        config.hook.pytest_deselected(items=left)
    config.stash[MISFITS] = misfits


def pytest_report_collectionfinish(config: pytest.Config) -> str | None:
    misfits = config.stash.get(MISFITS, ())
    return f"needlework: {left_out(misfits)}" if misfits else None


def pytest_collection_finish(session: pytest.Session) -> None:
    cells = [cell for item in session.items if (cell := cell_of(item)) is not None]
    config = session.config
    if not cells or config.option.collectonly:
        return
    # Records and reports live to the end, like items: the garbage collector looks at them once, and not a dozen times
    # (10,000 cells: 0.1 s of CPU in place of 0.6 s).
    config.stash[THRESHOLDS] = gc.get_threshold()
    gc.set_threshold(_LOOKS_AFTER, *gc.get_threshold()[1:])
    if distribution.is_worker(config):
        return
    if settings_of(config).adaptive is None:
        queue_of(session.config).announce(cells)


def in_order(config: pytest.Config, cells: Sequence[Cell]) -> list[Cell]:
    if distribution.is_worker(config):
        return longest_first(cells)
    return (
        deepest_first(cells, tasks_of(config))
        if all(runs_here(spec) for spec in settings_of(config).model)
        else list(cells)
    )
