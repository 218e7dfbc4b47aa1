"""Tests of cells: cells as parameters, in order (`--limit` and `--shard` select some); the fixtures of a test."""

from __future__ import annotations

import gc
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from needlework.core.devices import divided, shard_named
from needlework.core.errors import InputError
from needlework.core.grid import Cell, first_trials, left_out
from needlework.core.prompts import Prompt
from needlework.core.settings import Settings, Suite
from needlework.haystack_fixtures.tasks.arms import split_label
from needlework.haystack_fixtures.tasks.catalogue import controls_of, deepest_first, longest_first, tasks_marked
from needlework.models.model import Model
from needlework.models.specs import runs_here
from needlework.pipeline.exchange import Exchange
from needlework.pipeline.preparation import prepare
from needlework.pytest_plugin.run_state import run_state
from needlework.pytest_plugin.workers import (
    cell_of,
    cells_to_come,
    is_worker,
    only_looks,
    refuse,
    tests_of_worker,
    upcoming,
    usage_errors,
)
from needlework.results.records.run_folder import write_shard_file
from needlework.results.style import relative
from needlework.scoring.scores import Score

if TYPE_CHECKING:
    from needlework.scoring.recording import ScorerLike

_CELL_FIXTURES = {"cell", "haystack", "model"}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    marker = metafunc.definition.get_closest_marker("cells")
    if marker is None or not _CELL_FIXTURES & set(metafunc.fixturenames):
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
    """Drop the tests of tasks that the preset does not run: pytest would show each as skipped."""
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
    """Refuse a wrong grid once, not in every file; raise the first error of collection."""
    state, worker = run_state(session.config), is_worker(session.config)
    if not worker and cells_to_come(session.config):
        with usage_errors():
            _ = state.grid
    done = yield
    if state.collection_error and not worker:
        raise pytest.UsageError(state.collection_error)
    gc.freeze()  # tests and cells live to the end: the garbage collector need not scan them
    return done


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, items: list[pytest.Item]) -> Generator[None]:
    """Deselect cells that are too short for their task, then those beyond `--limit` and `--shard`."""
    yield
    _deselect_too_short(session, items)
    _apply_limit(session.config, items)
    _keep_shard(session.config, items)


def _deselect(config: pytest.Config, items: list[pytest.Item], left_out: Sequence[pytest.Item]) -> None:
    if left_out:
        dropped = set(left_out)
        items[:] = [item for item in items if item not in dropped]
        config.hook.pytest_deselected(items=left_out)


def _deselect_too_short(session: pytest.Session, items: list[pytest.Item]) -> None:
    config, cells = session.config, {item: cell for item in items if (cell := cell_of(item)) is not None}
    if not cells or config.option.collectonly:
        return
    try:
        misfits = prepare(run_state(config).engine, list(cells.values()))
    except InputError as error:
        items.clear()  # pytest goes on after `refuse`: no test may run
        refuse(session, error)
    short = {(each.of, each.length) for each in misfits}
    too_short = [item for item, cell in cells.items() if (f"{cell.task} {cell.needle}", cell.length) in short]
    _deselect(config, items, too_short)
    run_state(config).misfits = misfits


def _apply_limit(config: pytest.Config, items: list[pytest.Item]) -> None:
    state = run_state(config)
    if state.settings.limit is None:
        return
    cells = {item: cell for item in items if (cell := cell_of(item)) is not None}
    if not cells:
        return
    panels: dict[tuple[Suite, str], list[tuple[Cell, ...]]] = {}
    controls: dict[Cell, tuple[object, ...]] = {}  # each with the place of its question
    for series in state.grid:
        needle, control = split_label(series.cells[0].needle, controls_of(series.task, series.suite))
        if control:  # selected with its question, and not counted
            controls |= {cell: (cell.task, cell.model, needle, cell.length, cell.repeat) for cell in series.cells}
        else:
            panels.setdefault((series.suite, series.model), []).append(series.cells)
    first: set[Cell] = set()
    for (suite, _), of_panel in panels.items():
        rows = state.tasks[suite.task].rows
        first |= first_trials(of_panel, set(cells.values()), state.settings.limit, rows=rows)
    places = {(cell.task, cell.model, cell.needle, cell.length, cell.repeat) for cell in first}
    selected = first | {cell for cell, at in controls.items() if at in places}
    _deselect(config, items, [item for item, cell in cells.items() if cell not in selected])


def _keep_shard(config: pytest.Config, items: list[pytest.Item]) -> None:
    state = run_state(config)
    if state.settings.shard is None:
        return
    cells = {item: cell_of(item) for item in items}
    names = [item.nodeid for item, cell in cells.items() if cell is not None]
    of_shard, state.division = divided(shard_named(state.settings.shard), cells, names)
    _deselect(config, items, [item for item in items if item not in of_shard])


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
    """Write the list of the shard's cells into its folder; announce the cells to the queue."""
    config, state = session.config, run_state(session.config)
    cells = {item.nodeid: cell for item in session.items if (cell := cell_of(item)) is not None}
    if not cells or only_looks(config):
        return
    if state.division is not None and not state.settings.plan:
        with suppress(OSError):  # a full disk: the journal reports it
            write_shard_file(state.folder, state.division, list(cells))
    if not is_worker(config) and state.settings.adaptive is None:
        state.queue.announce(cells.values())


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None]:
    """A shard without cells succeeds if others have some: there may be more shards than haystacks."""
    yield  # other plugins take pytest's status over
    state = run_state(session.config)
    is_shard = state.settings.shard is not None and (state.division is None or sum(state.division.counts) > 0)
    if session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and is_shard:
        session.exitstatus = pytest.ExitCode.OK


