"""HTTP to one server, through urllib3: with a deadline for every exchange, and an end to those of other threads."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit
from weakref import WeakSet

from urllib3 import HTTPHeaderDict
from urllib3.exceptions import HTTPError

from needlework.haystack_fixtures.models.served.http.connection import Connection, SecureConnection, Sending
from needlework.haystack_fixtures.models.served.http.exchanged import Exchanged
from needlework.haystack_fixtures.models.served.http.failures import HangUpError, failure, is_stale
from needlework.haystack_fixtures.models.served.http.place import place_of, pool_to, proxy_for


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
        self._pool.ConnectionCls = SecureConnection if self._pool.scheme == "https" else Connection
        self._sending = Sending()
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
                if self._sending.reused and not self._closed and is_stale(error):
                    continue
                raise failure(error, begun=False) from None
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
