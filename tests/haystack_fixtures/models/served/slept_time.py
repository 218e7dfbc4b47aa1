"""A clock that only sleeping moves, for code that waits."""

from __future__ import annotations

import threading


class SleptTime:
    """Seconds since it was made, as far as somebody slept them."""

    def __init__(self) -> None:
        self.slept: list[float] = []
        self._lock = threading.Lock()

    def now(self) -> float:
        with self._lock:
            return sum(self.slept)

    def sleep(self, seconds: float) -> None:
        with self._lock:
            self.slept.append(seconds)
