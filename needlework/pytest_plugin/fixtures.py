"""The fixtures of a test: settings, cell, haystack, model, generate, assert_scored."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from needlework.core.errors import InputError
from needlework.core.grid import Cell
from needlework.core.prompts import Prompt
from needlework.core.settings import Settings
from needlework.models.model import Model
from needlework.pipeline.exchange import Exchange
from needlework.pytest_plugin.run_state import run_state
from needlework.pytest_plugin.workers import cell_of, tests_of_worker, upcoming
from needlework.scoring.scores import Score

if TYPE_CHECKING:
    from needlework.scoring.recording import ScorerLike


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
