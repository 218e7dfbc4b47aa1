"""The gate that all threads pass with their requests to one server."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from needlework.haystack_fixtures.models.model import ModelError
from needlework.haystack_fixtures.models.served.pace.pacing import Pace, Sign


@dataclass(frozen=True, slots=True)
class Passage:
    """A request that has been let through. `since`: when, by the gate's clock. `alone`: no other is until it leaves."""

    begun: int
    since: float
    alone: bool = False


class Turnstile:
    """Keeps requests to the `Pace` of their server, and stops them all once it is closed.

    Only an attempt holds a place: a request that waits before it tries again has left the gate.
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
        self._changed = threading.Condition()
        self._closed = threading.Event()
        self._sleep = sleep or self._closed.wait
        self._why: ModelError | None = None
        self._loners = 0  # requests that are asked alone, or wait to be

    @property
    def closed(self) -> ModelError | None:
        """Why nothing more is asked; `None` while the gate is open."""
        return self._why

    def enter(self, *, alone: bool = False) -> Passage | None:
        """Wait for a place and take it; `None` when the gate is closed. `alone`: all others wait meanwhile."""
        with self._changed:
            self._loners += alone
        while True:
            with self._changed:
                while self._why is None and (wait_s := self._wait_s(alone)) == math.inf:
                    self._changed.wait()
                if self._why is not None:
                    return None
                if wait_s == 0:
                    return Passage(self._pace.begin(), self.now(), alone)
            self._sleep(wait_s)

    def _wait_s(self, alone: bool) -> float:
        """As `Pace.wait_s`; who is asked alone waits for all that are in flight, the others wait for it."""
        if self._pace.in_flight if alone else self._loners:
            return math.inf
        return self._pace.wait_s(self.now())

    def narrow(self, most: int) -> None:
        """Let no more than so many through at once from now on."""
        with self._changed:
            self._pace.narrow(most)

    def leave(self, passage: Passage, sign: Sign, retry_after_s: float | None = None) -> bool:
        """Give the place back. Returns whether the server must be given up: it shows no sign of life any more."""
        with self._changed:
            now = self.now()
            self._pace.end(passage.begun, sign, now, retry_after_s)
            self._loners -= passage.alone
            if passage.alone or self._loners:
                self._changed.notify_all()
            else:
                self._changed.notify(max(1, self._pace.slots - self._pace.in_flight))
            return self._pace.given_up(now, now - passage.since)

    def news(self, passage: Passage) -> float | None:
        """What is to be told after an attempt has left, as `Pace.news` has it."""
        with self._changed:
            now = self.now()
            return None if self._why else self._pace.news(now, now - passage.since)

    def wait(self, seconds: float) -> None:
        """Pause one request, unless the gate is closed meanwhile."""
        if self._why is None:
            self._sleep(seconds)

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
        with self._changed:
            self._why = self._why or why
            self._closed.set()
            self._changed.notify_all()
            return self._why
