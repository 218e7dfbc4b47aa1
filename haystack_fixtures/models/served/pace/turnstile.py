"""The gate that all requests pass on their way to one server."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from needlework.haystack_fixtures.models.model import ModelError
from needlework.haystack_fixtures.models.reader import in_thread, reader
from needlework.haystack_fixtures.models.served.pace.pacing import News, Pace, Sign


@dataclass(frozen=True, slots=True)
class Passage:
    """A request that has been let through. `since`: when, by the gate's clock. `alone`: no other is until it leaves."""

    begun: int
    since: float
    alone: bool = False


class Turnstile:
    """Keeps requests to the `Pace` of their server, and stops them all once it is closed.

    Only an attempt holds a place: a request that waits before it tries again has left the gate. Requests pass in the
    reader; it may be narrowed and closed from any.
    """

    def __init__(
        self,
        width: int,
        *,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] | None = None,
    ) -> None:
        """`now` and `sleep` (seconds) are for tests that do not want to wait."""
        self.now = now
        self._pace = Pace(width)
        self._turn = threading.Lock()
        self._waiting: deque[asyncio.Future[None]] = deque()  # for a place
        self._pausing: set[asyncio.Future[None]] = set()
        self._sleep = sleep
        self._why: ModelError | None = None
        self._loners = 0  # requests that are asked alone, or wait to be

    @property
    def closed(self) -> ModelError | None:
        """Why nothing more is asked; `None` while the gate is open."""
        return self._why

    async def enter(self, *, alone: bool = False) -> Passage | None:
        """Wait for a place and take it; `None` when the gate is closed. `alone`: all others wait meanwhile."""
        self._loners += alone
        while self._why is None:
            with self._turn:
                wait_s = self._wait_s(alone)
                if wait_s == 0:
                    return Passage(self._pace.begin(), self.now(), alone)
            if wait_s < math.inf:
                await self.wait(wait_s)
            else:
                change = asyncio.get_running_loop().create_future()
                self._waiting.append(change)
                await change
        return None

    def _wait_s(self, alone: bool) -> float:
        """As `Pace.wait_s`; who is asked alone waits for all that are in flight, the others wait for it."""
        if self._pace.in_flight if alone else self._loners:
            return math.inf
        return self._pace.wait_s(self.now())

    def narrow(self, most: int) -> None:
        """Let no more than so many through at once from now on."""
        with self._turn:
            self._pace.narrow(most)

    def leave(self, passage: Passage, sign: Sign, retry_after_s: float | None = None) -> bool:
        """Give the place back. Returns whether the server must be given up: it shows no sign of life any more."""
        with self._turn:
            now = self.now()
            self._pace.end(passage.begun, sign, now, retry_after_s)
            self._loners -= passage.alone
            given_up = self._pace.given_up(now, now - passage.since)
        all_of_them = passage.alone or self._loners
        self._wake(len(self._waiting) if all_of_them else max(1, self._pace.slots - self._pace.in_flight))
        return given_up

    def _wake(self, most: int) -> None:
        for _ in range(min(most, len(self._waiting))):
            _go_on(self._waiting.popleft())

    def news(self, passage: Passage) -> News | None:
        """What is to be told after an attempt has left, as `Pace.news` has it."""
        with self._turn:
            now = self.now()
            return None if self._why else self._pace.news(now, now - passage.since)

    async def wait(self, seconds: float) -> None:
        """Pause one request, unless the gate is closed meanwhile."""
        if self._why is not None:
            return
        if self._sleep is not None:
            sleep = self._sleep
            await in_thread(lambda: sleep(seconds))
            return
        loop = asyncio.get_running_loop()
        over: asyncio.Future[None] = loop.create_future()
        self._pausing.add(over)
        timer = loop.call_later(seconds, _go_on, over)
        try:
            await over
        finally:
            timer.cancel()
            self._pausing.discard(over)

    @property
    def silent(self) -> int | None:
        """How many attempts in a row the server has shown no sign of life; `None`: it never showed one."""
        return self._pace.silent if self._pace.heard else None

    @property
    def outage(self) -> bool:
        """Whether failures are the server's as a whole."""
        return self._pace.outage

    def answered_since(self, time_s: float) -> bool:
        """Whether any request has been answered since then, by the gate's clock."""
        return self._pace.answered_at >= time_s

    def close(self, why: ModelError) -> ModelError:
        """Let nothing more through, and wake all who wait. The first reason stays, and is returned."""
        with self._turn:
            self._why = self._why or why
        reader().call(self._wake_all)
        return self._why

    def _wake_all(self) -> None:
        self._wake(len(self._waiting))
        self.end_pauses()

    def end_pauses(self) -> None:
        """Let all who pause try again now: the server is back."""
        for over in tuple(self._pausing):
            _go_on(over)


def _go_on(waited_for: asyncio.Future[None]) -> None:
    """Let who waits for it go on."""
    if not waited_for.done():
        waited_for.set_result(None)
