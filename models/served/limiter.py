"""Rate limiter of a server: adaptive concurrency (AIMD), retries, giving up a server."""

import asyncio
import math
import random
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal

from needlework.models.event_loop import event_loop
from needlework.models.model import ModelError
from needlework.models.served.errors import AttemptFault, Sign

# The limit follows the server as TCP's window follows a network (additive increase, multiplicative decrease), with the
# decrease in proportion to the share of requests that the server had to turn away, as in DCTCP (Alizadeh et al.,
# SIGCOMM 2010): a server that refuses all is asked half as much in the next round, one that refuses 2 % hardly less.
_STEPS = 16  # rounds from the lowest limit to the highest

FIRST_DELAY_S, LONGEST_DELAY_S = 1.0, 30.0  # of a pause before the next try; it doubles
ROW = 10  # consecutive failed attempts, of any requests, after which the server is at fault
REPORTED = 3  # consecutive failed attempts after which the user is told
REFUSED_S = 600.0  # a request that was refused for so long is given up
UNANSWERED_S = 120.0  # the same without any answer so far, and without a `Retry-After`
PATIENCE_S = 120.0  # for a silent server that answered before: most restart in this time
NEVER_HEARD_S = 10.0  # for one that never answered: its address may be wrong
_TIMEOUTS = 3  # the least patience, in time-outs of a request

News = Literal["silent", "failing", "refuses", "back"]
"""A change of a server's state: no response, no whole answer to any request yet, every request refused, available."""

_STATE: Mapping[Sign, News] = {
    "slow": "silent", "down": "silent", "gone": "silent", "busy": "refuses", "broken": "failing", "late": "failing",
}  # fmt: skip
_REPORTED_S = 5.0  # a state must last so long before it is reported: single faults pass


