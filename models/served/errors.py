"""What a failed attempt means: HTTP statuses, broken connections, addresses and proxies."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from needlework.models.model import ErrorKind, Response
from needlework.models.served.connection import says_too_long
from needlework.models.served.limiter import REFUSED_S, Sign
from needlework.models.served.reply import DroppedError, MalformedError, ServerSaidError

FIRST_DELAY_S = 1.0
LONGEST_DELAY_S = 30.0
LONGEST_RETRY_AFTER_S = 300.0

_BUSY = (429, 503, 529)  # 529: Anthropic's and others' "overloaded"
_DOWN = (502, 521, 522, 523, 530)  # what a gateway says for a server that it cannot reach
_SLOW = (408, 504, 524)
_TOO_LARGE = ("request too large",)  # OpenAI says so with 429 where one prompt is over the limit for a minute
_FILTERED = ("content_filter", "content_policy", "moderation")
_NO_QUOTA = ("insufficient_quota", "billing_hard_limit", "credit balance is too low")


@dataclass(frozen=True, slots=True)
class AttemptFault:
    """One failed attempt. `filtered`: no fault of ours or theirs, the server refused to answer this prompt.

    `sign`: what it says about the server. `fatal`: every further request would end the same way. `too_long`: the
    prompt does not fit the window. `alone`: the next try must be the only request in flight.
    """

    kind: ErrorKind
    message: str
    retry: bool = False
    sign: Sign = "answered"
    fatal: bool = False
    filtered: bool = False
    too_long: bool = False
    alone: bool = False
    retry_after_s: float | None = None
    status: int | None = None


AttemptResult = Response | AttemptFault
"""What came of one attempt: the answer, or why there is none."""


@dataclass(frozen=True, slots=True)
class HttpError:
    """A response with an error status, free of any client library. `inside`: the status came in a successful answer."""

    status: int
    body: object = field(default=None)
    text: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    inside: bool = False

    @property
    def shown(self) -> str:
        """The status and the server's own words, as they came."""
        said = _said(self) or "without a word"
        return f"HTTP 200 with an error inside: {said}" if self.inside else f"HTTP {self.status}: {said}"


_ENDPOINT = re.compile(r"/(?:chat/)?completions/?(?=$|[?#])")  # what a base URL has behind it in a request


def fault_of_status(error: HttpError, too_long: re.Pattern[str] | None = None) -> AttemptFault:
    """Classify a status with its body. `too_long`: the user's own pattern for a prompt that does not fit."""
    status, shown = error.status, error.shown
    words = f"{_said(error)} {error.text}".lower()
    wait_s = retry_after(error.headers)
    if status in (400, 403) and any(word in words for word in _FILTERED):
        return AttemptFault("client", f"content filter: {shown}", filtered=True, status=status)
    if status in (401, 403) or any(word in words for word in _NO_QUOTA):
        return AttemptFault("client", f"the server refuses the key: {shown}", fatal=True, status=status)
    if status == 402:
        return AttemptFault("client", f"the server wants money: {shown}", fatal=True, status=status)
    if status == 404:
        return AttemptFault("client", f"no such model or address: {shown}", fatal=True, status=status)
    if 300 <= status < 400:
        where = {name.lower(): value for name, value in error.headers.items()}.get("location", "another address")
        base = _ENDPOINT.sub("", where)
        message = f"HTTP {status}: the server sends us on to {base}: give that as --base-url"
        return AttemptFault("client", message, fatal=True, status=status)
    if says_too_long(status, words, too_long):
        return AttemptFault("client", f"context too long: {shown}", too_long=True, status=status)
    if status == 429 and any(sign in words for sign in _TOO_LARGE):
        return AttemptFault("client", shown, status=status)
    if status in _BUSY:
        kind: ErrorKind = "rate_limit" if status == 429 else "server"
        if wait_s is not None and wait_s > LONGEST_RETRY_AFTER_S:
            message = f"the server wants to be left alone for {wait_s / 60:.0f} minutes: {shown}"
            return AttemptFault(kind, message, sign="busy", fatal=True, retry_after_s=wait_s, status=status)
        return AttemptFault(kind, shown, retry=True, sign="busy", retry_after_s=wait_s, status=status)
    if status in _SLOW:
        return AttemptFault("timeout", shown, retry=True, sign="slow", retry_after_s=wait_s, status=status)
    if status >= 500 or status in (409, 425):
        sign: Sign = "down" if status in _DOWN else "broken"
        return AttemptFault("server", shown, retry=status != 501, sign=sign, retry_after_s=wait_s, status=status)
    return AttemptFault("client", shown, status=status)


