"""Modes of a run: `--plan` and `--batch-out` ask nothing, `--batch-in` reads, `--serve` serves."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from needlework.core.errors import InputError
from needlework.core.grid import Cell
from needlework.core.settings import Prices, Settings, prices_of
from needlework.haystack_fixtures.needles.needle_sets import CODES_EACH
from needlework.models.specs import parse_spec
from needlework.pytest_plugin.run_state import SERVER, RunState, run_state
from needlework.pytest_plugin.workers import cell_of, cells_for_workers, only_looks, refuse, usage_errors
from needlework.results.run.session import time_lines

if TYPE_CHECKING:
    from needlework.models.engines.serve import Serving
    from needlework.models.served.batch import AnswerFiles
    from needlework.results.adaptive.survey import Cost


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Show the plan or write requests in place of tests; with `--batch-in` deselect unanswered cells."""
    state = run_state(session.config)
    cells = {item: cell for item in session.items if (cell := cell_of(item)) is not None}
    if session.testsfailed:
        return None
    if state.settings.plan:
        if state.reporter is None:
            return None
        _show_plan(state, list(cells.values()), session.config.option.verbose)
        return True
    with usage_errors():
        if state.settings.batch_out:
            from needlework.pipeline.plan import write_requests

            unanswered = [cell for cell in cells.values() if not state.is_stored(cell)]
            session.testsfailed += write_requests(state.engine, unanswered, state.write_line)
            return True
        if state.settings.batch_in and cells and state.engine.answers is not None:
            _leave_out_unanswered(session, state.engine.answers)
    return None


def _show_plan(state: RunState, cells: Sequence[Cell], verbose: int) -> None:
    """Show requests and tokens, then time or adaptive cost, then the trials that `--power` asks for."""
    from needlework.pipeline.plan import plan_lines

    if state.window is not None:
        state.write_line(str(state.window))
    for line in plan_lines(state.engine, cells, in_full=verbose > 0):
        state.write_line(line)
    if not cells:
        return
    settings, engine = state.settings, state.engine
    windows = {cell.model: engine.describe(engine.spec(cell)).window for cell in cells}
    lengths = [cell.length for cell in cells if (window := windows[cell.model]) is None or cell.length <= window]
    for line in _adaptive_lines(state, cells) if settings.adaptive else time_lines(settings, lengths):
        state.write_line(line)
    if settings.power:
        from needlework.results.gates.gatekeeper import parse_power, power_lines

        needle_a_trial = {suite.task for suite in settings.suites if suite.needle_set == CODES_EACH}
        for line in power_lines(parse_power(settings.power), cells, needle_a_trial):
            state.write_line(line)


def _adaptive_lines(state: RunState, cells: Sequence[Cell]) -> Iterator[str]:
    from needlework.results.adaptive import survey as forecast
    from needlework.results.report.adaptive import plan_lines

    rules, chosen = forecast.rules_of(state.settings), set(cells)
    for series in state.grid:
        if chosen & set(series.cells):
            lengths, depths = forecast.axes_of(series)
            name = " · ".join(forecast.name_of(series))
            costs, most = forecast.costs(rules, lengths, len(depths)), forecast.max_cost(rules, lengths, len(depths))
            prices = prices_of(state.settings.price, series.model)
            dollars = partial(_most_dollars, prices, series.suite.answer_tokens) if prices else None
            yield from plan_lines(name, rules.mode, costs, most, dollars)


def _most_dollars(prices: Prices, answer_tokens: int, cost: Cost) -> float:
    answers = cost.trials * answer_tokens
    return prices.dollars(cost.tokens - answers, answers)


