"""How many requests may be in flight, when, and when a server must be given up. No threads, no clock, no network here.

The limit follows the server as TCP's window follows a network (additive increase, multiplicative decrease), with the
decrease in proportion to the share of requests that the server had to turn away, as in DCTCP (Alizadeh et al.,
SIGCOMM 2010): a server that refuses all is asked half as much in the next round, one that refuses 2 % hardly less.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

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
class Pace:
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
            return News("refuses", max(1.0, self._refused_since + REFUSED_S - now))
        return None

    def _is_silent(self, now: float, took_s: float) -> bool:
        """Whether who waits must be told. A wrong address is given up so soon that nobody has to be told before."""
        lasted_s = min(now - self._alive_at, now - self._silent_since + took_s)
        waited_for = self.heard or self._left_s(now, took_s) > NEVER_HEARD_S
        return self.silent >= TOLD and lasted_s >= TOLD_S and waited_for

    def _refuses_all(self, now: float) -> bool:
        """Whether who waits must be told. One that has never answered may say itself how long it goes on."""
        until = now if self.answered_at > -math.inf else max(now, self.paused_until)
        return self._refused >= TOLD and until - self._refused_since >= REFUSES_S

    def _left_s(self, now: float, took_s: float) -> float:
        patience = PATIENCE_S if self.heard else NEVER_HEARD_S
        return self._silent_since + max(patience, _WAVES * took_s) - now