def fault_of(error: Exception, too_long: re.Pattern[str] | None = None) -> AttemptFault | None:
    """Classify what sending a request or reading its answer raised; `None` for anything else."""
    match error:
        case ServerSaidError():
            return fault_of_status(HttpError(error.status or 500, error.body, str(error), inside=True), too_long)
        case MalformedError() | UnreadableError():
            return AttemptFault("protocol", str(error), retry=True, sign="broken")
        case TooSlowError():
            return AttemptFault("timeout", str(error), retry=True, sign="late")
        case TimeoutError():
            return AttemptFault("timeout", str(error), retry=True, sign="slow")
        case UnreachableError():
            return AttemptFault("server", f"no connection: {error}", retry=True, sign="gone")
        case HangUpError(begun=False):
            return AttemptFault("server", f"no answer: {error}", retry=True, sign="gone")
        case DroppedError() | HangUpError():
            return AttemptFault("server", str(error), retry=True, sign="broken")
        case UnicodeError():
            return AttemptFault("protocol", f"{type(error).__name__}: {error}")
        case _:
            return None


def crowded(fault: AttemptFault, room: str) -> AttemptFault:
    """A refusal for length of a prompt that has room: the server has none for it beside the others. `room`: why so."""
    message = f"no room for this prompt, though {room}: {fault.message}"
    return replace(fault, kind="server", message=message, too_long=False, retry=True, sign="crowded", alone=True)


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds that the server asks us to wait, by `Retry-After` (seconds or a date) or `retry-after-ms`."""
    given = {name.lower(): value.strip() for name, value in headers.items()}
    try:
        if "retry-after-ms" in given:
            return _finite(float(given["retry-after-ms"]) / 1000)
        if "retry-after" not in given:
            return None
        return _finite(float(given["retry-after"]))
    except ValueError:
        pass
    try:
        until = parsedate_to_datetime(given.get("retry-after", ""))
    except ValueError:
        return None
    until = until if until.tzinfo else until.replace(tzinfo=UTC)
    return max(0.0, (until - (now or datetime.now(UTC))).total_seconds())


def _finite(seconds: float) -> float | None:
    """No server means an endless wait, nor one of no number of seconds."""
    return max(0.0, seconds) if math.isfinite(seconds) else None


def delay_s(fault: AttemptFault, failures: int, jitter: random.Random) -> float:
    """How long to wait after so many failures (1 = the first): anything up to a bound that doubles ("full jitter").

    Random over the whole width, so that requests that failed together do not come back together (M. Brooker,
    "Exponential Backoff and Jitter", AWS 2015). Never less than the server asks for.
    """
    if fault.retry_after_s:
        return fault.retry_after_s + jitter.uniform(0, FIRST_DELAY_S)
    return jitter.uniform(0, min(LONGEST_DELAY_S, FIRST_DELAY_S * 2.0 ** min(failures - 1, 30)))


@dataclass(slots=True)
class Retries:
    """What one request has spent of its further tries.

    Refusals ("too many requests", "not now") are no faults: they are waited out, for `REFUSED_S` seconds of this
    request's own waiting. Nor is it the request's fault when nobody is there at all. Everything else counts against
    `allowed`.
    """

    allowed: int
    failures: int = 0
    counted: int = 0
    refused_s: float = 0.0

    def pause_s(
        self, fault: AttemptFault, *, outage: bool, jitter: random.Random, never_heard: bool = False
    ) -> float | None:
        """Seconds to wait before the next try; `None` when there is none. `never_heard`: the server has not shown a
        sign of life yet. It is soon given up, and pauses that grow would outlast that.
        """
        if not fault.retry:
            return None
        if never_heard and fault.sign == "gone":
            return jitter.uniform(0, FIRST_DELAY_S)
        self.failures += 1
        pause_s = delay_s(fault, self.failures, jitter)
        if fault.sign == "busy":
            self.refused_s += pause_s
            return pause_s if self.refused_s <= REFUSED_S else None
        self.counted += not (outage and fault.sign in ("down", "gone"))
        return pause_s if self.counted <= self.allowed else None


def _said(error: HttpError) -> str:
    """The server's own words, short."""
    body: Any = error.body
    inner = body.get("error", body) if isinstance(body, dict) else body
    if isinstance(inner, dict):
        parts = [str(inner[name]) for name in ("message", "detail", "code", "type") if inner.get(name)]
        text = ", ".join(dict.fromkeys(parts))
    else:
        text = str(inner) if inner else error.text
    return " ".join(text.split())[:300]


class TooSlowError(TimeoutError):
    """The answer had begun and took longer than the time allowed for it."""


class UnreachableError(Exception):
    """Nobody takes connections there, or not with this encryption."""


class HangUpError(Exception):
    """The connection ended before the answer did. `begun`: the head of the answer had come."""

    def __init__(self, why: str, *, begun: bool = False) -> None:
        super().__init__(why)
        self.begun = begun


class UnreadableError(Exception):
    """What came back is no HTTP answer, or is packed in a way that cannot be undone."""
