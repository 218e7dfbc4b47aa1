"""The event loop of this process: one thread in which all requests wait for their answers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import asyncio
    from concurrent.futures import Future


Value = TypeVar("Value")


class EventLoop:
    """An asyncio event loop in a daemon thread: a request that hangs must not keep a run alive."""

    def __init__(self) -> None:
        import asyncio

        self._loop = asyncio.SelectorEventLoop()
        # The loop's pool of threads would be waited for at exit; a name server that is silent hangs for minutes.
        self._loop.getaddrinfo = _getaddrinfo  # type: ignore[method-assign]
        self._loop.set_exception_handler(_report)
        self._run = asyncio.run_coroutine_threadsafe
        self._pending: set[Future[Any]] = set()  # the loop itself holds no reference to them
        self._thread = threading.Thread(target=self._loop.run_forever, name="needlework-requests", daemon=True)
        self._thread.start()

    def submit(self, work: Coroutine[Any, Any, Value]) -> Future[Value]:
        """Run this in the loop, and do not wait for its result."""
        future = self._run(work, self._loop)
        self._pending.add(future)
        future.add_done_callback(self._pending.discard)
        return future

    def wait(self, work: Coroutine[Any, Any, Value]) -> Value:
        """Run this in the loop, and wait for its result. Not from within: that would wait for ever."""
        if threading.current_thread() is self._thread:
            work.close()
            raise RuntimeError("the event loop cannot wait for itself")
        return self.submit(work).result()

    def call(self, work: Callable[[], object]) -> None:
        """Call this in the loop, soon."""
        self._loop.call_soon_threadsafe(work)


_creating = threading.Lock()
_created: list[EventLoop] = []


def event_loop() -> EventLoop:
    """This process's event loop, made on the first call."""
    with _creating:
        if not _created:
            _created.append(EventLoop())
        return _created[0]


async def in_thread(work: Callable[[], Value]) -> Value:
    """Do what blocks in a daemon thread, and wait for it here."""
    import asyncio
    from concurrent.futures import Future

    future: Future[Value] = Future()
    future.set_running_or_notify_cancel()  # it cannot be cancelled any more

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - raised again by who waits
            future.set_exception(error)

    threading.Thread(target=run, name="needlework-blocking", daemon=True).start()
    return await asyncio.wrap_future(future)


def _report(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Report as the loop does by default, but for aiohttp's note on a session left open at exit."""
    if not str(context.get("message")).startswith("Unclosed "):
        loop.default_exception_handler(context)


async def _getaddrinfo(*arguments: Any, **options: Any) -> Any:
    import socket

    return await in_thread(partial(socket.getaddrinfo, *arguments, **options))
