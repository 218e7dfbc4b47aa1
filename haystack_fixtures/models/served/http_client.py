"""HTTP to one server, through urllib3: with a deadline for every exchange, and an end to those of other threads."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPException, IncompleteRead
from typing import Any
from urllib.parse import urlsplit
from weakref import WeakSet

from urllib3 import BaseHTTPResponse, HTTPHeaderDict
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError

from needlework.haystack_fixtures.models.served.http_place import place_of, pool_to, proxy_for

_CONNECT_S = 20.0
_IDLE_S = 4.0  # uvicorn, which most model servers run on, hangs up after 5 s
_CHUNK = 65_536
_TAIL_S = 0.2  # for what comes after the part of an answer that matters, so that its connection can be used again


class UnreachableError(Exception):
    """Nobody takes connections there, or not with this encryption."""


class HangUpError(Exception):
    """The connection ended before the answer did. `begun`: the head of the answer had come."""

    def __init__(self, why: str, *, begun: bool = False) -> None:
        super().__init__(why)
        self.begun = begun


@dataclass(frozen=True, slots=True)
class Allowed:
    """How long an exchange may take, in seconds: without a sign from the server, and in all."""

    silence_s: float
    total_s: float


class HttpClient:
    """Exchanges with one server, from many threads at once. Headers and addresses are never shown."""

    def __init__(
        self, url: str, headers: Mapping[str, str], *, proxy: str | None = None, environment: bool = True
    ) -> None:
        """`url`: any address of the server; its user, password and query are sent with every request.

        `environment`: whether proxies may come from environment variables (`HTTPS_PROXY`, `NO_PROXY`, ...).
        """
        server, via = place_of(url), proxy_for(url, proxy, environment)
        self._headers = HTTPHeaderDict(headers)
        self._headers.update(server.headers)
        self._root = server.root if via is not None and not server.secure else ""  # such a proxy wants all of it
        self._pool = pool_to(server, via)
        self._pool.ConnectionCls = _SecureConnection if self._pool.scheme == "https" else _Connection
        self._pool.conn_kw |= {"opened": self._opened, "query": urlsplit(url).query}
        self._sockets: WeakSet[socket.socket] = WeakSet()
        self._lock = threading.Lock()
        self._closed = False

    def send(self, method: str, url: str, body: bytes | None, allowed: Allowed) -> Exchanged:
        """Send a request and wait for the head of the answer. Of `url` only path and query count.

        Raises `UnreachableError`, `HangUpError` or `TimeoutError`. Redirects are answers like any other.
        """
        end = time.perf_counter() + allowed.total_s
        silence_s = min(allowed.silence_s, allowed.total_s)
        parts = urlsplit(url)
        target = self._root + (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        try:
            response = self._pool.urlopen(
                method,
                target,
                body,
                self._headers,
                retries=False,  # nor is a redirect followed
                assert_same_host=False,
                timeout=silence_s,
                preload_content=False,
            )
        except HTTPError as error:
            raise _failure(error, begun=False) from None
        return Exchanged(response, silence_s, end)

    def abort(self) -> None:
        """Take no more requests, and end those in flight: each raises `HangUpError` in its thread."""
        with self._lock:
            self._closed = True
            for sock in self._sockets:
                with suppress(OSError):
                    # Of the plain socket: an encrypted one forgets its keys first, and other threads still send.
                    socket.socket.shutdown(sock, socket.SHUT_RDWR)
        self._pool.close()

    def _opened(self, sock: socket.socket) -> None:
        with self._lock:
            self._sockets.add(sock)
            if self._closed:
                raise HangUpError("the connection was closed on this side")


class Exchanged:
    """An answer whose head has come. A context manager: leaving it gives the connection back.

    `headers`: found whatever the case of their names.
    """

    def __init__(self, response: BaseHTTPResponse, silence_s: float, end: float) -> None:
        self._response = response
        self._silence_s = silence_s
        self._end = end
        self.status = response.status
        self.headers: Mapping[str, str] = response.headers

    def chunks(self) -> Iterator[bytes]:
        """The body as it comes. Raises `TimeoutError` when its time is over, `HangUpError` when it ends too early."""
        while True:
            # The last read gives the connection back, for other threads to use.
            if isinstance(connection := self._response.connection, _Connection):
                left_s = self._end - time.perf_counter()
                if left_s <= 0:
                    raise TimeoutError
                connection.allow(min(self._silence_s, left_s))
            try:
                chunk = self._response.read1(_CHUNK)
            except HTTPError as error:
                raise _failure(error, begun=True) from None
            if not chunk:
                return
            yield chunk

    def __enter__(self) -> Exchanged:
        return self

    def __exit__(self, *raised: object) -> None:
        if raised[0] is None:
            self._end = min(self._end, time.perf_counter() + _TAIL_S)
            with suppress(TimeoutError, HangUpError):
                for _ in self.chunks():
                    pass
        self._response.close()


class _Connection(HTTPConnection):
    """One that can be ended from outside, and whose time can be set until its answer has been read.

    `query` is sent with every address. It may hold a key, and urllib3 logs the addresses that it knows.
    """

    def __init__(self, *args: Any, opened: Callable[[socket.socket], None], query: str, **options: Any) -> None:
        super().__init__(*args, **options)
        self._opened = opened
        self._query = query
        self._wire: socket.socket | None = None  # `sock` is forgotten where the server will close it
        self._used = 0.0

    def connect(self) -> None:
        allowed_s, self.timeout = self.timeout, min(self.timeout or _CONNECT_S, _CONNECT_S)
        try:
            super().connect()
        except (OSError, HTTPException, HTTPError, UnicodeError) as error:
            raise UnreachableError(_reason(error)) from None
        self.timeout = allowed_s
        self._wire = self.sock
        self._wire.settimeout(allowed_s)  # for a long body
        self._opened(self._wire)

    @property
    def is_connected(self) -> bool:
        """Whether it can be used again."""
        return super().is_connected and time.monotonic() - self._used < _IDLE_S

    def allow(self, silence_s: float) -> None:
        """How long the next part of the answer may take."""
        self._used = time.monotonic()
        if self._wire is not None:
            self._wire.settimeout(silence_s)

    def putrequest(self, method: str, url: str, *args: Any, **options: Any) -> None:
        if self._query:
            url += ("&" if "?" in url else "?") + self._query
        super().putrequest(method, url, *args, **options)


class _SecureConnection(_Connection, HTTPSConnection):
    """The same with encryption."""


def _failure(error: HTTPError, *, begun: bool) -> Exception:
    return TimeoutError() if isinstance(_cause(error), TimeoutError) else HangUpError(_reason(error), begun=begun)


def _reason(error: Exception) -> str:
    cause = _cause(error)
    if isinstance(cause, TimeoutError):
        return "no connection in time"
    if isinstance(cause, IncompleteRead):
        return "the connection was closed in the middle of the answer"
    return f"{type(cause).__name__}: {cause}" if str(cause) else type(cause).__name__


def _cause(error: Exception) -> BaseException:
    """What the library makes its errors of."""
    inner = error.__cause__ or (error.args and error.args[-1])
    return inner if isinstance(inner, BaseException) else error