class RequestLimiter:
    """The state of one server's requests. Methods take the time in seconds, of a monotonic clock."""

    def __init__(self, width: int) -> None:
        self.width = self.ceiling = width  # the highest limit at the start, and now
        self.limit = float(width)
        self.in_flight = 0
        self.cuts = 0  # of the limit; requests begun before one do not count: a burst lowers it once
        self.paused_until = self.answered_at = -math.inf
        self.heard = False  # whether the server has ever shown a sign of life
        self._state: News | None = None
        self._streak, self._since = 0, 0.0  # attempts in a row with this state; the time of the first
        self._reported: News | None = None
        self._ended = self._turned_away = 0  # in this round

    def narrow(self, most: int) -> None:
        """Lower the highest limit to `most`."""
        self.ceiling = max(1, min(self.ceiling, most))
        self.limit = min(self.limit, float(self.ceiling))

    @property
    def slots(self) -> int:
        """The allowed number of requests in flight: between 1 and the width."""
        return max(1, int(self.limit))

    def wait_s(self, now: float) -> float:
        """Seconds until the next request may begin; infinity when another one must end first."""
        if now < self.paused_until:
            return self.paused_until - now
        return 0.0 if self.in_flight < self.slots else math.inf

    def begin(self) -> int:
        """Count a request in; returns the `begun` of `end`."""
        self.in_flight += 1
        return self.cuts

    def end(self, begun: int, sign: Sign, now: float, retry_after_s: float | None = None) -> None:
        """Record that a request ended, and adjust the limit. `retry_after_s`: as the server asks, in s."""
        self.in_flight -= 1
        if retry_after_s is not None:
            self.paused_until = max(self.paused_until, now + retry_after_s)
        self.heard |= sign not in ("slow", "gone")
        if sign == "answered":
            self.answered_at = now
        state = _STATE.get(sign)
        if state == "failing" and self.has_answered:
            state = None
        if state != self._state:
            self._state, self._streak, self._since = state, 0, now
        self._streak += 1
        if begun != self.cuts:
            return
        if sign == "crowded":
            self.cuts += 1
            self.narrow(self.slots // 2)
            self._ended = self._turned_away = 0
            return
        self._ended += 1
        self._turned_away += sign in ("busy", "late", "slow")
        if self._ended >= self.slots:
            self._next_round()

    def _next_round(self) -> None:
        share = self._turned_away / self._ended
        step = max(1.0, self.width / _STEPS)
        before = self.slots
        self.limit = min(max(self.limit * (1 - share / 2) + step * (1 - share), 1.0), float(self.ceiling))
        self.cuts += self.slots < before
        self._ended = self._turned_away = 0

    @property
    def has_answered(self) -> bool:
        """Whether any request has ever been answered."""
        return self.answered_at > -math.inf

    @property
    def silent(self) -> int:
        """The number of attempts in a row without a sign of life from the server."""
        return self._streak if self._state == "silent" else 0

    def given_up(self, now: float, took_s: float) -> bool:
        """Whether the server has been silent or failing for too long. `took_s`: seconds of the last attempt.

        A server that refuses is given up by the request that it has refused for too long.
        """
        if self._state not in ("silent", "failing") or self._streak < ROW:
            return False
        patience_s = UNANSWERED_S if self._state == "failing" else PATIENCE_S if self.heard else NEVER_HEARD_S
        return now >= self._since + max(patience_s, _TIMEOUTS * took_s)

    def news(self, now: float, took_s: float) -> News | None:
        """A change of state, once; `None`: nothing is new. `took_s`: as for `given_up`."""
        if self._state is None:
            is_back, self._reported = self._reported is not None, None
            return "back" if is_back else None
        if self._reported == self._state or self._streak < REPORTED or now - self._since + took_s < _REPORTED_S:
            return None
        self._reported = self._state
        return self._state


@dataclass(slots=True)
class Retries:
    """The retries of one request.

    Refusals (429, 503) do not count as retries: the request waits for them, `REFUSED_S` seconds in all (`UNANSWERED_S`
    if the server has only refused). Nor does an outage of the server. Everything else counts against `allowed`.
    """

    allowed: int
    jitter: random.Random = field(default_factory=random.Random)
    failures: int = 0
    counted: int = 0
    refused_s: float = 0.0

    def pause_s(self, fault: AttemptFault, server: RequestLimiter | None = None) -> float | None:
        """Seconds to wait before the next try; `None` if there is none. `server`: its state, if known."""
        if not fault.retry:
            return None
        if server and not server.heard and fault.sign == "gone":
            # Pauses stay short: such a server is soon given up.
            return self.jitter.uniform(0, FIRST_DELAY_S)
        # Exponential backoff with full jitter: random from 0 to a bound that doubles, so that requests that failed
        # together do not return together (M. Brooker, "Exponential Backoff and Jitter", AWS 2015).
        bound_s = min(LONGEST_DELAY_S, FIRST_DELAY_S * 2.0 ** min(self.failures, 30))
        self.failures += 1
        pause_s = self.jitter.uniform(0, FIRST_DELAY_S if fault.retry_after_s else bound_s)
        pause_s += fault.retry_after_s or 0.0
        if fault.sign == "busy":
            self.refused_s += pause_s
            patience_s = UNANSWERED_S if server and not server.has_answered and not fault.retry_after_s else REFUSED_S
            return pause_s if self.refused_s <= patience_s else None
        # Where the server shows no sign of life, a failure says nothing about the request.
        self.counted += not (server and server.silent >= ROW and fault.sign in ("down", "gone"))
        return pause_s if self.counted <= self.allowed else None


@dataclass(frozen=True, slots=True)
class Passage:
    """An admitted request."""

    begun: int
    since: float  # its time of admission
    alone: bool = False  # no other is admitted until it leaves


class Turnstile:
    """Admits requests to a server as its `RequestLimiter` allows; none once it is closed.

    Only an attempt counts as in flight: a request that waits for its retry has left. For the event loop; only `narrow`
    and `close` are thread-safe.
    """

    def __init__(self, width: int) -> None:
        self.now = time.monotonic
        self.server = RequestLimiter(width)
        self.closed: ModelError | None = None  # why no request is admitted any more
        self._left = asyncio.Event()  # set when a request ends, and then replaced
        self._back = asyncio.Event()  # the same when the server is back
        self._exclusive = 0  # requests that are alone in flight, or wait to be

    async def enter(self, *, alone: bool = False) -> Passage | None:
        """Wait until the request is admitted; `None` when closed. `alone`: all others wait meanwhile."""
        self._exclusive += alone
        while self.closed is None:
            # A request that goes alone waits for all in flight; the others wait for it.
            blocked = self.server.in_flight if alone else self._exclusive
            wait_s = math.inf if blocked else self.server.wait_s(self.now())
            if wait_s == 0:
                return Passage(self.server.begin(), self.now(), alone)
            await self._wait_for(self._left, wait_s)
        return None

    def narrow(self, most: int) -> None:
        """Lower the highest limit of requests in flight to `most`."""
        event_loop().call(lambda: self.server.narrow(most))

    def leave(
        self, passage: Passage, sign: Sign, retry_after_s: float | None = None
    ) -> News | Literal["given up"] | None:
        """Count the request out. Returns what is new about the server, `given up` when it must be."""
        now = self.now()
        took_s = now - passage.since
        self.server.end(passage.begun, sign, now, retry_after_s)
        self._exclusive -= passage.alone
        self._let_others_in()
        if self.server.given_up(now, took_s):
            return "given up"
        return None if self.closed else self.server.news(now, took_s)

    async def wait(self, seconds: float) -> None:
        """Pause one request; ends early when the turnstile is closed."""
        if self.closed is None:
            await self._wait_for(self._back, seconds)

    async def _wait_for(self, event: asyncio.Event, seconds: float) -> None:
        """Wait for the event, at most `seconds`."""
        with suppress(TimeoutError):
            await asyncio.wait_for(event.wait(), seconds if seconds < math.inf else None)

    def close(self, why: ModelError) -> ModelError:
        """Admit no more requests, and wake all that wait. Returns the reason of the first call."""
        self.closed = self.closed or why
        event_loop().call(self._let_others_in)
        event_loop().call(self.end_pauses)
        return self.closed

    def _let_others_in(self) -> None:
        self._left.set()
        self._left = asyncio.Event()

    def end_pauses(self) -> None:
        """End all pauses: the server is back."""
        self._back.set()
        self._back = asyncio.Event()


def news_line(news: News, server: str, why: str, *, heard: bool) -> str:
    """The line on a change of state. `why`: the error of the last attempt. `heard`: it answered before."""
    if news == "back":
        return f"{server} answers again: the run goes on"
    state = {
        "silent": "does not answer any more" if heard else "has not answered yet",
        "failing": "has given no whole answer yet",
        "refuses": "refuses every request",
    }[news]
    return f"{server} {state} ({why}): the run waits for it. Ctrl-C ends the run now; no answer is lost either way"


def outage_text(server: str, state: RequestLimiter, why: str) -> str:
    """The message on a server that is given up. `why`: the error of the last attempt."""
    if not state.heard:
        return f"{server} never answered ({why}); start the server or mend --base-url"
    if not state.silent:
        return f"{server} gave no whole answer to any request ({why}); mend that, or give a longer --timeout"
    return f"the server is gone: {state.silent} attempts in a row failed ({why}); run again to go on from here"
