"""An answer whose head has come: its body is read, unpacked, within its time."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from http.client import HTTPException, HTTPResponse, IncompleteRead
from typing import Protocol

from needlework.haystack_fixtures.models.served.http.connection import Connection
from needlework.haystack_fixtures.models.served.http.failures import HangUpError, UnreadableError, failure
from needlework.haystack_fixtures.models.served.http.unpacking import PackedError, unpacked

_CHUNK = 65_536
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

    `headers`: found whatever the case of their names.
    """

    def __init__(self, response: HTTPResponse, connection: Connection, keeper: Keeper) -> None:
        self._response = response
        self._connection = connection
        self._keeper = keeper
        self._over = False
        self.status = response.status
        self.headers: Mapping[str, str] = response.headers  # type: ignore[assignment]  # email's, much like one

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
        response = self._response
        while not self._over:
            try:
                chunk = response.read1(_CHUNK)
                if not chunk and response.length:
                    raise IncompleteRead(b"", response.length)
            except (OSError, HTTPException) as error:
                raise failure(error, begun=True) from None
            self._over = not chunk or response.length == 0
            if chunk:
                yield chunk

    def __enter__(self) -> Exchanged:
        return self

    def __exit__(self, *raised: object) -> None:
        if raised[0] is None and not self._over:
            self._connection.end_at(time.perf_counter() + _TAIL_S)
            with suppress(TimeoutError, HangUpError):
                for _ in self._received():
                    pass
        if self._over and not self._response.will_close:
            self._keeper.keep(self._connection)
        else:
            self._keeper.drop(self._connection)
