"""How many threads do something at the same time."""

import threading
import time


class AtOnce:
    """Counts who works; `most`: the highest number that did so at the same time."""

    def __init__(self):
        self._lock = threading.Lock()
        self._now = 0
        self.most = 0

    def work(self, seconds):
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
        time.sleep(seconds)
        with self._lock:
            self._now -= 1
