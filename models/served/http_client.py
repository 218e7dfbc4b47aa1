"""HTTP client: a pool of connections."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import urlsplit

from needlework.models.event_loop import reader
from needlework.models.served.errors import HangUpError, UnreadableError, place_of, proxy_for, way_to
from needlework.models.served.http_connection import HttpConnection, Incoming, connected, head_of, unpacked


@dataclass(frozen=True, slots=True)
class Allowed:
    """How long an exchange may take, in seconds: without a sign from the server, and in all."""

    silence_s: float
    total_s: float


class HttpClient:
    """Exchanges with one server, as many at once as are asked for. Headers and addresses are never shown.

    A connection is kept when its answer has been read, and used again; there are as many as exchanges at once.
    """

    def __init__(
        self, url: str, headers: Mapping[str, str], *, proxy: str | None = None, environment: bool = True
    ) -> None:
        """`url`: any address of the server; its user, password and query are sent with every request.

        `environment`: whether proxies may come from environment variables (`HTTPS_PROXY`, `NO_PROXY`, ...).
        """
        server = place_of(url)
        self._way = way_to(server, proxy_for(url, proxy, environment))
        self._headers = {"User-Agent": "needlework", **headers, **server.headers, **self._way.headers}
        self._query = urlsplit(url).query
        self._heads: dict[tuple[str, str], bytes] = {}
        self._idle: list[HttpConnection] = []
        self._open: set[HttpConnection] = set()
        self._closed = False

    def send(self, method: str, url: str, body: bytes | None, allowed: Allowed) -> BlockingReply:
        """As `exchange`, for a thread that waits."""
        return BlockingReply(reader().wait(self.exchange(method, url, body, allowed)))

    async def exchange(self, method: str, url: str, body: bytes | None, allowed: Allowed) -> Exchanged:
        """Send a request and wait for the head of the answer. Of `url` only path and query count.

        Raises `UnreachableError`, `HangUpError`, `UnreadableError` or `TimeoutError`. Redirects are answers like any
        other. A kept connection that the server has closed meanwhile costs no attempt: the next one is taken.
        """
        end = time.perf_counter() + allowed.total_s
        silence_s = min(allowed.silence_s, allowed.total_s)
        head = self._heads.get((method, url)) or self._head(method, url)
        message = head + (b"\r\n" if body is None else b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        while True:
            kept = self._kept()
            connection = kept or await self._connected(silence_s, end)
            try:
                incoming = await connection.exchange(message, silence_s, end)
            except BaseException as error:
                self.drop(connection)
                if isinstance(error, HangUpError) and kept and not self._closed and connection.is_stale:
                    continue
                raise
            return Exchanged(incoming, connection, self)

    def _head(self, method: str, url: str) -> bytes:
        parts = urlsplit(url)
        query = "&".join(part for part in (parts.query, self._query) if part)
        target = (parts.path or "/") + (f"?{query}" if query else "")
        found = self._heads[method, url] = head_of(method, self._way, target, self._headers)
        return found

    def _kept(self) -> HttpConnection | None:
        """The connection that was used last, if it can be used again."""
        while self._idle:
            connection = self._idle.pop()
            if connection.is_usable:
                return connection
            self.drop(connection)
        return None

    async def _connected(self, silence_s: float, end: float) -> HttpConnection:
        connection = None if self._closed else await connected(self._way, silence_s, end)
        if connection is not None and not self._closed:
            self._open.add(connection)
            return connection
        if connection is not None:
            connection.close()
        raise HangUpError("the connection was closed on this side")

    def keep(self, connection: HttpConnection) -> None:
        """Use a connection again: its answer has been read to the end."""
        if self._closed:
            self.drop(connection)
            return
        connection.rest()
        self._idle.append(connection)

    def drop(self, connection: HttpConnection) -> None:
        """Use a connection no longer."""
        self._open.discard(connection)
        connection.close()

    def abort(self) -> None:
        """Take no more requests, and end those in flight: each raises `HangUpError`. From any thread."""
        self._closed = True
        reader().call(self._end_all)

    def _end_all(self) -> None:
        for connection in tuple(self._open):
            self.drop(connection)
        self._idle.clear()


class BlockingReply:
    """An `Exchanged` for a thread that waits."""

    def __init__(self, exchanged: Exchanged) -> None:
        self._exchanged = exchanged
        self.status = exchanged.status
        self.headers = exchanged.headers

    def chunks(self) -> Iterator[bytes]:
        """As `Exchanged.chunks`."""
        chunks = self._exchanged.chunks()

        async def following() -> bytes | None:
            return await anext(chunks, None)

        while (chunk := reader().wait(following())) is not None:
            yield chunk

    def __enter__(self) -> BlockingReply:
        return self

    def __exit__(self, *raised: object) -> None:
        reader().wait(self._exchanged.__aexit__(*raised))


_TAIL_S = 0.2  # for what comes after the part of an answer that matters, so that its connection can be used again


class Keeper(Protocol):
    """Whose the connections are."""

    def keep(self, connection: HttpConnection) -> None:
        """Use it again."""
        ...

    def drop(self, connection: HttpConnection) -> None:
        """Use it no longer."""
        ...


class Exchanged:
    """An answer whose head has come. A context manager: leaving it gives the connection back.

    `headers`: their names in small letters.
    """

    def __init__(self, incoming: Incoming, connection: HttpConnection, keeper: Keeper) -> None:
        self._incoming = incoming
        self._connection = connection
        self._keeper = keeper
        self._over = False
        self.status = incoming.status
        self.headers = incoming.headers

    @property
    def packed(self) -> bool:
        """Whether the body has a checksum at its end, which nothing before it can stand in for."""
        return self.headers.get("content-encoding", "").strip().lower() not in ("", "identity")

    def chunks(self) -> AsyncIterator[bytes]:
        """The body as it comes, unpacked.

        Raises `TimeoutError` when its time is over, `HangUpError` when it ends too early, `UnreadableError` when it is
        packed and cannot be unpacked.
        """
        return unpacked(self, self.headers["content-encoding"]) if self.packed else self

    def __aiter__(self) -> Exchanged:
        return self

    async def __anext__(self) -> bytes:
        """The next piece of the body, as it was sent. A generator that is left halfway would cost the reader a task."""
        piece = await self._connection.piece()
        if not piece:
            self._over = True
            raise StopAsyncIteration
        return piece

    async def __aenter__(self) -> Exchanged:
        return self

    async def __aexit__(self, *raised: object) -> None:
        if raised[0] is None and not self._over:
            self._connection.end_at(time.perf_counter() + _TAIL_S)
            with suppress(TimeoutError, HangUpError, UnreadableError):
                async for _ in self:
                    pass
        if self._over and self._incoming.reusable:
            self._keeper.keep(self._connection)
        else:
            self._keeper.drop(self._connection)