def check_batch(settings: Settings) -> None:
    """`--batch-out`, `--batch-in`: refuse what does not go with them. Raises `InputError`."""
    option = "--batch-out" if settings.batch_out else "--batch-in" if settings.batch_in else ""
    if not option:
        return
    if settings.batch_out and settings.batch_in:
        raise InputError("--batch-in", settings.batch_in[0], "first write requests, then read answers: give one option")
    for spec in settings.model:
        if parse_spec(spec).kind != "openai":
            raise InputError("--model", spec, f"a batch service is asked as openai:NAME: leave {option} out")
    compacts = any("compacted" in suite.controls for suite in settings.suites)
    for name, value, why in (
        ("--stability", settings.stability, "no batch service asks again"),
        ("--shard", settings.shard, "--batch-limits parts a batch"),
        ("--top-up", settings.top_up, "a batch is written at once"),
        ("--controls", "compacted" if compacts else "", "its second question waits for the first answer"),
    ):
        if value:
            raise InputError(name, value, f"{why}: leave it or {option} out")


def _leave_out_unanswered(session: pytest.Session, answers: AnswerFiles) -> None:
    """Cells that no line answers are left for a further batch: the run has not come to them."""
    from needlework.models.served.batch import cell_id

    state = run_state(session.config)
    unknown = answers.unknown({cell_id(cell) for series in state.grid for cell in series.cells})
    cells = [(item, cell_of(item)) for item in session.items]
    answered = [
        item for item, cell in cells if cell is None or answers.has_cell(cell_id(cell)) or state.is_stored(cell)
    ]
    left = len(session.items) - len(answered)
    if answers.spoilt:
        line = f"batch-in: {answers.spoilt:,} of {answers.lines:,} lines cannot be read (no JSON, or no custom_id)"
        state.write_line(line, yellow=True)
    if unknown:
        line = f"batch-in: {len(unknown):,} answers are to no request of this run, such as {unknown[0][:80]!r}"
        state.write_line(line, yellow=True)
    if not any(cell_of(item) is not None for item in answered):
        shown = f"none of their {answers.lines:,} lines answers a cell of this run"
        raise InputError("--batch-in", state.settings.batch_in[0], f"{shown}: is it the answer to another --batch-out?")
    if left:
        count = f"{left:,} of {len(session.items):,}"
        state.write_line(f"batch-in: {count} cells have no answer yet: --batch-out writes them")
    session.items[:] = answered


_EVERY_S = 10.0  # between lines of a server that starts
_SHOWN = 8  # last lines of a server that has ended


class ServerOfRun:
    """`--serve`, in the process that starts the server: when a cell needs it, and ended with the run.

    A run whose answers are all there starts none.
    """

    def __init__(self, config: pytest.Config, serving: Serving) -> None:
        self._config, self._serving = config, serving
        self._last_shown, self._end_shown = -_EVERY_S, False
        serving.tell = self._show

    @pytest.hookimpl(trylast=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Start the server before the workers do; after the run's folder was opened."""
        if cells_for_workers(self._config):
            self._start(session, [cell for series in run_state(self._config).grid for cell in series.cells])

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        if not only_looks(self._config):
            self._start(session, [cell for item in session.items if (cell := cell_of(item)) is not None])

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput[SERVER] = self._serving.handed_on()

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self._end_shown and self._serving.ended():
            self._show_end(terminalreporter)

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        self._serving.stop()

    def _start(self, session: pytest.Session, cells: Iterable[Cell]) -> None:
        state = run_state(self._config)
        if state.settings.plan:
            return
        try:
            self._serving.check()
            if not all(map(state.is_stored, cells)):
                begun = time.monotonic()
                self._serving.address()
                state.show_status(f"{self._serving.name} is up after {time.monotonic() - begun:.0f} s")
        except InputError as error:
            if state.reporter is not None and self._serving.ended():
                self._show_end(state.reporter)
            refuse(session, error)

    def _show(self, seconds: float, line: str) -> None:
        if seconds - self._last_shown >= _EVERY_S:
            self._last_shown = seconds
            run_state(self._config).show_status(f"{self._serving.name} starts: {seconds:.0f} s · {line}")

    def _show_end(self, reporter: pytest.TerminalReporter) -> None:
        self._end_shown = True
        reporter.ensure_newline()
        reporter.section(f"{self._serving.name}: its last lines", "-")
        for line in self._serving.last_lines(_SHOWN):
            reporter.write_line(line)
