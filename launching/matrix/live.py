"""Lines for what has happened, and one that is renewed for what is happening."""

from __future__ import annotations

import time
from shutil import get_terminal_size
from typing import TextIO

_EVERY_S = 30.0  # where the output is no terminal


class Live:
    """Prints to `out`. On a terminal the state is one line that is written over; in a log it comes every 30 seconds."""

    def __init__(self, out: TextIO) -> None:
        self._out, self._terminal = out, out.isatty()
        self._said, self._shown = "", time.monotonic()

    def tell(self, line: str) -> None:
        """Print a line of its own."""
        self._print(f"\r\x1b[K{line}\n" if self._terminal else f"{line}\n")

    def show(self, state: str) -> None:
        """Print how it stands."""
        if self._terminal:
            self._print(f"\r\x1b[K{state[: get_terminal_size().columns - 1]}")
        elif time.monotonic() - self._shown >= _EVERY_S:
            if state != self._said:
                self._print(f"{state}\n")
            self._said, self._shown = state, time.monotonic()

    def _print(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()
