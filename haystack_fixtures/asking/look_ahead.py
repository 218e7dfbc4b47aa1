"""Keep requests in flight while pytest runs one test at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class LookAhead(Generic[Key, Value]):
    """Answers asked for in a known order, worked out ahead of time.

    At most `width` keys are being worked on at once, and `spare` more where the work itself sees to that: it may have
    some wait. At most four times `width` are started or done and not yet read, so that memory stays bounded however
    many there are. `work` runs in threads and must not raise. Keys that are not `wanted` when their turn comes are
    left out.
    """

    def __init__(
        self,
        order: Sequence[Key],
        work: Callable[[Key], Value],
        width: int,
        wanted: Callable[[Key], bool] = lambda _key: True,
        *,
        spare: int = 0,
    ) -> None:
        self._order = list(order)
        self._work = work
        self._wanted = wanted
        self._next = 0
        self._unread = 4 * width
        self._threads_left = width + spare
        self._futures: dict[Key, Future[Value]] = {}
        self._early: set[Key] = set()
        self._queue: SimpleQueue[tuple[Key, Future[Value]] | None] = SimpleQueue()

    def extend(self, keys: Iterable[Key]) -> None:
        """Announce further keys, after those that are in the order already."""
        self._order.extend(keys)

    def take(self, key: Key) -> Value:
        """The answer for `key`; waits for it. Keys that were not in the order are worked on here and now."""
        self._fill()
        future = self._futures.get(key)
        if future is None:
            self._early.add(key)
            return self._work(key)
        value = future.result()
        del self._futures[key]
        self._fill()
        return value

    def _fill(self) -> None:
        while len(self._futures) < self._unread and self._next < len(self._order):
            key = self._order[self._next]
            self._next += 1
            if key not in self._early and self._wanted(key):
                self._begin(key)

    def _begin(self, key: Key) -> None:
        future: Future[Value] = Future()
        self._futures[key] = future
        self._queue.put((key, future))
        if self._threads_left:
            self._threads_left -= 1
            # Daemons: a request that hangs must not keep an ended run from leaving.
            threading.Thread(target=self._run, name="needlework", daemon=True).start()

    def _run(self) -> None:
        while (job := self._queue.get()) is not None:
            key, future = job
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(self._work(key))
                except BaseException as error:  # noqa: BLE001 - raised again where the answer is taken
                    future.set_exception(error)
            del job, future
        self._queue.put(None)  # for the next thread

    def close(self) -> None:
        """Drop what has not begun; what is in flight ends by itself, or with the process."""
        for future in self._futures.values():
            future.cancel()
        self._queue.put(None)
