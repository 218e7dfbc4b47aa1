"""The loop in which requests wait for their answers, all of them: it carries on whichever has news."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import asyncio
    import selectors


Value = TypeVar("Value")
_FEW = 6
_ROUNDS = 4  # from an answer's last bytes to the next request's first
_AWAY_S = 0.005  # as long as Python lets one thread have the interpreter
_NAP_S = 4 * _AWAY_S  # each look of the reader's own thread takes the interpreter from the one that drives


class EventLoop:
    """An event loop that one thread at a time drives: the one that begins work and waits for it, else the reader's own.

    Who builds prompts drives it between two of them. A thread that always drove it would take the interpreter from the
    builder for each answer and lose it with each call of the system, some ten times a request. The reader's own thread
    stands in for a builder that takes longer than 5 ms, and looks every 20 ms whether one does. It is a daemon: a
    request that hangs must not keep an ended run from leaving.
    """

    def __init__(self) -> None:
        import asyncio

        self._few = _few_at_a_time()
        self._loop = asyncio.SelectorEventLoop(self._few)
        self._wait = asyncio.run_coroutine_threadsafe
        self._here = asyncio._get_running_loop  # noqa: SLF001 - meant for this, and raises nothing where there is none
        self._going: set[asyncio.Task[Any]] = set()  # the loop itself does not keep them
        self._turn = threading.Lock()  # who has it drives
        self._drivers: set[int] = set()  # threads that drive or want to, the reader's own apart
        self._driven = -_AWAY_S  # when one of them last did, in seconds
        threading.Thread(target=self._stand_in, name="needlework", daemon=True).start()

    def begin(self, work: Coroutine[Any, Any, object]) -> None:
        """Begin this, do not wait for it, and carry on what has news. It may not raise."""
        if self._here() is not None:  # a notebook's: two cannot run in one thread
            self._loop.call_soon_threadsafe(self._start, work)
            return
        with self._driving():
            self._start(work)
            self._go_round()

    def look(self) -> None:
        """Carry on what has news."""
        if self._here() is None:
            with self._driving():
                self._go_round()

    def carry_on(self, *, unless: Callable[[], bool]) -> None:
        """Wait for news and carry it on, until `pause` is called. May return earlier.

        `unless`: whether there is nothing to wait for any more; asked when nobody else drives.
        """
        if self._here() is not None:
            time.sleep(_AWAY_S)
            return
        with self._driving():
            if not unless():
                self._loop.run_forever()

    def pause(self) -> None:
        """Let who carries on return."""
        if self._here() is self._loop:
            self._loop.stop()
        else:
            self._loop.call_soon_threadsafe(self._loop.stop)

    def wait(self, work: Coroutine[Any, Any, Value]) -> Value:
        """Do this in the loop, and wait for what it returns or raises. Not from within: that would wait for ever."""
        if self._here() is self._loop:
            work.close()
            raise RuntimeError("the reader cannot wait for itself")
        return self._wait(work, self._loop).result()

    def call(self, work: Callable[[], object]) -> None:
        """Call this in the loop, soon."""
        self._loop.call_soon_threadsafe(work)

    def _start(self, work: Coroutine[Any, Any, object]) -> None:
        task = self._loop.create_task(work)
        self._going.add(task)
        task.add_done_callback(self._going.discard)

    def _go_round(self) -> None:
        self._few.instead_of_waiting = self._loop.stop
        self._few.rounds = _ROUNDS
        try:
            self._loop.run_forever()
        finally:
            self._few.instead_of_waiting = None

    @contextmanager
    def _driving(self) -> Iterator[None]:
        me = threading.get_ident()
        try:
            self._drivers.add(me)
            if self._turn.locked():
                self.pause()
            with self._turn:
                yield
        finally:
            self._driven = time.monotonic()
            self._drivers.discard(me)

    def _stand_in(self) -> None:
        while True:
            with self._turn:
                away = not self._drivers and time.monotonic() - self._driven >= _AWAY_S
                if away:
                    self._loop.run_forever()
            time.sleep(_AWAY_S if away else _NAP_S)


def _few_at_a_time() -> Any:
    """Says of a few connections at a time that they have news. Of a burst of answers all would be read before the first
    place is used again; the server would then answer all of them in a burst again, and be idle between.

    Calls `instead_of_waiting`, where that is given, when there are no news, and after `rounds` in any case.
    """
    import selectors

    class Few(selectors.DefaultSelector):
        instead_of_waiting: Callable[[], object] | None = None
        rounds = 0

        def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
            leave = self.instead_of_waiting
            if leave is None:
                return super().select(timeout)[:_FEW]
            found = super().select(0)[:_FEW]
            self.rounds -= 1
            if self.rounds == 0 or (timeout != 0 and not found):  # 0: the loop has something else to do
                leave()
            return found

    return Few()


@cache
def _only() -> EventLoop:
    return EventLoop()


_asking = threading.Lock()  # of two threads that ask first at the same moment, `cache` would give each its own


def reader() -> EventLoop:
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
