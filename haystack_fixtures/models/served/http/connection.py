"""One connection, whose time can be set until its answer has been read, and which can be ended from outside."""

from __future__ import annotations

import io
import select
import socket
import ssl
import struct
import time
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import Any, cast

from needlework.haystack_fixtures.models.served.http.failures import UnreachableError, reason

_CONNECT_S = 20.0
_IDLE_S = 4.0  # uvicorn, which most model servers run on, hangs up after 5 s
_JUST_NOW_S = 0.005  # so shortly after an answer nothing is looked for behind it


class Connection:
    """A connection that is open: one exchange after another, each within a time of its own.

    Threads take turns at one interpreter, and each call that may wait costs a turn. So an exchange has few of them: a
    request goes out in one piece, and how long an answer may take is told to the system with no call that waits.
    Encrypted ones cannot be told so.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._encrypted = isinstance(sock, ssl.SSLSocket)
        self._silence_s = self._end = 0.0
        self._used = time.monotonic()
        if not self._encrypted:
            sock.settimeout(None)

    def exchange(self, message: bytes, silence_s: float, end: float) -> HTTPResponse:
        """Send a request and wait for the head of its answer.

        The answer may take `silence_s` seconds without a sign, and last until `end` (a `time.perf_counter()` time).
        Raises what sockets and `http.client` raise.
        """
        self._silence_s, self._end = silence_s, end
        with suppress(BrokenPipeError):  # a refusal may be there before all has been sent
            self._send(message)
        response = HTTPResponse(cast("socket.socket", self))
        response.begin()
        return response

    def end_at(self, end: float) -> None:
        """Let the rest of an answer come until then, no longer."""
        self._end = min(self._end, end)

    def makefile(self, _mode: str) -> io.BufferedReader:
        """What is received from now on, as `http.client` asks a socket for it."""
        return io.BufferedReader(_Received(self))

    def receive_into(self, buffer: Any) -> int:
        """What comes next, in time. Raises `TimeoutError`."""
        left_s = self._left_s()
        if self._encrypted:
            self._sock.settimeout(left_s)
            return self._sock.recv_into(buffer)
        self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _timeval(left_s))
        try:
            return self._sock.recv_into(buffer)
        except BlockingIOError:
            raise TimeoutError from None

    def _send(self, message: bytes) -> None:
        sent = 0
        if not self._encrypted:
            with suppress(BlockingIOError):
                sent = self._sock.send(message, socket.MSG_DONTWAIT)
        if sent < len(message):
            self._sock.settimeout(self._left_s())
            self._sock.sendall(memoryview(message)[sent:])
            if not self._encrypted:
                self._sock.settimeout(None)

    def _left_s(self) -> float:
        left_s = self._end - time.perf_counter()
        if left_s <= 0:
            raise TimeoutError
        return min(self._silence_s, left_s)

    def rest(self) -> None:
        """The answer has been read."""
        self._used = time.monotonic()

    @property
    def is_usable(self) -> bool:
        """Whether it can be used again: the server has not closed it, and will not soon, and has sent nothing more."""
        rested_s = time.monotonic() - self._used
        return rested_s < _IDLE_S and (rested_s < _JUST_NOW_S or not self._has_something())

    def _has_something(self) -> bool:
        """Whether there is something to be read, or the end."""
        waiting = select.poll()
        waiting.register(self._sock, select.POLLIN)
        return bool(waiting.poll(0))

    def abort(self) -> None:
        """End it from another thread, which is told so."""
        with suppress(OSError):
            # Of the plain socket: an encrypted one forgets its keys first, and other threads still send.
            socket.socket.shutdown(self._sock, socket.SHUT_RDWR)

    def close(self) -> None:
        self._sock.close()


def connected(http: HTTPConnection, silence_s: float, end: float) -> Connection:
    """Connect, through a tunnel where there is one, and with encryption. Raises `UnreachableError`."""
    http.timeout = min(silence_s, _CONNECT_S, max(0.001, end - time.perf_counter()))
    try:
        http.connect()
    except (OSError, HTTPException, UnicodeError) as error:
        http.close()
        raise UnreachableError(reason(error)) from None
    return Connection(http.sock)


class _Received(io.RawIOBase):
    """What a connection receives, each part in the time that is left: a head that drips in must not last for ever."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._connection.receive_into(buffer)


def _timeval(seconds: float) -> bytes:
    """C's `struct timeval`; none is so short that it means for ever."""
    whole = int(seconds)
    return struct.pack("ll", whole, max(1, int(1e6 * (seconds - whole))))
