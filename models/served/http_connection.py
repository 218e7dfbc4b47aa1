"""One HTTP/1.1 connection: heads, bodies, time limits."""

from __future__ import annotations

import asyncio
import time
import zlib
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Mapping
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import cast
from urllib.parse import quote

import httptools

from needlework.models.event_loop import in_thread
from needlework.models.served.errors import HangUpError, UnreachableError, UnreadableError, Way, reason

_CONNECT_S = 20.0
_IDLE_S = 4.0  # uvicorn, which most model servers run on, hangs up after 5 s
_HELD = 4 * 2**20  # bytes that have come and are not read yet; a server that sends more has to wait


class HttpConnection(asyncio.Protocol):
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


async def connected(way: Way, silence_s: float, end: float) -> HttpConnection:
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
            HttpConnection,
            sock=http.sock,
            ssl=way.tls if encrypted else None,
            server_hostname=way.server.at[0] if encrypted and way.tunnels else http.host if encrypted else None,
            ssl_handshake_timeout=max(0.001, until - time.perf_counter()) if encrypted else None,
        )
    except (OSError, HTTPException, UnicodeError) as error:
        http.close()
        raise UnreachableError(reason(error)) from None
    return connection


_HEADERS = 100  # as many as `http.client` takes
_HEAD = 65_536  # bytes that may come before a head has ended, or between two pieces of a body
# What servers and `http.client` get along with, though the standard does not have it.
_LENIENT = {
    "lenient_optional_cr_before_lf": True,
    "lenient_optional_lf_after_cr": True,
    "lenient_chunked_length": True,
    "lenient_spaces_after_chunk_size": True,
    "lenient_data_after_close": True,
    "lenient_headers": True,
}


class Incoming:
    """One answer (RFC 9112). `status` is 0 until its head has come; `headers` have names in small letters.

    `reusable`: whether the connection may be used again once the answer is over.
    """

    def __init__(self) -> None:
        self.status = 0
        self.headers: Mapping[str, str] = {}
        self.reusable = False
        self.begun = False
        self.is_over = False
        self._found: dict[str, str] = {}
        self._lines = 0
        self._unparsed = 0  # bytes since the last piece of the body, or since the beginning
        self._first = b""
        self._body: list[bytes] = []
        self._parser = httptools.HttpResponseParser(self)
        self._parser.set_dangerous_leniencies(**_LENIENT)

    def take(self, data: bytes) -> None:
        """Take in what has come.

        Raises `HangUpError` for what is no answer, `UnreadableError` for a head that cannot be read.
        """
        self.begun = True
        if self.is_over:
            self.reusable = False  # more than was asked for
            return
        if not self.status:
            self._first = (self._first + data)[:200]
        self._unparsed += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self.is_over = True
        except httptools.HttpParserError as error:
            if isinstance(error.__context__, KeyboardInterrupt):  # came while the parser called us
                raise error.__context__ from None
            if self.is_over:
                self.reusable = False
            elif self.status:
                raise self._broken from None
            elif isinstance(error.__context__, UnreadableError):
                raise error.__context__ from None
            elif self._first.startswith(b"HTTP/1."):
                raise UnreadableError(f"the head of the answer cannot be read: {error}") from None
            else:
                line = self._first.partition(b"\n")[0]
                raise HangUpError(f"BadStatusLine: {line.decode('latin-1').strip()}") from None
        if self._unparsed > _HEAD and not self.is_over:
            if self.status:
                raise self._broken
            raise UnreadableError(f"the head of the answer cannot be read: more than {_HEAD} bytes")

    def body(self) -> bytes:
        """What has come of the body since the last look."""
        found, self._body = self._body, []
        return found[0] if len(found) == 1 else b"".join(found)

    def end(self) -> None:
        """Nothing more comes. Raises `HangUpError` where the answer was not over."""
        if self.status and self._until_closed:
            self.is_over = True
        if not self.begun:
            raise HangUpError("RemoteDisconnected: Remote end closed connection without response")
        if not self.is_over:
            raise HangUpError("the connection was closed in the middle of the answer", begun=bool(self.status))

    @property
    def _until_closed(self) -> bool:
        """Whether the body lasts as long as the connection."""
        chunked = self.headers.get("transfer-encoding", "").lower().endswith("chunked")
        return not chunked and "content-length" not in self.headers

    @property
    def _broken(self) -> HangUpError:
        return HangUpError("the connection was closed in the middle of the answer", begun=True)

    # What the parser calls.

    def on_message_begin(self) -> None:
        if self.is_over:
            self.reusable = False

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.status:  # behind the body
            return
        self._lines += 1
        if self._lines > _HEADERS:
            raise UnreadableError(f"the head of the answer cannot be read: more than {_HEADERS} headers")
        self._found.setdefault(name.strip().lower().decode("latin-1"), value.strip().decode("latin-1"))

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if 100 <= status < 200 and status != 101:  # the server goes on: another head follows
            self._found.clear()
        elif not self.status:
            self.status, self.headers = status, self._found

    def on_body(self, piece: bytes) -> None:
        self._unparsed = 0
        if not self.is_over:
            self._body.append(piece)

    def on_message_complete(self) -> None:
        if self.status and not self.is_over:
            self.is_over = True
            self.reusable = self._parser.should_keep_alive()


