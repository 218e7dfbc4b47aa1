"""What a failed attempt means: HTTP statuses, broken connections, addresses and proxies."""

from __future__ import annotations

import math
import os
import random
import re
import ssl
from base64 import b64encode
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPSConnection
from typing import Any
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from needlework.core.errors import InputError
from needlework.models.model import ErrorKind
from needlework.models.served.connection import says_too_long
from needlework.models.served.limiter import REFUSED_S, Sign
from needlework.models.served.reply import DroppedError, MalformedError, ServerSaidError, TooSlowError

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


class UnreachableError(Exception):
    """Nobody takes connections there, or not with this encryption."""


class HangUpError(Exception):
    """The connection ended before the answer did. `begun`: the head of the answer had come."""

    def __init__(self, why: str, *, begun: bool = False) -> None:
        super().__init__(why)
        self.begun = begun


class UnreadableError(Exception):
    """What came back is no HTTP answer, or is packed in a way that cannot be undone."""


def reason(error: Exception) -> str:
    """What a socket or `http.client` raised, in words."""
    if isinstance(error, TimeoutError):
        return "no connection in time"
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One end of a connection. `root`: its address up to the path, without user and password.

    `headers`: the user and password, as the header that carries them.
    """

    root: str
    headers: Mapping[str, str] = field(repr=False)

    @property
    def secure(self) -> bool:
        return self.root.startswith("https:")

    @property
    def at(self) -> tuple[str, int]:
        """Its name and its port."""
        parts = urlsplit(self.root)
        return parts.hostname or "", parts.port or self.default_port

    @property
    def default_port(self) -> int:
        return HTTPSConnection.default_port if self.secure else HTTPConnection.default_port


def place_of(url: str, header: str = "Authorization") -> Endpoint:
    """The place that an address names."""
    parts = urlsplit(url)
    login, _, host = parts.netloc.rpartition("@")
    user, _, password = login.partition(":")
    pair = f"{unquote(user)}:{unquote(password)}".encode()
    return Endpoint(f"{parts.scheme}://{host}", {header: f"Basic {b64encode(pair).decode()}"} if login else {})


def proxy_for(url: str, given: str | None, environment: bool) -> Endpoint | None:
    """The proxy before a server: the given one, or by `environment` that of `HTTPS_PROXY`, `NO_PROXY` and so on."""
    server = urlsplit(url)
    address = given
    if address is None and environment and not proxy_bypass(server.hostname or ""):
        found = getproxies()
        address = found.get(server.scheme) or found.get("all")
    if not address:
        return None
    parts = urlsplit(address if "://" in address else f"http://{address}")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError("proxy", parts.scheme, "use an http:// proxy (environment variables, or --model-arg proxy=)")
    if parts.scheme == server.scheme == "https":
        raise InputError("proxy", "https://...", "an https server is reached through an http:// proxy only")
    return place_of(parts.geturl(), "Proxy-Authorization")


@dataclass(frozen=True, slots=True)
class Way:
    """How a server is reached: at once, through a tunnel of a proxy, or by a proxy that is told the whole address."""

    server: Endpoint
    proxy: Endpoint | None
    tls: ssl.SSLContext | None

    @property
    def prefix(self) -> str:
        """What stands before the path of a request."""
        return self.server.root if self.proxy is not None and not self.server.secure else ""

    @property
    def tunnels(self) -> bool:
        """Whether a proxy passes on what it cannot read."""
        return self.proxy is not None and self.server.secure

    @property
    def headers(self) -> Mapping[str, str]:
        """What the proxy wants of each request; of a tunnel it is told when it is made."""
        return self.proxy.headers if self.proxy is not None and self.prefix else {}

    def connection(self) -> HTTPConnection:
        """A connection that is not open yet."""
        first = self.proxy or self.server
        if self.proxy is not None and self.tunnels:
            tunnel = HTTPSConnection(*first.at, context=self.tls)
            tunnel.set_tunnel(*self.server.at, headers=self.proxy.headers)
            return tunnel
        return HTTPSConnection(*first.at, context=self.tls) if first.secure else HTTPConnection(*first.at)


def way_to(server: Endpoint, proxy: Endpoint | None) -> Way:
    """The way to a server, and to a proxy before it, if there is one."""
    return Way(server, proxy, trusted() if server.secure or (proxy is not None and proxy.secure) else None)


def trusted() -> ssl.SSLContext:
    """The machine's certificates and those of `certifi`; only your own where `SSL_CERT_FILE` or `_DIR` names them."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    if not os.environ.get("SSL_CERT_FILE") and not os.environ.get("SSL_CERT_DIR"):
        with suppress(ImportError):
            import certifi

            context.load_verify_locations(certifi.where())
    return context
