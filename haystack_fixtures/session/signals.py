"""Signals that ask a run or a command to end, as Slurm, Docker, terminals and people send them."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_NAMES = ("SIGTERM", "SIGHUP")
_AGAIN_S = 5.0  # a Ctrl-C so soon after the first is the same wish


class EndSignals:
    """While `start`ed, SIGTERM and SIGHUP raise `KeyboardInterrupt` as Ctrl-C does; a second one is ignored.

    A second Ctrl-C is ignored for five seconds: it would end what the first one asks for, a report half written.

    In a worker SIGTERM and SIGHUP end nothing (`heeded=False`): its controller does, when it has its answers. It is
    then told `end`.

    Only a signal that would otherwise kill the process is taken over: not one that is ignored (`nohup`), or that
    somebody else handles.
    """

    def __init__(self, *, heeded: bool = True) -> None:
        self._heeded = heeded
        self._before: dict[signal.Signals, Any] = {}
        self._ends: float | None = None  # since when, in seconds

    def start(self) -> None:
        """Take them over. Other threads cannot."""
        if threading.current_thread() is not threading.main_thread():
            return
        for name in _NAMES:
            number = getattr(signal, name, None)  # Windows has no SIGHUP
            if number is not None and signal.getsignal(number) is signal.SIG_DFL:
                self._before[number] = signal.signal(number, self._end)
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._before[signal.SIGINT] = signal.signal(signal.SIGINT, self._interrupt)

    def ignore(self) -> None:
        """From now on do nothing at them: the session ends already."""
        self._ends = time.monotonic()
        for number in self._before:
            if number != signal.SIGINT:
                signal.signal(number, signal.SIG_IGN)

    def end(self) -> None:
        """End the session now, from any thread; nothing after `ignore`."""
        self._heeded = True
        if signal.SIGTERM in self._before and sys.platform != "win32":  # there it would end the process itself
            os.kill(os.getpid(), signal.SIGTERM)

    def stop(self) -> None:
        """Give the signals back."""
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()

    def _interrupt(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        if self._ends is None or time.monotonic() - self._ends > _AGAIN_S:
            self.ignore()
            raise KeyboardInterrupt

    def _end(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        if not self._heeded:
            return
        self.ignore()
        raise KeyboardInterrupt(signal.Signals(number).name)


@contextmanager
def ending_signals() -> Iterator[None]:
    """While this lasts, they raise `KeyboardInterrupt`, once."""
    signals = EndSignals()
    signals.start()
    try:
        yield
    finally:
        signals.stop()
