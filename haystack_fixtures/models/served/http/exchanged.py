"""An answer whose head has come: its body is read, unpacked, within its time."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Protocol

from needlework.haystack_fixtures.models.served.http.connection import Connection
from needlework.haystack_fixtures.models.served.http.failures import HangUpError, UnreadableError
from needlework.haystack_fixtures.models.served.http.incoming import Incoming
from needlework.haystack_fixtures.models.served.http.unpacking import unpacked

_TAIL_S = 0.2  # for what comes after the part of an answer that matters, so that its connection can be used again


class Keeper(Protocol):
    """Whose the connections are."""

    def keep(self, connection: Connection) -> None:
        """Use it again."""
        ...

    def drop(self, connection: Connection) -> None:
        """Use it no longer."""
        ...


class Exchanged:
    """An answer whose head has come. A context manager: leaving it gives the connection back.

    `headers`: their names in small letters.
    """

    def __init__(self, incoming: Incoming, connection: Connection, keeper: Keeper) -> None:
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
