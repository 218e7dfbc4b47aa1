"""The progress line."""

import os
import sys
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from typing import Any

import pytest

from needlework.core.grid import parse_id
from needlework.core.record import Record
from needlework.pytest_plugin.reports import payload_of
from needlework.results.style import clock

PROGRESS = "needlework-progress"
_SAVE, _RESTORE, _CLEAR = "\x1b7", "\x1b8", "\x1b[K"  # the cursor; the rest of its line
_QUIET_S = 2.0  # a run that is over by then needs no line
_NARROWEST = 24  # columns


class ProgressLine:
    """Shows from a thread how many cells are done: one line that is overwritten, or lines of a log."""

    def __init__(self, writer: Any, output: int, *, live: bool, adaptive: bool) -> None:
        """`writer`: pytest's, which knows the cursor's column; `output`: a file descriptor of our own.

        `live`: whether lines can be replaced, on a terminal. `adaptive`: of the collected cells none runs, but those
        that `further` names.
        """
        self._writer, self._output, self._live, self._adaptive = writer, output, live, adaptive
        self._pace = Pace()
        self._begun_s = 0.0
        self._is_shown = False
        self._stop = threading.Event()
        self._writing = threading.Lock()
        self._thread: threading.Thread | None = None

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        """Begin with the cells of the first worker to have collected: all have the same."""
        self._begin(ids)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        if not session.config.option.collectonly:
            self._begin([item.nodeid for item in session.items])

    def _begin(self, ids: list[str]) -> None:
        lengths = [cell.length for cell in map(parse_id, ids) if cell is not None]
        if self._thread is not None or not lengths:
            return
        if not self._adaptive:
            self._pace.expect(lengths)
        self._begun_s = time.monotonic()
        self._thread = threading.Thread(target=self._show_often, name="needlework-progress", daemon=True)
        self._thread.start()

    def further(self, lengths: Sequence[int]) -> None:
        """Add trials of these lengths, in tokens, to those that are to come."""
        self._pace.expect(lengths)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Generator[None]:
        payload = payload_of(report)
        with self._writing:  # nothing is shown while pytest writes
            if payload is not None and payload.record is not None:
                self._pace.add(payload.record)
            self._clear()
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_logstart(self) -> Generator[None]:
        with self._writing:
            self._clear()
            return (yield)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        self._clear()
        os.close(self._output)

    def _show_often(self) -> None:
        every_s = 0.5 if self._live else 30.0
        pause_s = max(_QUIET_S, every_s)
        while not self._stop.wait(pause_s):
            pause_s = every_s
            with self._writing:
                if self._pace.cells_done < self._pace.cells:
                    self._show(self._pace.line(time.monotonic() - self._begun_s))

    def _show(self, line: str) -> None:
        column = self._writer.width_of_current_line
        if not self._live:
            plain = line.replace(" · ", " | ")  # a log may be of any encoding
            self._write(f"{chr(10) if column else ''}{plain}\n")
        elif (columns := self._writer.fullwidth - column - 2) >= _NARROWEST:
            self._write(f"{_SAVE} {line[:columns]}{_CLEAR}{_RESTORE}")
            self._is_shown = True

    def _clear(self) -> None:
        if self._is_shown:
            self._write(_CLEAR)
            self._is_shown = False

    def _write(self, text: str) -> None:
        with suppress(OSError):
            os.write(self._output, text.encode())


def progress_of(config: pytest.Config, *, adaptive: bool) -> ProgressLine | None:
    """The progress line of a run; `None` with `-q`. `adaptive`: as for `ProgressLine`."""
    reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
    is_shown = isinstance(reporter, pytest.TerminalReporter) and config.option.verbose >= 0
    output = output_of(config) if is_shown else None
    if output is None:
        return None
    live = bool(reporter.hasmarkup and reporter.isatty)
    writer = reporter._tw  # noqa: SLF001 - the only object that knows the cursor's column
    return ProgressLine(writer, output, live=live, adaptive=adaptive)


@dataclass(slots=True)
class Pace:
    """The number of cells done, and their rate."""

    cells: int = 0
    tokens: int = 0  # of the cells' lengths
    cells_done: int = 0
    tokens_done: int = 0
    prompt_tokens: int = 0  # sent to models
    shared: int = 0  # of these, not computed again

    def expect(self, lengths: Sequence[int]) -> None:
        """Cells of these lengths, in tokens, are to come."""
        self.cells += len(lengths)
        self.tokens += sum(lengths)

    def add(self, record: Record) -> None:
        """Count a cell that is done. On one of the journal no time is spent."""
        self.cells_done += 1
        if record.timing.replayed:
            self.tokens -= record.length
            return
        self.tokens_done += record.length
        self.prompt_tokens += record.prompt.tokens
        self.shared += record.timing.cached_tokens or 0

    def line(self, seconds: float) -> str:
        """`42/121 cells · 1,240 tok/s · 47 % shared · 1:32 left`; `seconds` have passed."""
        parts = [f"{self.cells_done}/{self.cells} cells"]
        if self.prompt_tokens and seconds > 0:
            parts.append(f"{self.prompt_tokens / seconds:,.0f} tok/s")
            if self.shared:
                parts.append(f"{100 * self.shared / self.prompt_tokens:.0f} % shared")
        if self.tokens_done and self.tokens > self.tokens_done:
            parts.append(f"{clock(seconds * (self.tokens / self.tokens_done - 1))} left")
        elif self.cells_done < self.cells:
            parts.append(f"{clock(seconds)} so far")
        return " · ".join(parts)


def output_of(config: pytest.Config, *, errors: bool = False) -> int | None:
    """A duplicate of the descriptor of standard output (or `errors`); `None` if missing, as in a notebook."""
    capture: Any = config.pluginmanager.get_plugin("capturemanager")
    with capture.global_and_fixture_disabled() if capture is not None else nullcontext():
        stream = sys.__stderr__ if errors else sys.__stdout__
        try:
            return os.dup(stream.fileno()) if stream is not None else None
        except (OSError, ValueError):
            return None