_KEPT = "%/:=&?~#+!$,;'@()*[]"  # signs of an address that are not written otherwise


class _RecordedRequest(HTTPConnection):
    """One that keeps what it is to send."""

    written = b""

    def send(self, data: object) -> None:
        self.written += bytes(data)  # type: ignore[call-overload]


def head_of(method: str, way: Way, target: str, headers: Mapping[str, str]) -> bytes:
    """A head without the size of its body and without its end. Of headers of one name the last counts, in any case.

    Raises `ValueError` where a header or an address has signs that none can have.
    """
    writing = _RecordedRequest(*way.server.at)
    writing.default_port = way.server.default_port
    named = {name.lower(): (name, value) for name, value in headers.items()}
    own = {"host": "skip_host", "accept-encoding": "skip_accept_encoding"}
    writing.putrequest(method, way.prefix + quote(target, _KEPT), **{own[name]: True for name in own if name in named})
    for name, value in named.values():
        writing.putheader(name, value)
    writing.endheaders()
    return writing.written.removesuffix(b"\r\n")


_PIECE = 2**20  # bytes that one packed chunk is unpacked to at a time: a small chunk may hold gigabytes
_ANY_HEADER = 32 + zlib.MAX_WBITS  # gzip's or zlib's, whichever comes


async def unpacked(chunks: AsyncIterable[bytes], encoding: str) -> AsyncIterator[bytes]:
    """The chunks of a packed body, unpacked.

    Raises `UnreadableError`: a body that ends before its checksum is no answer, whatever its first part says.
    """
    packing = encoding.strip().lower()
    if packing not in ("gzip", "x-gzip", "deflate"):
        raise UnreadableError(f"the answer is packed as {packing[:40]!r}, which was not asked for")
    reader, begun = zlib.decompressobj(_ANY_HEADER), False
    async for chunk in chunks:
        rest = chunk
        while rest:
            if reader.eof:  # gzip may come in members, one behind the other
                reader, begun = zlib.decompressobj(_ANY_HEADER), False
            try:
                piece = reader.decompress(rest, _PIECE)
            except zlib.error as error:
                if begun or packing != "deflate":
                    raise UnreadableError(f"the packed answer is damaged: {error}") from None
                reader = zlib.decompressobj(-zlib.MAX_WBITS)  # some send deflate without zlib's header
                begun = True
                continue
            begun = True
            rest = reader.unconsumed_tail or reader.unused_data
            if piece:
                yield piece
    if begun and not reader.eof:
        raise UnreadableError("the packed answer was cut off: its end and checksum are missing")
