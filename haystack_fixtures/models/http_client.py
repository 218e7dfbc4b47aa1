"""HTTP to one server: connections that are kept open, and a deadline for every exchange.

`http.client` of the standard library does the talking. A general client library costs 1 to 3 ms of CPU an exchange
and a second of imports; at 64 requests in flight that is more than all the rest of the harness. It also cannot end
what other threads have in flight.
"""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection, IncompleteRead
from urllib.parse import urlsplit

from haystack_fixtures.models.http_place import place_of, proxy_for, trusted

CONNECT_S = 20.0
_IDLE_S = 4.0  # uvicorn, which most model servers run on, hangs up after 5 s
_CHUNK = 65_536
_TAIL = 65_536  # bytes read after the part of an answer that matters, so that its connection can be used again
_TAIL_S = 0.2


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
        """`url`: any address of the server; its user and password are sent with every request.

        `environment`: whether proxies may come from environment variables (`HTTPS_PROXY`, `NO_PROXY`, ...).
        """
        self._server = place_of(url)
        self._proxy = proxy_for(url, proxy, environment)
        via = self._proxy.headers if self._proxy is not None and not self._server.secure else {}
        self._headers = joined(headers, self._server.headers, via)
        self._tls = trusted() if self._server.secure or (self._proxy and self._proxy.secure) else None
        self._idle: deque[tuple[HTTPConnection, float]] = deque()
        self._busy: dict[HTTPConnection, socket.socket] = {}
        self._lock = threading.Lock()
        self._closed = False

    def send(self, method: str, url: str, body: bytes | None, allowed: Allowed) -> Exchanged:
        """Send a request and wait for the head of the answer. Of `url` only path and query count.

        Raises `UnreachableError`, `HangUpError` or `TimeoutError`. Redirects are answers like any other.
        """
        end = time.perf_counter() + allowed.total_s
        parts = urlsplit(url)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        if self._proxy is not None and not self._server.secure:
            target = f"http://{self._server.host}:{self._server.port}{target}"
        silence_s = min(allowed.silence_s, allowed.total_s)
        connection = self._connection(min(silence_s, CONNECT_S))
        sock = connection.sock  # the connection forgets it where the server will close it
        try:
            sock.settimeout(silence_s)
            with suppress(BrokenPipeError, ConnectionResetError):
                # A server may refuse a long body before it has all of it; what it says is still read.
                connection.request(method, target, body, self._headers)
            response = connection.getresponse()
        except TimeoutError:
            self._discard(connection)
            raise
        except (OSError, HTTPException) as error:
            self._discard(connection)
            raise HangUpError(_reason(error)) from None
        except BaseException:
            self._discard(connection)
            raise
        return Exchanged(self, connection, sock, response, silence_s, end)

    def abort(self) -> None:
        """Take no more requests, and end those in flight: each raises `HangUpError` in its thread."""
        with self._lock:
            self._closed = True
            busy = list(self._busy.values())
        for sock in busy:
            with suppress(OSError):
                # Of the plain socket: an encrypted one would say good-bye first, in two threads at once.
                socket.socket.shutdown(sock, socket.SHUT_RDWR)
        while self._idle:
            self._idle.pop()[0].close()

    def release(self, connection: HTTPConnection, *, reusable: bool) -> None:
        """Take back the connection of an answer that has been read."""
        if not reusable:
            self._discard(connection)
            return
        with self._lock:
            self._busy.pop(connection, None)
        self._idle.append((connection, time.monotonic()))

    def _discard(self, connection: HTTPConnection) -> None:
        with self._lock:
            self._busy.pop(connection, None)
        connection.close()

    def _connection(self, timeout_s: float) -> HTTPConnection:
        while self._idle:
            with suppress(IndexError):
                connection, since = self._idle.pop()
                if time.monotonic() - since < _IDLE_S and _is_alive(connection.sock):
                    break
                connection.close()
        else:
            connection = self._open(timeout_s)
        with self._lock:
            self._busy[connection] = connection.sock
            if not self._closed:
                return connection
        self._discard(connection)
        raise HangUpError("the connection was closed on this side")

    def _open(self, timeout_s: float) -> HTTPConnection:
        place = self._proxy or self._server
        if (place.secure or self._server.secure) and self._tls is not None:
            connection: HTTPConnection = HTTPSConnection(place.host, place.port, timeout=timeout_s, context=self._tls)
        else:
            connection = HTTPConnection(place.host, place.port, timeout=timeout_s)
        if self._proxy is not None and self._server.secure:
            connection.set_tunnel(self._server.host, self._server.port, dict(self._proxy.headers))
        try:
            connection.connect()
        except (OSError, HTTPException, UnicodeError) as error:
            connection.close()
            raise UnreachableError(_reason(error)) from None
        return connection


class Exchanged:
    """An answer whose head has come. A context manager: leaving it gives the connection back."""

    def __init__(
        self,
        client: HttpClient,
        connection: HTTPConnection,
        sock: socket.socket,
        response: HTTPResponse,
        silence_s: float,
        end: float,
    ) -> None:
        self._client = client
        self._connection = connection
        self._socket = sock
        self._response = response
        self._silence_s = silence_s
        self._end = end
        self._whole = False
        self.status = response.status
        self.headers: Mapping[str, str] = {name.lower(): value for name, value in response.getheaders()}

    def chunks(self) -> Iterator[bytes]:
        """The body as it comes. Raises `TimeoutError` when its time is over, `HangUpError` when it ends too early."""
        while True:
            left_s = self._end - time.perf_counter()
            if left_s <= 0:
                raise TimeoutError
            self._socket.settimeout(min(self._silence_s, left_s))
            try:
                chunk = self._response.read1(_CHUNK)
            except TimeoutError:
                raise
            except (OSError, HTTPException) as error:
                raise HangUpError(_reason(error), begun=True) from None
            if not chunk:
                break
            yield chunk
        if self._response.length:
            raise HangUpError("the connection was closed in the middle of the answer", begun=True)
        self._whole = True

    def read(self) -> bytes:
        """The rest of the body."""
        return b"".join(self.chunks())

    def __enter__(self) -> Exchanged:
        return self

    def __exit__(self, *_raised: object) -> None:
        if not self._whole and _raised[0] is None:
            self._read_tail()
        self._response.close()
        reusable = self._whole and not self._response.will_close
        self._client.release(self._connection, reusable=reusable)

    def _read_tail(self) -> None:
        """The end of an answer of which enough is known: after a stream's last event, its last chunk."""
        self._end = min(self._end, time.perf_counter() + _TAIL_S)
        size = 0
        with suppress(TimeoutError, HangUpError):
            for chunk in self.chunks():
                size += len(chunk)
                if size > _TAIL:
                    break


def joined(*several: Mapping[str, str]) -> dict[str, str]:
    """Headers in one mapping: later ones replace earlier ones, whatever the case of their names."""
    found: dict[str, tuple[str, str]] = {}
    for headers in several:
        found |= {name.lower(): (name, value) for name, value in headers.items()}
    return dict(found.values())


def _is_alive(sock: socket.socket) -> bool:
    """Whether a connection that was kept open is still open, with nothing left over from the answer before."""
    sock.settimeout(0.0)
    try:
        left = socket.socket.recv(sock, 1, socket.MSG_PEEK)  # of the plain socket: nothing is decrypted
    except (BlockingIOError, InterruptedError):
        return True
    except OSError:
        return False
    # Encryption has messages of its own to send between answers.
    return bool(left) and isinstance(sock, ssl.SSLSocket)


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no connection in time"
    if isinstance(error, IncompleteRead):
        return "the connection was closed in the middle of the answer"
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
