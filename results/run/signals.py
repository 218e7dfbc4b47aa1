"""Signals that ask a run to end, as Slurm, Docker and closed terminals send them: its files are written first."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any

_NAMES = ("SIGTERM", "SIGHUP")


class EndSignals:
    """While `start`ed, SIGTERM and SIGHUP end the session as Ctrl-C does; a second one is ignored.

    Only a signal that would otherwise kill the process is taken over: not one that is ignored (`nohup`), or that
    somebody else handles.
    """

    def __init__(self) -> None:
        self._before: dict[signal.Signals, Any] = {}

    def start(self, *, ignore: bool = False) -> None:
        """`ignore`: do nothing at them; for workers, whose controller ends them when it has their answers."""
        if threading.current_thread() is not threading.main_thread():
            return
        for name in _NAMES:
            number = getattr(signal, name, None)  # Windows has no SIGHUP
            if number is not None and signal.getsignal(number) is signal.SIG_DFL:
                self._before[number] = signal.signal(number, signal.SIG_IGN if ignore else self._end)

    def ignore(self) -> None:
        """From now on do nothing at them: the session ends already."""
        for number in self._before:
            signal.signal(number, signal.SIG_IGN)

    def stop(self) -> None:
        """Give the signals back."""
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()

    def _end(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        self.ignore()
        raise KeyboardInterrupt(signal.Signals(number).name)
