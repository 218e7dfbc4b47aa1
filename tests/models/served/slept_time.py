"""A clock that only sleeping moves, for code that waits."""

import threading


class SleptTime:
    """Seconds since it was made, as far as somebody slept them."""

    def __init__(self):
        self.slept = []
        self._lock = threading.Lock()

    def now(self):
        with self._lock:
            return sum(self.slept)

    def sleep(self, seconds):
        with self._lock:
            self.slept.append(seconds)
