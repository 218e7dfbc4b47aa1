"""The progress line."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from needlework.core.grid import parse_id
from needlework.core.record import Record, Timing
from needlework.pytest_plugin.reports import payload_of
from needlework.results.records.journal import ArrivingAnswers
from needlework.results.records.run_folder import JOURNAL

# A live line is gone when pytest writes on: the cursor is saved before and put back after.
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
        text = shortened(line, self._writer.fullwidth - self._writer.width_of_current_line - 2)
        if text:
            _write(self._terminal, f"{_SAVE} {text}{_CLEAR}{_RESTORE}")
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


class ProgressLine:
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
        self._tally = ArrivalCount(0, 0)
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
        payload = payload_of(report)
        with self._writing:  # nothing is shown while pytest writes
            if payload is not None and payload.record is not None:
                self._tally.add(payload.record)
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


def progress_of(config: pytest.Config, folder: Path, *, all_named: bool = False) -> ProgressLine | None:
    """What shows the progress of a run into `folder`; nothing with `-q`. `all_named`: as for `ProgressLine`."""
    reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
    if not isinstance(reporter, pytest.TerminalReporter) or config.option.verbose < 0:
        return None
    output = output_of(config)
    if output is None:
        return None
    live = reporter.hasmarkup and reporter.isatty and sys.platform != "win32"
    writer = reporter._tw  # noqa: SLF001 - the only place that knows the cursor's column
    return ProgressLine((LiveLine if live else LogLines)(writer, output), folder, all_named=all_named)


_SILENT_S = 30.0  # and three times as long as any answer has been waited for
_LONG_S = 10.0  # that one cell is waited for, and three times as long as an answer takes


@dataclass(slots=True)
class ArrivalCount:
    """Cells that have an answer, in the order in which answers come and not in that of the tests.

    `tokens`: the sum of the cells' lengths, for the time that is left. `asked`: prompt tokens that models were sent;
    `shared` ones of them were not computed again.
    """

    cells: int
    tokens: int
    cells_done: int = 0
    tokens_done: int = 0
    asked: int = 0
    shared: int = 0
    _early: dict[str, int] = field(default_factory=dict)  # prompt tokens of answers whose test is still to come, by key
    _ended: set[str] = field(default_factory=set)  # keys of the cells whose test has ended
    _known: int = 0  # cells that had an answer when `line` was last told of new ones
    _heard: float = 0.0  # when that was, seconds
    _longest: float = 0.0  # between two such times, seconds
    _running: dict[str, float] = field(default_factory=dict)  # when tests began that have not ended, seconds
    _took: float = 0.0  # all answers of this session, seconds

    def answered(self, answer: Record) -> None:
        """Count an answer that came before its test's turn. Its length is not known: its prompt is nearly as long.

        One may be read after its test has ended, when all is counted: in a log half a minute lies between two looks.
        """
        if answer.key not in self._early and answer.key not in self._ended:
            self._early[answer.key] = tokens = answer.prompt.tokens
            self._count(tokens, tokens, answer.timing)

    def add(self, record: Record) -> None:
        """Count a cell whose test has ended."""
        self._ended.add(record.key)
        early = self._early.pop(record.key, None)
        if early is not None:
            self.tokens_done += record.length - early
            return
        if self.cells_done >= self.cells:  # a further trial, of --top-up
            self.cells += 1
            self.tokens += record.length
        timing = record.timing
        if timing.replayed:
            self.cells_done += 1
            self.tokens -= record.length  # no time will be spent on it
            return
        self._count(record.length, record.prompt.tokens, timing)

    def _count(self, length: int, asked: int, timing: Timing) -> None:
        self.cells_done += 1
        self.tokens_done += length
        self.asked += asked
        self.shared += timing.cached_tokens or 0
        self._took += timing.latency_s or 0.0

    def begin(self, test: str, seconds: float) -> None:
        """A cell's test begins."""
        self._running[test] = seconds

    def end(self, test: str) -> None:
        """It has ended."""
        self._running.pop(test, None)

    def line(self, seconds: float) -> str:
        """`42/121 cells · 1,240 tok/s · 47 % shared · 1:32 left`; `seconds` have passed, more at every call."""
        parts = [f"{self.cells_done}/{self.cells} cells"]
        if silent := self._silent(seconds):
            return " · ".join([*parts, f"no answer for {_clock(silent)}"])
        if self.asked and seconds > 0:
            parts.append(f"{self.asked / seconds:,.0f} tok/s")
            if self.shared:
                parts.append(f"{100 * self.shared / self.asked:.0f} % shared")
        if waited := self._waited_for_one(seconds):
            parts.append(f"waiting {_clock(waited)} for one cell")
        if not waited or seconds - self._heard < _LONG_S:
            parts += self._left(seconds)
        return " · ".join(parts)

    def _left(self, seconds: float) -> list[str]:
        if self.tokens_done and self.tokens > self.tokens_done:
            return [f"{_clock(seconds * (self.tokens / self.tokens_done - 1))} left"]
        return [f"{_clock(seconds)} so far"] if self.cells_done < self.cells else []

    def _silent(self, seconds: float) -> float:
        """For how many seconds no answer has come, where that is unusual; else 0.

        A server that does not answer has no pace, and nobody knows how long it will be away.
        """
        waited = seconds - self._heard
        if self.cells_done > self._known:
            self._known, self._heard, self._longest = self.cells_done, seconds, max(self._longest, waited)
            return 0.0
        return waited if self._known and waited > max(_SILENT_S, 3 * self._longest) else 0.0

    def _waited_for_one(self, seconds: float) -> float:
        """For how many seconds one cell has held up others that have their answers, where that is unusual; else 0."""
        if len(self._running) != 1 or not self._early:
            return 0.0
        waited = seconds - min(self._running.values())
        return waited if waited > max(_LONG_S, 3 * self._took / self.cells_done) else 0.0


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def output_of(config: pytest.Config, *, errors: bool = False) -> int | None:
    """A descriptor of one's own of standard output (or of `errors`); `None` where there is none, in a notebook."""
    capture: Any = config.pluginmanager.get_plugin("capturemanager")
    with capture.global_and_fixture_disabled() if capture is not None else nullcontext():
        stream = sys.__stderr__ if errors else sys.__stdout__
        try:
            return os.dup(stream.fileno()) if stream is not None else None
        except (OSError, ValueError):
            return None
