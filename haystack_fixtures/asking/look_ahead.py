"""Keep requests in flight while pytest runs one test at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from functools import partial
from queue import SimpleQueue
from typing import Generic, NoReturn, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")

_BEGUN = 4  # that wait for a thread: prompts may be of megabytes


class LookAhead(Generic[Key, Value]):
    """Answers asked for in a known order, worked out ahead of time.

    `begin` makes ready what is asked for a key and returns the rest of the work. One thread begins all keys in their
    order, and is a few ahead: what needs the processor and no server is not spread over threads, which would only wait
    for each other. The rest runs in threads of its own. Neither may raise.

    At most `width` keys are being worked on at once, and `spare` more where the work itself sees to that: it may have
    some wait. At most four times `width` are started or done and not yet read, so that memory stays bounded however
    many there are. Keys that are not `wanted` when their turn comes are left out.
    """

    def __init__(
        self,
        order: Sequence[Key],
        begin: Callable[[Key], Callable[[], Value]],
        width: int,
        wanted: Callable[[Key], bool] = lambda _key: True,
        *,
        spare: int = 0,
    ) -> None:
        self._order = list(order)
        self._begin_one = begin
        self._wanted = wanted
        self._next = 0
        self._unread = 4 * width
        self._threads = self._threads_left = width + spare
        self._futures: dict[Key, Future[Value]] = {}
        self._early: set[Key] = set()
        self._queue: SimpleQueue[tuple[Key, Future[Value]] | None] = SimpleQueue()
        self._begun: SimpleQueue[tuple[Callable[[], Value], Future[Value]] | None] = SimpleQueue()
        self._room = threading.Semaphore(_BEGUN)

    def extend(self, keys: Iterable[Key]) -> None:
        """Announce further keys, after those that are in the order already."""
        self._order.extend(keys)

    def take(self, key: Key) -> Value:
        """The answer for `key`; waits for it. Keys that were not in the order are worked on here and now."""
        self._fill()
        future = self._futures.get(key)
        if future is None:
            self._early.add(key)
            return self._begin_one(key)()
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
            if self._threads_left == self._threads:
                self._start(self._begin_all)
            self._threads_left -= 1
            self._start(self._run)

    def _start(self, target: Callable[[], None]) -> None:
        # Daemons: a request that hangs must not keep an ended run from leaving.
        threading.Thread(target=target, name="needlework", daemon=True).start()

    def _begin_all(self) -> None:
        while (job := self._queue.get()) is not None:
            key, future = job
            if not future.cancelled():
                self._room.acquire()
                try:
                    rest = self._begin_one(key)
                except BaseException as error:  # noqa: BLE001 - raised again where the answer is taken
                    rest = partial(_raise, error)
                self._begun.put((rest, future))
                del rest
            del job, future
        self._begun.put(None)

    def _run(self) -> None:
        while (job := self._begun.get()) is not None:
            self._room.release()
            rest, future = job
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(rest())
                except BaseException as error:  # noqa: BLE001 - raised again where the answer is taken
                    future.set_exception(error)
            del job, rest, future
        self._begun.put(None)  # for the next thread

    def close(self) -> None:
        """Drop what has not begun; what is in flight ends by itself, or with the process."""
        for future in self._futures.values():
            future.cancel()
        self._queue.put(None)


def _raise(error: BaseException) -> NoReturn:
    raise error
