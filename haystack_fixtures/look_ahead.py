"""Keep requests in flight while pytest runs one test at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class LookAhead(Generic[Key, Value]):
    """Answers asked for in a known order, worked out ahead of time.

    At most `width` are being worked on at once, and at most four times as many are started or done and not yet read,
    so that memory stays bounded however many there are. `work` runs in threads and must not raise.
    """

    def __init__(self, order: Sequence[Key], work: Callable[[Key], Value], width: int) -> None:
        self._order = list(order)
        self._work = work
        self._next = 0
        self._unread = 4 * width
        self._futures: dict[Key, Future[Value]] = {}
        self._pool = ThreadPoolExecutor(max_workers=width, thread_name_prefix="needlework")

    def take(self, key: Key) -> Value:
        """The answer for `key`; waits for it. Keys that were not in the order are worked on at once."""
        self._fill()
        future = self._futures.get(key) or self._pool.submit(self._work, key)
        value = future.result()
        self._futures.pop(key, None)
        self._fill()
        return value

    def _fill(self) -> None:
        while len(self._futures) < self._unread and self._next < len(self._order):
            key = self._order[self._next]
            self._next += 1
            self._futures[key] = self._pool.submit(self._work, key)

    def close(self) -> None:
        """Drop what has not begun; what is in flight ends by its own time limit."""
        self._pool.shutdown(wait=False, cancel_futures=True)
