"""A status that is overwritten on a terminal and repeated in a log."""

from __future__ import annotations

import time
from shutil import get_terminal_size
from typing import TextIO

_LOG_INTERVAL_S = 30.0


class StatusLine:
    """Prints messages and a status to `out`: one overwritten line on a terminal, a line each 30 s in a log."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._is_terminal = out.isatty()
        self._last_status = ""
        self._printed_at = float("-inf")

    def message(self, text: str) -> None:
        """Print a line of its own; an empty text prints nothing."""
        if text:
            self._write(f"\r\x1b[K{text}\n" if self._is_terminal else f"{text}\n")

    def update(self, status: str) -> None:
        """Show the current status; a log gets it only if it has changed."""
        if self._is_terminal:
            self._write(f"\r\x1b[K{status[: get_terminal_size().columns - 1]}")
        elif time.monotonic() - self._printed_at >= _LOG_INTERVAL_S:
            if status != self._last_status:
                self._write(f"{status}\n")
            self._last_status, self._printed_at = status, time.monotonic()

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()
