"""One connection: one exchange after another, each within a time of its own."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import cast

from needlework.haystack_fixtures.models.reader import in_thread
from needlework.haystack_fixtures.models.served.http.failures import (
    HangUpError,
    UnreachableError,
    UnreadableError,
    reason,
)
from needlework.haystack_fixtures.models.served.http.incoming import Incoming
from needlework.haystack_fixtures.models.served.http.place import Way

_CONNECT_S = 20.0
_IDLE_S = 4.0  # uvicorn, which most model servers run on, hangs up after 5 s
_HELD = 4 * 2**20  # bytes that have come and are not read yet; a server that sends more has to wait


class Connection(asyncio.Protocol):
    """A connection that is open. Its methods are for the reader."""

    def __init__(self) -> None:
        self._incoming: Incoming | None = None  # the answer that is waited for
        self._pieces: deque[bytes] = deque()
        self._held = 0
        self._news: asyncio.Future[None] | None = None
        self._error: Exception | None = None
        self._silence_s = self._end = 0.0
        self._used = time.monotonic()
        self.is_open = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        if self._incoming is None:  # nobody has asked
            self.close()
            return
        try:
            self._incoming.take(data)
        except (HangUpError, UnreadableError) as error:
            self._error = error
            self.close()
        if piece := self._incoming.body():
            self._pieces.append(piece)
            self._held += len(piece)
        if self._held > _HELD:
            self._transport.pause_reading()
        self._tell()

    def connection_lost(self, error: Exception | None) -> None:
        self.is_open = False
        if self._incoming is not None and self._error is None:
            try:
                if error is not None and not self._incoming.is_over:
                    raise HangUpError(reason(error), begun=bool(self._incoming.status))
                self._incoming.end()
            except HangUpError as early:
                self._error = early
        self._tell()

    def _tell(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    async def exchange(self, message: bytes, silence_s: float, end: float) -> Incoming:
        """Send a request and wait for the head of its answer.

        The answer may take `silence_s` seconds without a sign, and last until `end` (a `time.perf_counter()` time).
        Raises `TimeoutError`, `HangUpError` or `UnreadableError`.
        """
        self._silence_s, self._end = silence_s, end
        incoming = self._incoming = Incoming()
        self._transport.write(message)
        while not incoming.status:
            await self._come()
        return incoming

    async def piece(self) -> bytes:
        """What comes next of the answer's body; empty at its end. Raises as `exchange` does."""
        while not self._pieces:
            if self._incoming is None or self._incoming.is_over:
                return b""
            await self._come()
        if time.perf_counter() > self._end:
            raise TimeoutError
        piece = self._pieces.popleft()
        was_full, self._held = self._held > _HELD, self._held - len(piece)
        if was_full and self._held <= _HELD:
            self._transport.resume_reading()
        return piece

    async def _come(self) -> None:
        """Wait until something has come, in time."""
        if self._error is not None:
            raise self._error
        if not self.is_open:
            raise HangUpError("the connection was closed on this side", begun=self._has_begun)
        left_s = self._end - time.perf_counter()
        if left_s <= 0:
            raise TimeoutError
        loop = asyncio.get_running_loop()
        self._news = loop.create_future()
        timer = loop.call_later(min(self._silence_s, left_s), self._late)
        try:
            await self._news
        finally:
            timer.cancel()
            self._news = None

    def _late(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_exception(TimeoutError())

    @property
    def _has_begun(self) -> bool:
        return self._incoming is not None and bool(self._incoming.status)

    @property
    def is_stale(self) -> bool:
        """Whether it was closed by the other side before a byte of an answer came."""
        return not self.is_open and self._incoming is not None and not self._incoming.begun

    def end_at(self, end: float) -> None:
        """Let the rest of an answer come until then, no longer."""
        self._end = min(self._end, end)

    def rest(self) -> None:
        """The answer has been read."""
        self._used = time.monotonic()
        self._incoming = None

    @property
    def is_usable(self) -> bool:
        """Whether it can be used again: the server has not closed it, and will not soon, and has sent nothing more."""
        return self.is_open and not self._transport.is_closing() and time.monotonic() - self._used < _IDLE_S

    def close(self) -> None:
        """End it. Who waits for an answer is told so."""
        self._transport.abort()


async def connected(way: Way, silence_s: float, end: float) -> Connection:
    """Connect, through a tunnel where there is one, and with encryption. Raises `UnreachableError`."""
    until = time.perf_counter() + min(silence_s, _CONNECT_S, max(0.001, end - time.perf_counter()))
    http = way.connection()
    http.timeout = until - time.perf_counter()
    try:
        # Looking up a name blocks, and `http.client` knows tunnels. Encryption comes on top, without blocking.
        await in_thread(partial(HTTPConnection.connect, http))
        encrypted = isinstance(http, HTTPSConnection)
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(
            Connection,
            sock=http.sock,
            ssl=way.tls if encrypted else None,
            server_hostname=way.server.at[0] if encrypted and way.tunnels else http.host if encrypted else None,
            ssl_handshake_timeout=max(0.001, until - time.perf_counter()) if encrypted else None,
        )
    except (OSError, HTTPException, UnicodeError) as error:
        http.close()
        raise UnreachableError(reason(error)) from None
    return connection
