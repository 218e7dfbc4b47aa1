"""One connection, whose time can be set until its answer has been read, and which can be ended from outside."""

from __future__ import annotations

import io
import math
import socket
import threading
import time
from collections.abc import Callable
from http.client import HTTPException, HTTPResponse
from typing import Any, cast

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError

from needlework.haystack_fixtures.models.served.http.failures import UnreachableError, reason

_CONNECT_S = 20.0
_IDLE_S = 4.0  # uvicorn, which most model servers run on, hangs up after 5 s


class Sending(threading.local):
    """What a connection must know of the exchange that its thread has begun, and tells about it."""

    end: float = math.inf  # a `time.perf_counter()` time
    reused: bool = False


class Connection(HTTPConnection):
    """One that can be ended from outside, and whose time can be set until its answer has been read.

    `query` is sent with every address. It may hold a key, and urllib3 logs the addresses that it knows.
    """

    def __init__(
        self,
        *args: Any,
        opened: Callable[[socket.socket], None],
        query: str,
        sending: Sending,
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
            raise UnreachableError(reason(error)) from None
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


class SecureConnection(Connection, HTTPSConnection):
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
