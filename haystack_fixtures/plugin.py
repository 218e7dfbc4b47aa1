"""The pytest side of asking: options, cells as parameters, fixtures. Importing it imports no model library."""

from __future__ import annotations

import gc
from argparse import ArgumentError
from collections.abc import Callable, Generator, Sequence
from typing import Any

import pytest

from needlework.haystack_fixtures import hookspecs
from needlework.haystack_fixtures.asking.engine import Engine
from needlework.haystack_fixtures.asking.plan import plan_lines
from needlework.haystack_fixtures.asking.queue import Queue
from needlework.haystack_fixtures.cache import default_cache_dir
from needlework.haystack_fixtures.configuration.options import OPTIONS
from needlework.haystack_fixtures.configuration.presets import built_in_presets, task_suite
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.haystack_fixtures.configuration.unused import unused
from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.models.model import Model
from needlework.haystack_fixtures.models.model_named import runs_here
from needlework.haystack_fixtures.prompts.prompt import Prompt
from needlework.haystack_fixtures.settings.default_text import stand_ins, with_text_at_hand
from needlework.haystack_fixtures.settings.settings import Settings
from needlework.haystack_fixtures.tasks.catalogue import (
    TASKS,
    Series,
    Tasks,
    deepest_first,
    grid,
    longest_first,
)
from needlework.haystack_fixtures.tasks.of_others import tasks_marked, with_tasks
from needlework.haystack_fixtures.trials.exchange import Exchange
from needlework.haystack_fixtures.workers import distribution, worker_devices
from needlework.haystack_fixtures.workers.cells_to_come import cells_to_come
from needlework.haystack_fixtures.workers.top_up import Further
from needlework.haystack_fixtures.workers.top_up_items import FURTHER
from needlework.haystack_fixtures.workers.top_up_items import cell_of as cell_of

SETTINGS = pytest.StashKey[Settings]()
_TASKS = pytest.StashKey[Tasks]()
_GRID = pytest.StashKey[tuple[Series, ...]]()
ENGINE = pytest.StashKey[Engine]()
QUEUE = pytest.StashKey[Queue]()
EXCHANGE = pytest.StashKey[Exchange]()
"""In the config's stash: the last exchange of the test that runs; absent until it has asked."""
_WRONG = pytest.StashKey[str]()
_STAND_INS = pytest.StashKey[list[str]]()
_OF_A_CELL = {"cell", "haystack", "model"}
_NO_CELL = '{}: needs a cell: mark the test with @pytest.mark.cells("niah"), or name another task'


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    pluginmanager.add_hookspecs(hookspecs)


def pytest_addoption(parser: pytest.Parser) -> None:
    for option in OPTIONS:
        shown = option.shown_default or option.default
        default = f" [{shown}{', or as the preset says' if option.suite else ''}]" if shown and not option.flag else ""
        group = parser.getgroup(option.group.split(":")[0] + option.group.split(":")[1].replace(" ", "-"), option.group)
        text = (option.help + default).replace("%", "%%")
        how: dict[str, Any] = {"action": "append" if option.repeatable else "store", "metavar": option.metavar}
        if option.flag:
            how = {"action": "store_const", "const": "true"}
        try:
            group.addoption(f"--{option.name}", dest=option.key, help=text, **how)
        except (ArgumentError, ValueError):
            remedy = "rename it, or leave it out with --noconftest or -p no:PLUGIN"
            raise pytest.UsageError(
                f"--{option.name}: a conftest.py or another plugin has an option of that name: {remedy}"
            ) from None
        if option.repeatable:
            parser.addini(option.key, text, type="linelist", default=None)
        else:
            parser.addini(option.key, text, type="string", default=None)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    if config.getoption("preset") == "list":
        for preset in built_in_presets().values():
            print(f"{preset.name:22} {preset.about}")
        return 0
    if config.getoption("plan"):
        distribution.use_one_process(config)  # a plan needs no more, whatever -n says
    elif distribution.workers_asked(config) and cells_to_come(config):
        worker_devices.limit_workers(config, settings_of(config))
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
        if not all(runs_here(spec) for spec in settings_of(config).model):
            # As many as a look-ahead begins before the first of them is read.
            config.stash[distribution.OVERLAPPING] = 4 * settings_of(config).concurrency
    if settings_of(config).top_up and not settings_of(config).plan:
        further = Further(lambda cells: queue_of(config).announce(cells), lambda cells: _in_order(config, cells))
        config.pluginmanager.register(further, "needlework-further")


