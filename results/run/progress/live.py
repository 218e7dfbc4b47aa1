"""The line itself: live behind what pytest has written where somebody looks, and every half minute in a log.

A live line is gone when pytest writes on: the cursor is saved before and put back after.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from needlework.haystack_fixtures.grid.cells import parse_id
from needlework.results.records.run_folder import JOURNAL
from needlework.results.records.waiting_answers import ArrivingAnswers
from needlework.results.run.carried import carried_by
from needlework.results.run.progress.tally import Tally
from needlework.results.run.progress.terminal import output_of

PROGRESS = "needlework-progress"
_SAVE, _RESTORE, _CLEAR = "\x1b7", "\x1b8", "\x1b[K"
_QUIET_S = 2.0  # a run that is over by then needs no line
_NARROWEST = 24


def shortened(line: str, columns: int) -> str:
    """The line without its last parts, as far as it fits; empty where nothing sensible does."""
    parts = line.split(" · ")
    while parts and len(" · ".join(parts)) > columns:
        parts.pop(-2 if len(parts) > 2 else -1)
    return " · ".join(parts) if columns >= _NARROWEST else ""


class LiveLine:
    """One line on a terminal, which the next takes the place of."""

    every_s = 0.5

    def __init__(self, writer: Any, terminal: int) -> None:
        """`writer`: pytest's, which knows the cursor's column; `terminal`: a file descriptor of our own."""
        self._writer = writer
        self._terminal = terminal
        self._shown = False

    def show(self, line: str) -> None:
        told = shortened(line, self._writer.fullwidth - self._writer.width_of_current_line - 2)
        if told:
            _write(self._terminal, f"{_SAVE} {told}{_CLEAR}{_RESTORE}")
            self._shown = True

    def clear(self) -> None:
        """Four times for every test: what is not there need not be cleared."""
        if self._shown:
            _write(self._terminal, _CLEAR)
            self._shown = False

    def close(self) -> None:
        self.clear()
        os.close(self._terminal)


class LogLines:
    """A line of its own each time, in the log of a CI job or a cluster. Arguments as for `LiveLine`."""

    every_s = 30.0

    def __init__(self, writer: Any, log: int) -> None:
        self._writer = writer
        self._log = log

    def show(self, line: str) -> None:
        plain = line.replace(" · ", " | ")  # a log may be of any encoding
        _write(self._log, f"{chr(10) if self._writer.width_of_current_line else ''}{plain}\n")

    def clear(self) -> None:
        """What stands in a log stays."""

    def close(self) -> None:
        os.close(self._log)


def _write(descriptor: int, text: str) -> None:
    with suppress(OSError):
        os.write(descriptor, text.encode())


class Progress:
    """Shows the line from a thread, until the cells are done."""

    def __init__(
        self,
        display: LiveLine | LogLines,
        folder: Path,
        clock: Callable[[], float] = time.monotonic,
        *,
        all_named: bool = False,
    ) -> None:
        """`folder`: of the run, where every process writes down what it is answered. `all_named`: of the cells that are
        collected none runs, but those that `further` tells of."""
        self._all_named = all_named
        self._display = display
        self._folder = folder
        self._clock = clock
        self._tally = Tally(0, 0)
        self._begun = clock()
        self._stop = threading.Event()
        self._writing = threading.Lock()
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
        if not self._all_named:
            self.further(lengths)
        self._begun = self._clock()
        self._thread = threading.Thread(
            target=self._show_often, args=[ArrivingAnswers(self._folder)], name="needlework-progress", daemon=True
        )
        self._thread.start()

    def further(self, lengths: Sequence[int]) -> None:
        """Trials of these lengths, in tokens, are to come."""
        self._tally.cells += len(lengths)
        self._tally.tokens += sum(lengths)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Generator[None]:
        carried = carried_by(report)
        with self._writing:  # nothing is shown while pytest writes
            if carried is not None and carried.record is not None:
                self._tally.add(carried.record)
            self._display.clear()
            result = yield
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_logstart(self, nodeid: str) -> Generator[None]:
        with self._writing:
            if parse_id(nodeid) is not None:
                self._tally.begin(nodeid, self._clock() - self._begun)
            self._display.clear()
            result = yield
        return result

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        with self._writing:
            self._tally.end(nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        self._display.close()

    def _show_often(self, arriving: ArrivingAnswers) -> None:
        pause = max(_QUIET_S, self._display.every_s)
        while not self._stop.wait(pause):
            pause = self._display.every_s
            with self._writing:
                for answer in arriving.new():
                    self._tally.answered(answer)
                # Tests of somebody's own may be named as cells are: without a journal nothing is asked.
                if self._tally.cells_done < self._tally.cells and (self._folder / JOURNAL).exists():
                    self._display.show(self._tally.line(self._clock() - self._begun))


def progress_of(config: pytest.Config, folder: Path, *, all_named: bool = False) -> Progress | None:
    """What shows the progress of a run into `folder`; nothing with `-q`. `all_named`: as for `Progress`."""
    reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
    if not isinstance(reporter, pytest.TerminalReporter) or config.option.verbose < 0:
        return None
    output = output_of(config)
    if output is None:
        return None
    live = reporter.hasmarkup and reporter.isatty and sys.platform != "win32"
    writer = reporter._tw  # noqa: SLF001 - the only place that knows the cursor's column
    return Progress((LiveLine if live else LogLines)(writer, output), folder, all_named=all_named)
