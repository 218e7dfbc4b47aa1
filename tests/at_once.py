"""How many threads do something at the same time."""

from __future__ import annotations

import threading
import time


class AtOnce:
    """Counts who works; `most`: the highest number that did so at the same time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._now = 0
        self.most = 0

    def work(self, seconds: float) -> None:
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
        time.sleep(seconds)
        with self._lock:
            self._now -= 1