def tasks_of(config: pytest.Config) -> Tasks:
    """The tasks that this run knows, by name: ours, installed packages', and those of `pytest_needlework_tasks`."""
    if _TASKS not in config.stash:
        given = config.hook.pytest_needlework_tasks(config=config)
        try:
            config.stash[_TASKS] = with_tasks([task for tasks in given[::-1] for task in tasks or ()])
        except InputError as error:
            raise pytest.UsageError(str(error)) from None
    return config.stash[_TASKS]


def settings_of(config: pytest.Config) -> Settings:
    """The run's settings, resolved on first use: other plugins' hooks may come before ours."""
    if SETTINGS not in config.stash:
        try:
            # Without an ini file pytest's root depends on which words of the command line are folders.
            root = config.rootpath if config.inipath else config.invocation_params.dir
            others = [task_suite(name, task.suite) for name, task in tasks_of(config).items() if name not in TASKS]
            asked = resolve_settings(_command_line(config), _ini(config), root, own=others)
            config.stash[_STAND_INS] = stand_ins(asked)
            config.stash[SETTINGS] = with_text_at_hand(asked)
        except InputError as error:
            raise pytest.UsageError(str(error)) from None
    return config.stash[SETTINGS]


def pytest_report_header(config: pytest.Config) -> list[str]:
    return [f"needlework: {line}" for line in unused(_command_line(config), settings_of(config))]


def _command_line(config: pytest.Config) -> dict[str, str | list[str]]:
    given = {option.key: config.getoption(option.key) for option in OPTIONS}
    return {key: _word(value) for key, value in given.items() if value is not None}


def _word(value: Any) -> Any:
    """argparse reads `--option=--` as an empty list."""
    return "--" if value == [] else [_word(each) for each in value] if isinstance(value, list) else value


def _ini(config: pytest.Config) -> dict[str, str | list[str]]:
    given = {option.key: config.getini(option.key) for option in OPTIONS}
    return {key: value for key, value in given.items() if value}


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
    found = _in_order(metafunc.config, cells) if further is None else [cell for cell in further if cell.task in tasks]
    marks = {name: [getattr(pytest.mark, word) for word in (name, task.family) if word] for name, task in tasks.items()}
    metafunc.parametrize("cell", [pytest.param(cell, id=cell.id, marks=marks[cell.task]) for cell in found])


def _in_order(config: pytest.Config, cells: Sequence[Cell]) -> list[Cell]:
    if distribution.is_worker(config):
        return longest_first(cells)
    return (
        deepest_first(cells, tasks_of(config))
        if all(runs_here(spec) for spec in settings_of(config).model)
        else list(cells)
    )


def grid_of(config: pytest.Config) -> tuple[Series, ...]:
    """All cells of the run by series, made on first use. Raises `InputError`."""
    if _GRID not in config.stash:
        config.stash[_GRID] = grid(settings_of(config), tasks_of(config))
    return config.stash[_GRID]


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


def pytest_sessionstart(session: pytest.Session) -> None:
    """Before workers start: find what would spoil every cell, and make once what they all need."""
    config = session.config
    if not distribution.has_workers(config) or config.option.collectonly or not cells_to_come(config):
        return
    try:
        engine_of(config).prepare([series.cells[0] for series in grid_of(config)])
    except InputError as error:
        raise pytest.UsageError(str(error)) from None


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Items are many and live to the end: the garbage collector need not walk over them while they are made, nor later
    (10,000 cells: 1.5 s of CPU in place of 2.2 s).
    """
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


def pytest_collection_finish(session: pytest.Session) -> None:
    cells = [cell for item in session.items if (cell := cell_of(item)) is not None]
    if not cells or session.config.option.collectonly:
        return
    engine = engine_of(session.config)
    try:
        worker_devices.check_devices(session.config, settings_of(session.config))
        engine.prepare(cells)
    except InputError as error:
        distribution.refuse(session, error)
    if not distribution.is_worker(session.config):
        queue_of(session.config).announce(cells)


def pytest_runtestloop(session: pytest.Session) -> bool | None:
    if not settings_of(session.config).plan or session.testsfailed:
        return None
    cells = [cell for item in session.items if (cell := cell_of(item)) is not None]
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if not isinstance(reporter, pytest.TerminalReporter):
        return None
    for line in plan_lines(engine_of(session.config), cells):
        reporter.write_line(line)
    return True


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config) -> None:
    ran = ENGINE in config.stash and exitstatus != pytest.ExitCode.USAGE_ERROR
    for line in config.stash[_STAND_INS] if ran else ():
        terminalreporter.write_line(line, yellow=True)


def engine_of(config: pytest.Config) -> Engine:
    """This process's engine, made on first use."""
    if ENGINE not in config.stash:
        config.stash[ENGINE] = Engine(
            settings_of(config),
            default_cache_dir(),
            workers=distribution.worker_count(config),
            tasks=tasks_of(config),
        )
    return config.stash[ENGINE]


