"""The start of a session: preset list, markers, workers, and what all cells need."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from needlework.core.errors import InputError, printable
from needlework.haystack_fixtures.configuration.messages import notes, unused
from needlework.haystack_fixtures.configuration.presets import built_in_presets, load_preset
from needlework.haystack_fixtures.configuration.resolve import written
from needlework.models.judge import judge_for_command
from needlework.models.specs import runs_here
from needlework.pipeline.model_pool import judging_notes
from needlework.pytest_plugin.asking.collection import in_order
from needlework.pytest_plugin.asking.server import ServerOfRun
from needlework.pytest_plugin.asking.state import (
    FILLED,
    MISFITS,
    WINDOW,
    command_line,
    engine_of,
    grid_of,
    ini,
    queue_of,
    serving_of,
    settings_of,
    tasks_of,
    teller_of,
)
from needlework.pytest_plugin.workers import distribution, worker_devices
from needlework.pytest_plugin.workers.distribution import cells_to_come
from needlework.pytest_plugin.workers.top_up import Further


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    if config.getoption("preset") == "list":
        for preset in built_in_presets().values():
            print(f"{preset.name:22} {preset.about}")
        return 0
    if config.getoption("plan"):
        distribution.use_one_process(config)  # a plan needs no more, whatever -n says
    elif distribution.workers_asked(config) and cells_to_come(config):
        try:
            worker_devices.limit_workers(config, settings_of(config))
        except InputError as error:
            raise pytest.UsageError(str(error)) from None
    return None


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "cells(task): run once for each cell of this task's, or family's, grid")
    tasks = tasks_of(config).values()
    for task in tasks:
        config.addinivalue_line("markers", f"{task.name}: {task.about}")
    for family in dict.fromkeys(task.family for task in tasks if task.family):
        config.addinivalue_line("markers", f"{family}: every task of this family")
    settings_of(config)
    if config.pluginmanager.hasplugin("xdist"):
        config.pluginmanager.register(distribution, "needlework-distribution")
        config.pluginmanager.register(worker_devices, "needlework-worker-devices")
    if (serving := serving_of(config)) is not None and not distribution.is_worker(config):
        config.pluginmanager.register(ServerOfRun(config, serving), "needlework-server")
    settings = settings_of(config)
    if not all(runs_here(spec) for spec in settings.model):
        # As many as a look-ahead begins before the first of them is read.
        config.stash[distribution.OVERLAPPING] = 4 * settings.concurrency
    if (settings.top_up or settings.adaptive) and not settings.plan:
        further = Further(
            lambda cells: queue_of(config).announce(cells),
            lambda cells: in_order(config, cells),
            option="--adaptive" if settings.adaptive else "--top-up",
            all_named=settings.adaptive is not None,
        )
        config.pluginmanager.register(further, "needlework-further")


def pytest_report_header(config: pytest.Config) -> list[str]:
    settings = settings_of(config)
    judging = [] if config.option.collectonly else judging_notes(settings)
    preset = load_preset(written(command_line(config), ini(config), "preset") or "quick")
    lines = [*map(printable, preset.notes), *notes(settings), *unused(command_line(config), settings), *judging]
    if (found := config.stash.get(FILLED, None)) is not None:
        lines.append(str(found))
    return [f"needlework: {line}" for line in lines]


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    if (found := node.config.stash.get(FILLED, None)) is not None:
        node.workerinput[WINDOW] = found.tokens


def pytest_sessionstart(session: pytest.Session) -> None:
    """Before workers start: find what would spoil every cell, and make once what they all need."""
    config = session.config
    if not (distribution.is_worker(config) or config.option.collectonly or settings_of(config).plan):
        try:
            open_model = partial(judge_for_command, tell=teller_of(config))
            config.hook.pytest_needlework_questions(config=config, open_model=open_model)
        except InputError as error:
            raise pytest.UsageError(str(error)) from None
    if not distribution.has_workers(config) or config.option.collectonly or not cells_to_come(config):
        return
    try:
        config.stash[MISFITS] = engine_of(config).prepare([cell for series in grid_of(config) for cell in series.cells])
    except InputError as error:
        raise pytest.UsageError(str(error)) from None
