"""HTTP to one server, through urllib3: with a deadline for every exchange, and an end to those of other threads."""

from __future__ import annotations

import io
import math
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.client import BadStatusLine, HTTPException, HTTPResponse, IncompleteRead, RemoteDisconnected
from typing import Any, cast
from urllib.parse import urlsplit
from weakref import WeakSet

from urllib3 import BaseHTTPResponse, HTTPHeaderDict
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError

from needlework.haystack_fixtures.models.served.http.place import place_of, pool_to, proxy_for
from needlework.haystack_fixtures.models.served.http.unpacking import PackedError, unpacked

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


class UnreadableError(Exception):
    """What came back is no HTTP answer, or is packed in a way that cannot be undone."""


class _Sending(threading.local):
    """What a connection must know of the exchange that its thread has begun, and tells about it."""

    end: float = math.inf  # a `time.perf_counter()` time
    reused: bool = False


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
        self._sending = _Sending()
        self._pool.conn_kw |= {"opened": self._opened, "query": urlsplit(url).query, "sending": self._sending}
        self._sockets: WeakSet[socket.socket] = WeakSet()
        self._lock = threading.Lock()
        self._closed = False

    def send(self, method: str, url: str, body: bytes | None, allowed: Allowed) -> Exchanged:
        """Send a request and wait for the head of the answer. Of `url` only path and query count.

        Raises `UnreachableError`, `HangUpError`, `UnreadableError` or `TimeoutError`. Redirects are answers like any
        other. A kept connection that the server has closed meanwhile costs no attempt: the next one is taken.
        """
        self._sending.end = time.perf_counter() + allowed.total_s
        silence_s = min(allowed.silence_s, allowed.total_s)
        parts = urlsplit(url)
        target = self._root + (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        while True:
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
                if self._sending.reused and not self._closed and _is_stale(error):
                    continue
                raise _failure(error, begun=False) from None
            return Exchanged(response, silence_s, self._sending.end)

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

    @property
    def packed(self) -> bool:
        """Whether the body has a checksum at its end, which nothing before it can stand in for."""
        return self.headers.get("content-encoding", "").strip().lower() not in ("", "identity")

    def chunks(self) -> Iterator[bytes]:
        """The body as it comes, unpacked.

        Raises `TimeoutError` when its time is over, `HangUpError` when it ends too early, `UnreadableError` when it is
        packed and cannot be unpacked.
        """
        try:
            yield from unpacked(self._received(), self.headers.get("content-encoding", ""))
        except PackedError as error:
            raise UnreadableError(str(error)) from None

    def _received(self) -> Iterator[bytes]:
        while True:
            # The last read gives the connection back, for other threads to use.
            if isinstance(connection := self._response.connection, _Connection):
                left_s = self._end - time.perf_counter()
                if left_s <= 0:
                    raise TimeoutError
                connection.allow(self._silence_s, self._end)
            try:
                chunk = self._response.read1(_CHUNK, decode_content=False)
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
                for _ in self._received():
                    pass
        self._response.close()


class _Connection(HTTPConnection):
    """One that can be ended from outside, and whose time can be set until its answer has been read.

    `query` is sent with every address. It may hold a key, and urllib3 logs the addresses that it knows.
    """

    def __init__(
        self,
        *args: Any,
        opened: Callable[[socket.socket], None],
        query: str,
        sending: _Sending,
        **options: Any,
    ) -> None:
        super().__init__(*args, **options)
        self._opened = opened
        self._query = query
        self._sending = sending
        self._wire: socket.socket | None = None  # `sock` is forgotten where the server will close it
        self._used = 0.0
        self._silence_s = _CONNECT_S
        self._end = math.inf
        self.response_class = cast("Any", self._answer)

    def _answer(self, sock: socket.socket, *args: Any, **options: Any) -> HTTPResponse:
        """The answer, from its first byte on within the time of its exchange."""
        self.allow(self.timeout or _CONNECT_S, self._sending.end)
        response = HTTPResponse(sock, *args, **options)
        response.fp = io.BufferedReader(_Timed(response.fp.detach(), sock, self._left_s))
        return response

    def _left_s(self) -> float:
        """How long the next bytes may take, in seconds. Raises `TimeoutError` when the time of the exchange is over."""
        left_s = self._end - time.perf_counter()
        if left_s <= 0:
            raise TimeoutError
        return min(self._silence_s, left_s)

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

    def allow(self, silence_s: float, end: float) -> None:
        """How long the answer may take: without a sign, in seconds, and until when (a `time.perf_counter()` time)."""
        self._used = time.monotonic()
        self._silence_s, self._end = silence_s, end

    def putrequest(self, method: str, url: str, *args: Any, **options: Any) -> None:
        self._sending.reused = self.sock is not None
        if self._query:
            url += ("&" if "?" in url else "?") + self._query
        super().putrequest(method, url, *args, **options)


class _SecureConnection(_Connection, HTTPSConnection):
    """The same with encryption."""


class _Timed(io.RawIOBase):
    """What a socket sends, each part within the time that is left: a head that drips in must not last for ever."""

    def __init__(self, raw: io.RawIOBase, sock: socket.socket, left_s: Callable[[], float]) -> None:
        self._raw = raw
        self._sock = sock
        self._left_s = left_s

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._sock.settimeout(self._left_s())
        return self._raw.readinto(buffer)

    def close(self) -> None:
        if not self.closed:
            self._raw.close()  # the socket counts its readers
        super().close()


def _failure(error: HTTPError, *, begun: bool) -> Exception:
    cause = _cause(error)
    if isinstance(cause, TimeoutError):
        return TimeoutError()
    if isinstance(cause, HTTPException) and not isinstance(cause, BadStatusLine | IncompleteRead):
        return UnreadableError(f"the head of the answer cannot be read: {_reason(error)}")
    return HangUpError(_reason(error), begun=begun)


def _is_stale(error: HTTPError) -> bool:
    """Whether the connection had been closed by the other side before a byte of an answer came."""
    return isinstance(_cause(error), RemoteDisconnected | ConnectionResetError | BrokenPipeError)


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