def queue_of(config: pytest.Config) -> Queue:
    """This process's queue of cells, made on first use."""
    if QUEUE not in config.stash:
        config.stash[QUEUE] = Queue(
            engine_of(config),
            stored=lambda key: config.hook.pytest_cell_stored(config=config, key=key),
            keep=lambda exchange: config.hook.pytest_cell_answered(config=config, exchange=exchange),
        )
    return config.stash[QUEUE]


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    if QUEUE in config.stash:
        config.stash[QUEUE].close()
    if ENGINE in config.stash:
        config.stash[ENGINE].close()
        gc.freeze()  # pytest ends with five whole collections, half a second each after 10,000 cells


@pytest.fixture(scope="session")
def settings(pytestconfig: pytest.Config) -> Settings:
    """The run's settings, from the command line, `--config`, the ini file and the preset."""
    return settings_of(pytestconfig)


@pytest.fixture
def cell() -> Cell:
    """The cell that the test is run for: task, length, depth, needle. Needs `@pytest.mark.cells(TASK)`."""
    pytest.fail(_NO_CELL.format("cell"), pytrace=False)


@pytest.fixture
def haystack(request: pytest.FixtureRequest) -> Prompt:
    """The cell's prompt as the model will see it: text, token ids, where the needles stand, hashes. Asks no model."""
    cell = cell_of(request.node)
    if cell is None:
        pytest.fail(_NO_CELL.format("haystack"), pytrace=False)
    return engine_of(request.config).trial(cell).prompt


@pytest.fixture
def model(request: pytest.FixtureRequest) -> Model:
    """The model under test, loaded on first use: `model.respond(request)`, `model.tokenizer`, `model.window`.

    The cell's model; in a test without a cell the run's first.
    """
    engine = engine_of(request.config)
    try:
        return engine.model(cell_of(request.node) or next(iter(engine.series())).cells[0])
    except InputError as error:
        pytest.fail(str(error), pytrace=False)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    forget_exchange(item.config)


def forget_exchange(config: pytest.Config) -> None:
    """Let go of a test's exchange, which has its whole prompt."""
    if EXCHANGE in config.stash:
        del config.stash[EXCHANGE]


@pytest.fixture(scope="session")  # made once: making fixtures anew is a fifth of what pytest does for a test
def generate(request: pytest.FixtureRequest) -> Callable[[Cell], Exchange]:
    """Ask the model under test: `exchange = generate(cell)`. Never raises for a fault of model or server.

    The exchange has the answer, the reference, and the facts that the record will tell. Hand it to `assert_scored`.
    A test without cells may ask for any: `generate(Cell("niah", 4000, 50.0, "code"))`, of a task and needle of the run;
    what it does not score is not recorded.
    """
    config, session = request.config, request.session
    queue, workers_tests = queue_of(config), distribution.tests_of_worker(config)

    def ask(cell: Cell) -> Exchange:
        if workers_tests is not None:
            queue.announce(distribution.upcoming(workers_tests))
        if not engine_of(config).has(cell):
            known = ", ".join(dict.fromkeys(f"{s.cells[0].task} {s.cells[0].needle}" for s in grid_of(config)))
            pytest.fail(f"generate: {cell.id} is of no task and needle of this run: it has {known}", pytrace=False)
        exchange = queue.exchange(cell)
        config.stash[EXCHANGE] = exchange
        if exchange.response.error is not None and exchange.response.error.fatal:
            session.shouldstop = f"stopped: {exchange.response.error.message}"
        return exchange

    return ask
