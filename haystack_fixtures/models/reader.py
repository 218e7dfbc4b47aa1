"""The thread in which requests wait for their answers, all of them: it carries on whichever has news."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Coroutine
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import asyncio  # takes 20 ms to load, and most models answer in the thread that asks
    import selectors

Value = TypeVar("Value")
_FEW = 6


class Reader:
    """A thread with an event loop. A daemon: a request that hangs must not keep an ended run from leaving.

    One thread and not one for each request: those took turns at the interpreter, and each turn cost as much as reading
    an answer.
    """

    def __init__(self) -> None:
        import asyncio

        self._loop = asyncio.SelectorEventLoop(_few_at_a_time())
        self._wait = asyncio.run_coroutine_threadsafe
        self._going: set[asyncio.Task[Any]] = set()  # the loop itself does not keep them
        self._begun: deque[Coroutine[Any, Any, object]] = deque()
        self._is_woken = False
        self._thread = threading.Thread(target=self._loop.run_forever, name="needlework", daemon=True)
        self._thread.start()

    def begin(self, work: Coroutine[Any, Any, object]) -> None:
        """Do this there, and do not wait for it. It may not raise."""
        self._begun.append(work)
        if not self._is_woken:  # to wake it costs a call of the system, and often a turn
            self._is_woken = True
            self._loop.call_soon_threadsafe(self._start)

    def _start(self) -> None:
        self._is_woken = False  # before the last look: what is begun behind it wakes again
        while self._begun:
            task = self._loop.create_task(self._begun.popleft())
            self._going.add(task)
            task.add_done_callback(self._going.discard)

    def wait(self, work: Coroutine[Any, Any, Value]) -> Value:
        """Do this there, and wait for what it returns or raises. Not for that thread itself: it would wait for ever."""
        if threading.current_thread() is self._thread:
            work.close()
            raise RuntimeError("the reader cannot wait for itself")
        return self._wait(work, self._loop).result()

    def call(self, work: Callable[[], object]) -> None:
        """Call this there, soon."""
        self._loop.call_soon_threadsafe(work)


def _few_at_a_time() -> selectors.BaseSelector:
    """Says of a few connections at a time that they have news. Of a burst of answers all would be read before the first
    place is used again; the server would then answer all of them in a burst again, and be idle between.
    """
    import selectors

    class Few(selectors.DefaultSelector):
        def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
            return super().select(timeout)[:_FEW]

    return Few()


@cache
def _only() -> Reader:
    return Reader()


_asking = threading.Lock()  # of two threads that ask first at the same moment, `cache` would give each its own


def reader() -> Reader:
    """This process's reader: servers are many, and the time in which one can be read is one."""
    with _asking:
        return _only()


def _forget() -> None:
    _only.cache_clear()
    _asking.release()


if hasattr(os, "register_at_fork"):  # a child has none of its parent's threads
    os.register_at_fork(before=_asking.acquire, after_in_parent=_asking.release, after_in_child=_forget)


async def in_thread(work: Callable[[], Value]) -> Value:
    """Do what blocks in a thread of its own, and wait for it here. A daemon, for the reader's reason."""
    import asyncio

    loop = asyncio.get_running_loop()
    done: asyncio.Future[Value] = loop.create_future()

    def settle(value: Value | None, error: BaseException | None) -> None:
        if done.cancelled():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(value)  # type: ignore[arg-type]  # there is one where there is no error

    def run() -> None:
        try:
            value, error = work(), None
        except BaseException as raised:  # noqa: BLE001 - raised again by who waits
            value, error = None, raised
        loop.call_soon_threadsafe(settle, value, error)

    threading.Thread(target=run, name="needlework-blocking", daemon=True).start()
    return await done