def in_order(config: pytest.Config, cells: Sequence[Cell]) -> list[Cell]:
    """Cells in the order of their requests: a local model computes shared prefixes once."""
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


_NO_CELL = '{}: needs a cell: mark the test with @pytest.mark.cells("niah"), or name another task'


@pytest.fixture(scope="session")
def settings(pytestconfig: pytest.Config) -> Settings:
    """The run's settings, from the command line, `--config`, the ini file and the preset."""
    return run_state(pytestconfig).settings


@pytest.fixture
def cell() -> Cell:
    """The cell that the test is run for: task, length, depth, needle. Needs `@pytest.mark.cells(TASK)`."""
    pytest.fail(_NO_CELL.format("cell"), pytrace=False)


@pytest.fixture
def haystack(request: pytest.FixtureRequest) -> Prompt:
    """The cell's prompt: text, token ids, positions of needles, hashes. Asks no model."""
    cell = cell_of(request.node)
    if cell is None:
        pytest.fail(_NO_CELL.format("haystack"), pytrace=False)
    return run_state(request.config).engine.trial(cell).prompt


@pytest.fixture
def model(request: pytest.FixtureRequest) -> Model:
    """The model under test, loaded on first use: `model.respond(request)`, `.tokenizer`, `.window`.

    The cell's model; in a test without a cell the run's first.
    """
    engine = run_state(request.config).engine
    try:
        return engine.model(cell_of(request.node) or next(iter(engine.series())).cells[0])
    except InputError as error:
        pytest.fail(str(error), pytrace=False)


@pytest.fixture(scope="session")
def generate(pytestconfig: pytest.Config) -> Callable[[Cell], Exchange]:
    """Ask the model under test: `exchange = generate(cell)`. Never raises for a fault of model or server.

    The exchange has the answer, the reference, and the facts that the record will tell. Hand it to `assert_scored`.
    A test without cells may ask for any: `generate(Cell("niah", 4000, 50.0, "code"))`, of a task and needle of the
    run; what it does not score is not recorded.
    """
    state, workers_tests = run_state(pytestconfig), tests_of_worker(pytestconfig)
    queue = state.queue

    def ask(cell: Cell) -> Exchange:
        if workers_tests is not None:
            queue.announce(upcoming(workers_tests))
        if not state.engine.has(cell):
            known = ", ".join(dict.fromkeys(f"{s.cells[0].task} {s.cells[0].needle}" for s in state.grid))
            pytest.fail(f"generate: {cell.id} is of no task and needle of this run: it has {known}", pytrace=False)
        state.exchange = exchange = queue.exchange(cell)
        if exchange.response.error is not None and exchange.response.error.fatal:
            session: Any = pytestconfig.pluginmanager.get_plugin("session")
            session.shouldstop = f"stopped: {exchange.response.error.message}"
        return exchange

    return ask


class AssertScored(Protocol):
    """The type of the `assert_scored` fixture."""

    def __call__(self, exchange: Exchange, scorer: ScorerLike | None = None) -> Score:
        """Score `exchange`, record the score with the running test and return it. Never raises."""


@pytest.fixture(scope="session")
def assert_scored(pytestconfig: pytest.Config) -> AssertScored:
    """Score an exchange and record it with the test: `assert_scored(exchange, scorer="match")`.

    The scorer is a name, a `Scorer` or a function `(answer, reference) -> Score | float`; without one it is the
    suite's, else `match`. The returned score compares with numbers, for tests that want to fail:
    `assert assert_scored(exchange) >= 0.9`. If there is no score, its value is NaN and no comparison holds.
    """

    state = run_state(pytestconfig)

    def record(exchange: Exchange, scorer: ScorerLike | None = None) -> Score:
        # Scorers are loaded with the first answer, and not before the first question.
        from needlework.scoring.recording import score_all

        judging = getattr(exchange, "judging", None)
        several = judging is not None and judging.at_once > 1
        state.scored = state.judging.score(exchange, scorer) if several else score_all(exchange, scorer)
        return state.scored.for_asserting

    return record


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Let go of what the test before has asked and scored: an exchange has its whole prompt."""
    state = run_state(item.config)
    state.exchange = state.scored = None


def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    """Explain a failed comparison with a score: the value, the verdict, the scorer and why."""
    score = left if isinstance(left, Score) else right if isinstance(right, Score) else None
    if score is None:
        return None
    sides = [f"{side.value:.3g} ({side.verdict})" if isinstance(side, Score) else repr(side) for side in (left, right)]
    lines = [f"score {sides[0]} {op} {sides[1]}", f"scorer: {score.scorer or 'unknown'}"]
    lines += [f"why: {score.why}"] if score.why else []
    return lines + ([f"answer: {score.answer[:200]!r}"] if score.answer else [])
