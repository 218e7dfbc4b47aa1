"""An answer whose head has come: its body is read, unpacked, within its time."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import suppress

from urllib3 import BaseHTTPResponse
from urllib3.exceptions import HTTPError

from needlework.haystack_fixtures.models.served.http.connection import Connection
from needlework.haystack_fixtures.models.served.http.failures import HangUpError, UnreadableError, failure
from needlework.haystack_fixtures.models.served.http.unpacking import PackedError, unpacked

_CHUNK = 65_536
_TAIL_S = 0.2  # for what comes after the part of an answer that matters, so that its connection can be used again


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
            if isinstance(connection := self._response.connection, Connection):
                left_s = self._end - time.perf_counter()
                if left_s <= 0:
                    raise TimeoutError
                connection.allow(self._silence_s, self._end)
            try:
                chunk = self._response.read1(_CHUNK, decode_content=False)
            except HTTPError as error:
                raise failure(error, begun=True) from None
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
