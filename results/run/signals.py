"""Signals that ask a run to end, as Slurm, Docker and closed terminals send them: its files are written first."""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import FrameType
from typing import Any

_NAMES = ("SIGTERM", "SIGHUP")


class EndSignals:
    """While `start`ed, SIGTERM and SIGHUP end the session as Ctrl-C does; a second one is ignored.

    In a worker they end nothing (`heeded=False`): its controller does, when it has its answers. It is then told `end`.

    Only a signal that would otherwise kill the process is taken over: not one that is ignored (`nohup`), or that
    somebody else handles.
    """

    def __init__(self, *, heeded: bool = True) -> None:
        self._heeded = heeded
        self._before: dict[signal.Signals, Any] = {}

    def start(self) -> None:
        """Take them over. Other threads cannot."""
        if threading.current_thread() is not threading.main_thread():
            return
        for name in _NAMES:
            number = getattr(signal, name, None)  # Windows has no SIGHUP
            if number is not None and signal.getsignal(number) is signal.SIG_DFL:
                self._before[number] = signal.signal(number, self._end)

    def ignore(self) -> None:
        """From now on do nothing at them: the session ends already."""
        for number in self._before:
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

    def _end(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        if not self._heeded:
            return
        self.ignore()
        raise KeyboardInterrupt(signal.Signals(number).name)
