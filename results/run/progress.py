"""A live line while cells run: how many are done, how fast, how much was shared, how long it still takes.

It stands behind what pytest has written on the current line and is gone when pytest writes on: the cursor is saved
before and put back after. On anything but a terminal there is none.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from typing import Any

import pytest

from needlework.haystack_fixtures.grid.cells import parse_id
from needlework.results.records.record import Record
from needlework.results.run.carried import carried_by

_SAVE, _RESTORE, _CLEAR = "\x1b7", "\x1b8", "\x1b[K"
_EVERY_S = 0.5
_QUIET_S = 2.0  # a run that is over by then needs no line
_NARROWEST = 24


@dataclass(slots=True)
class Tally:
    """What is known of the run so far. Tokens are prompt tokens; `shared` ones were not computed again."""

    cells: int
    tokens: int
    cells_done: int = 0
    tokens_done: int = 0
    asked: int = 0
    shared: int = 0
    replayed: int = 0

    def add(self, record: Record) -> None:
        """Count a cell that has ended."""
        timing = record["timing"]
        self.cells_done += 1
        if self.cells_done > self.cells:  # a further trial, of --top-up
            self.cells += 1
            self.tokens += record["length"]
        if timing.get("replayed"):
            self.replayed += 1
            self.tokens -= record["length"]  # no time will be spent on it
            return
        self.tokens_done += record["length"]
        self.asked += record["prompt"].get("tokens", 0)
        self.shared += timing.get("cached_tokens") or 0

    def line(self, seconds: float) -> str:
        """`42/121 cells · 1,240 tok/s · 47 % shared · 1:32 left`; `seconds` have passed."""
        parts = [f"{self.cells_done}/{self.cells} cells"]
        if self.asked and seconds > 0:
            parts.append(f"{self.asked / seconds:,.0f} tok/s")
            if self.shared:
                parts.append(f"{100 * self.shared / self.asked:.0f} % shared")
        if self.tokens_done and self.tokens > self.tokens_done:
            parts.append(f"{_clock(seconds * (self.tokens / self.tokens_done - 1))} left")
        elif self.cells_done < self.cells:
            parts.append(f"{_clock(seconds)} so far")
        return " · ".join(parts)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def shortened(line: str, columns: int) -> str:
    """The line without its last parts, as far as it fits; empty where nothing sensible does."""
    parts = line.split(" · ")
    while parts and len(" · ".join(parts)) > columns:
        parts.pop(-2 if len(parts) > 2 else -1)
    return " · ".join(parts) if columns >= _NARROWEST else ""


class Progress:
    """Draws the line every half second, from a thread, until the cells are done."""

    def __init__(
        self, reporter: pytest.TerminalReporter, terminal: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._reporter = reporter
        self._terminal = terminal
        self._clock = clock
        self._tally = Tally(0, 0)
        self._begun = clock()
        self._stop = threading.Event()
        self._drawn = threading.Lock()
        self._thread: threading.Thread | None = None

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        """Under workers: the first one to have collected tells which cells there are."""
        self._begin(ids)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        if not session.config.option.collectonly:
            self._begin([item.nodeid for item in session.items])

    def _begin(self, ids: list[str]) -> None:
        lengths = [cell.length for cell in map(parse_id, ids) if cell is not None]
        if self._thread is not None or not lengths:
            return
        self._tally = Tally(len(lengths), sum(lengths))
        self._begun = self._clock()
        self._thread = threading.Thread(target=self._draw_often, name="needlework-progress", daemon=True)
        self._thread.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Generator[None]:
        carried = carried_by(report)
        if carried is not None and carried.record is not None:
            self._tally.add(carried.record)
        with self._drawn:  # nothing is drawn while pytest writes
            self._write(_CLEAR)
            result = yield
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_logstart(self) -> Generator[None]:
        with self._drawn:
            self._write(_CLEAR)
            result = yield
        return result

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
            self._write(_CLEAR)
        os.close(self._terminal)

    def _draw_often(self) -> None:
        pause = _QUIET_S
        while not self._stop.wait(pause):
            pause = _EVERY_S
            with self._drawn:
                self._draw()

    def _draw(self) -> None:
        writer = self._reporter._tw  # noqa: SLF001 - the only place that knows the cursor's column
        free = writer.fullwidth - writer.width_of_current_line - 2
        line = shortened(self._tally.line(self._clock() - self._begun), free)
        if line:
            self._write(f"{_SAVE} {line}{_CLEAR}{_RESTORE}")

    def _write(self, text: str) -> None:
        with suppress(OSError):
            os.write(self._terminal, text.encode())


def progress_of(config: pytest.Config) -> Progress | None:
    """The live line, if there is somebody to look: a terminal that understands escapes, and no `-q`."""
    reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
    capture: Any = config.pluginmanager.get_plugin("capturemanager")
    if not isinstance(reporter, pytest.TerminalReporter) or config.option.verbose < 0:
        return None
    if not (reporter.hasmarkup and reporter.isatty) or sys.platform == "win32":
        return None
    # While a test runs, pytest has put a file in the place of standard output.
    with capture.global_and_fixture_disabled() if capture is not None else nullcontext():
        return Progress(reporter, os.dup(sys.__stdout__.fileno())) if sys.__stdout__ is not None else None
