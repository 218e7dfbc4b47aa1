"""Rate limiter of a server: adaptive concurrency (AIMD), slots, changes of state."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from needlework.models.event_loop import event_loop, in_thread
from needlework.models.model import ModelError

# The limit follows the server as TCP's window follows a network (additive increase, multiplicative decrease), with the
# decrease in proportion to the share of requests that the server had to turn away, as in DCTCP (Alizadeh et al.,
# SIGCOMM 2010): a server that refuses all is asked half as much in the next round, one that refuses 2 % hardly less.
Sign = Literal["answered", "broken", "busy", "crowded", "late", "slow", "down", "gone"]
"""What one attempt says about the server.

`answered`: it works, whatever it thinks of the request. `broken`: it answered, wrongly. `busy`: it refuses for now.
`crowded`: it has no room for this request beside the others that it works on.
`late`: its answer had begun and was not over in time. `slow`: nothing came in time. `down`: a gateway says that there
is nobody behind it. `gone`: nobody took the request.
"""

ROW = 10  # attempts in a row without a sign of life, of all requests together: now it is the server, not a request
TOLD, TOLD_S = 3, 1.0  # attempts in a row, for so long: who waits is told. A storm of faults has answers in between
REFUSES_S = 5.0  # the same of a server that refuses: most are ready again before
REFUSED_S = 600.0  # for which a request is refused before it is given up
UNANSWERED_S = 120.0  # the same, where nothing was ever answered and the server does not say how long it takes
PATIENCE_S = 120.0  # for a server that has answered before: long enough for most to start again
NEVER_HEARD_S = 10.0  # for one that has not: a wrong address is told at once
_WAVES = 3  # time-outs take longer than that patience; so often a request may wait for its time-out
_STEPS = 16  # rounds from the lowest limit to the highest


@dataclass(frozen=True, slots=True)
class News:
    """What who waits is told of a server: that it is `silent`, that it `refuses` all, that it is `back`.

    `left_s`: seconds until it is given up.
    """

    what: Literal["silent", "refuses", "back"]
    left_s: float = 0.0


@dataclass(slots=True)
class RequestLimiter:
    """The state of one server's requests. Every method takes the time in seconds, of any clock that only goes forward.

    `width`: the highest limit at the start, `ceiling`: the highest one now. `cuts` counts decreases: what was begun
    before the last one says nothing about the new limit and is left out of it, so that a burst of refusals lowers the
    limit once.
    """

    width: int
    ceiling: int = field(init=False)
    limit: float = field(init=False)
    in_flight: int = field(default=0, init=False)
    cuts: int = field(default=0, init=False)
    paused_until: float = field(default=-math.inf, init=False)
    answered_at: float = field(default=-math.inf, init=False)
    heard: bool = field(default=False, init=False)
    silent: int = field(default=0, init=False)
    _silent_since: float = field(default=0.0, init=False)
    _alive_at: float = field(default=-math.inf, init=False)
    _refused: int = field(default=0, init=False)
    _refused_since: float = field(default=0.0, init=False)
    _told: Literal["silent", "refuses", ""] = field(default="", init=False)
    _ended: int = field(default=0, init=False)
    _turned_away: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.ceiling = self.width
        self.limit = float(self.width)

    def narrow(self, most: int) -> None:
        """Never again more than so many at once."""
        self.ceiling = max(1, min(self.ceiling, most))
        self.limit = min(self.limit, float(self.ceiling))

    @property
    def slots(self) -> int:
        """How many requests may be in flight: between 1 and the width."""
        return max(1, int(self.limit))

    def wait_s(self, now: float) -> float:
        """How long the next request must wait: 0 when it may begin, infinity when another one must end first."""
        if now < self.paused_until:
            return self.paused_until - now
        return 0.0 if self.in_flight < self.slots else math.inf

    def begin(self) -> int:
        """Count a request in; what comes back belongs to `end`."""
        self.in_flight += 1
        return self.cuts

    def end(self, begun: int, sign: Sign, now: float, retry_after_s: float | None = None) -> None:
        """Count a request out, and learn from it. `retry_after_s`: the server wants to be left alone for so long."""
        self.in_flight -= 1
        if retry_after_s is not None:
            self.paused_until = max(self.paused_until, now + retry_after_s)
        self.heard |= sign not in ("slow", "gone")
        if sign in ("slow", "down", "gone"):
            self._silent_since = now if self.silent == 0 else self._silent_since
            self.silent += 1
        else:
            self.silent, self._alive_at = 0, now
        if sign == "busy":
            self._refused_since = now if self._refused == 0 else self._refused_since
            self._refused += 1
        else:
            self._refused = 0
        if sign == "answered":
            self.answered_at = now
        if begun == self.cuts and sign == "crowded":
            self.cuts += 1
            self.narrow(self.slots // 2)
            self._ended = self._turned_away = 0
        elif begun == self.cuts:
            self._ended += 1
            self._turned_away += sign in ("busy", "late", "slow")
            if self._ended >= self.slots:
                self._next_round()

    @property
    def has_answered(self) -> bool:
        """Whether any request has ever been answered."""
        return self.answered_at > -math.inf

    def _next_round(self) -> None:
        share = self._turned_away / self._ended
        step = max(1.0, self.width / _STEPS)
        before = self.slots
        self.limit = min(max(self.limit * (1 - share / 2) + step * (1 - share), 1.0), float(self.ceiling))
        self.cuts += self.slots < before
        self._ended = self._turned_away = 0

    @property
    def outage(self) -> bool:
        """Whether the server shows no sign of life, so that a failure says nothing about the request."""
        return self.silent >= ROW

    def given_up(self, now: float, took_s: float) -> bool:
        """Whether the outage has lasted too long. `took_s`: how long the last attempt waited in vain."""
        return self.outage and self._left_s(now, took_s) <= 0

    def news(self, now: float, took_s: float) -> News | None:
        """Tell once that a server has fallen silent, or does nothing but refuse, and once that it is back.

        `None`: nothing is new. `took_s`: as for `given_up`.
        """
        if self._told and not self.silent and not self._refused:
            self._told = ""
            return News("back")
        if self._told != "silent" and self._is_silent(now, took_s):
            self._told = "silent"
            return News("silent", max(1.0, self._left_s(now, took_s)))
        if self._told != "refuses" and self._refuses_all(now):
            self._told = "refuses"
            hinted = self.paused_until > -math.inf
            patience_s = REFUSED_S if self.has_answered or hinted else UNANSWERED_S
            return News("refuses", max(1.0, self._refused_since + patience_s - now))
        return None

    def _is_silent(self, now: float, took_s: float) -> bool:
        """Whether who waits must be told. A wrong address is given up so soon that nobody has to be told before."""
        lasted_s = min(now - self._alive_at, now - self._silent_since + took_s)
        waited_for = self.heard or self._left_s(now, took_s) > NEVER_HEARD_S
        return self.silent >= TOLD and lasted_s >= TOLD_S and waited_for

    def _refuses_all(self, now: float) -> bool:
        """Whether who waits must be told. One that has never answered may say itself how long it goes on."""
        until = now if self.has_answered else max(now, self.paused_until)
        return self._refused >= TOLD and until - self._refused_since >= REFUSES_S

    def _left_s(self, now: float, took_s: float) -> float:
        patience = PATIENCE_S if self.heard else NEVER_HEARD_S
        return self._silent_since + max(patience, _WAVES * took_s) - now


@dataclass(frozen=True, slots=True)
class Passage:
    """A request that has been let through. `since`: when, by the gate's clock. `alone`: no other is until it leaves."""

    begun: int
    since: float
    alone: bool = False


