"""`--serve` in a pytest session: the server is started when a cell needs it, with a live line, and ended with it."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pytest

from needlework.core.errors import InputError
from needlework.core.grid import Cell
from needlework.pytest_plugin.asking.state import SERVER, engine_of, grid_of, settings_of
from needlework.pytest_plugin.workers import distribution
from needlework.pytest_plugin.workers.distribution import cells_to_come
from needlework.pytest_plugin.workers.top_up import cell_of

if TYPE_CHECKING:
    from needlework.models.engines.serve import Serving


_EVERY_S = 30.0  # between lines where nobody looks
_SHOWN = 8  # last lines of a server that has ended


class ServerOfRun:
    """Of the process that starts the server. A run whose answers are all there starts none."""

    def __init__(self, config: pytest.Config, serving: Serving) -> None:
        self._config = config
        self._serving = serving
        self._told = 0.0
        self._told_end = False
        serving.tell = self._tell

    @pytest.hookimpl(trylast=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Under workers: they find the server running. Comes after the run's folder was opened."""
        config = self._config
        if distribution.has_workers(config) and not config.option.collectonly and cells_to_come(config):
            cells = [cell for series in grid_of(config) for cell in series.cells]
            settings = settings_of(config)
            self._start(session, cells, always=bool(settings.top_up or settings.adaptive))

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        option = self._config.option
        if option.collectonly or option.showfixtures or option.show_fixtures_per_test:
            return
        self._start(session, [cell for item in session.items if (cell := cell_of(item)) is not None])

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput[SERVER] = self._serving.handed_on()

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self._told_end and self._serving.ended():
            self._show_end(terminalreporter)

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        self._serving.stop()

    def _start(self, session: pytest.Session, cells: Iterable[Cell], *, always: bool = False) -> None:
        if settings_of(self._config).plan:
            return
        try:
            self._serving.check()
            if always or any(self._is_missing(cell) for cell in cells):
                begun = time.monotonic()
                self._serving.address()
                self._write(f"{self._serving.name} is up after {time.monotonic() - begun:.0f} s", end=True)
        except InputError as error:
            reporter = self._reporter
            if reporter is not None and self._serving.ended():
                self._show_end(reporter)
            distribution.refuse(session, error)

    def _is_missing(self, cell: Cell) -> bool:
        key = engine_of(self._config).key(cell)
        return self._config.hook.pytest_cell_stored(config=self._config, key=key) is None

    def _tell(self, seconds: float, line: str) -> None:
        """The live line; where it would only fill a log, a line every 30 s."""
        reporter = self._reporter
        live = reporter is not None and reporter.isatty
        if live or self._told == 0 or seconds - self._told >= _EVERY_S:
            self._told = seconds or 0.001
            self._write(f"{self._serving.name} starts: {seconds:.0f} s · {line}", end=not live)

    def _write(self, text: str, *, end: bool) -> None:
        reporter = self._reporter
        if reporter is None:
            return
        if reporter.isatty:
            reporter.rewrite(text[: reporter._tw.fullwidth - 1], erase=True)  # noqa: SLF001 - no other way to its width
            if end:
                reporter.write("\n")
        else:
            reporter.ensure_newline()
            reporter.write_line(text)

    def _show_end(self, reporter: pytest.TerminalReporter) -> None:
        self._told_end = True
        reporter.ensure_newline()
        reporter.section(f"{self._serving.name}: its last lines", "-")
        for line in self._serving.last_lines(_SHOWN):
            reporter.write_line(line)

    @property
    def _reporter(self) -> pytest.TerminalReporter | None:
        found = self._config.pluginmanager.get_plugin("terminalreporter")
        return found if isinstance(found, pytest.TerminalReporter) else None
