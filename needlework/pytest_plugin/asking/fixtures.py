"""The fixtures of a test: settings, cell, haystack, model, generate."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from needlework.core.errors import InputError
from needlework.core.grid import Cell
from needlework.core.prompts import Prompt
from needlework.core.settings import Settings
from needlework.models.event_loop import reader
from needlework.models.model import Model
from needlework.pipeline.exchange import Exchange
from needlework.pytest_plugin.asking.state import EXCHANGE, engine_of, forget_exchange, grid_of, queue_of, settings_of
from needlework.pytest_plugin.workers import distribution
from needlework.pytest_plugin.workers.top_up import cell_of

if TYPE_CHECKING:
    from concurrent.futures import Future


_NO_CELL = '{}: needs a cell: mark the test with @pytest.mark.cells("niah"), or name another task'


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
    cell = cell_of(item)
    if cell is not None and isinstance(item, pytest.Function) and item.get_closest_marker("cells") is not None:
        item.funcargs["cell"] = cell  # pytest makes two fixtures for a parameter: a fifth of what a test costs it


def pytest_configure(config: pytest.Config) -> None:
    # A session's fixture that itself takes `request` or `pytestconfig` costs pytest a tenth of a test, in every test.
    config.pluginmanager.register(_bound_to(config), "needlework-generate")


@pytest.hookimpl(optionalhook=True)
def pytest_ruling_awaited(config: pytest.Config, ruling: Future[Any]) -> None:
    """Ask the cells to come while a test waits for its judges."""
    ruling.add_done_callback(lambda _ruling: reader().pause())
    queue_of(config).go_on(unless=ruling.done)


def _bound_to(config: pytest.Config) -> ModuleType:
    @pytest.fixture(scope="session")  # made once: making fixtures anew is a fifth of what pytest does for a test
    def generate() -> Callable[[Cell], Exchange]:
        """Ask the model under test: `exchange = generate(cell)`. Never raises for a fault of model or server.

        The exchange has the answer, the reference, and the facts that the record will tell. Hand it to `assert_scored`.
        A test without cells may ask for any: `generate(Cell("niah", 4000, 50.0, "code"))`, of a task and needle of the
        run; what it does not score is not recorded.
        """
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
                session: Any = config.pluginmanager.get_plugin("session")
                session.shouldstop = f"stopped: {exchange.response.error.message}"
            return exchange

        return ask

    plugin = ModuleType("needlework-generate")  # pytest takes such fixtures from modules
    vars(plugin)["generate"] = generate
    return plugin