class Turnstile:
    """Keeps requests to the `RequestLimiter` of their server, and stops them all once it is closed.

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
        self._pace = RequestLimiter(width)
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
        """As `RequestLimiter.wait_s`; who is asked alone waits for all that are in flight, the others wait for it."""
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
        """What is to be told after an attempt has left, as `RequestLimiter.news` has it."""
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

    @property
    def has_answered(self) -> bool:
        """Whether any request has ever been answered."""
        return self._pace.has_answered

    def answered_since(self, time_s: float) -> bool:
        """Whether any request has been answered since then, by the gate's clock."""
        return self._pace.answered_at >= time_s

    def close(self, why: ModelError) -> ModelError:
        """Let nothing more through, and wake all who wait. The first reason stays, and is returned."""
        with self._turn:
            self._why = self._why or why
        event_loop().call(self._wake_all)
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


_CTRL_C = "Ctrl-C ends the run now; no answer is lost either way"


def news_line(news: News, server: str, why: str, *, heard: bool) -> str:
    """`why`: what the server's last attempt failed with. `heard`: it has answered before."""
    if news.what == "back":
        return f"{server} answers again: the run goes on"
    until = time.strftime("%H:%M:%S", time.localtime(time.time() + news.left_s))
    if news.what == "refuses":  # about: until a request has waited so long of its own time
        told = f"{server} refuses every request ({why}): the run waits for it until about {until}"
        return f"{told}. {_CTRL_C}. Fewer requests at once may help: --concurrency"
    does = "does not answer any more" if heard else "has not answered yet"
    return f"{server} {does}{f' ({why})' if why else ''}: the run waits for it until {until}. {_CTRL_C}"


def farewell(server: str, row: int | None, why: str) -> str:
    """Of a server that is given up after so many attempts in a row; `None`: it never answered."""
    if row is None:
        return f"{server} never answered ({why}); start the server or mend --base-url"
    return f"the server is gone: {row} attempts in a row failed ({why}); run again to go on from here"
