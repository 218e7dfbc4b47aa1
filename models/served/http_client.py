"""HTTP client of one server, over aiohttp: timeouts, proxies, certificates, errors of our own."""

from __future__ import annotations

import asyncio
import gzip
import os
import ssl
import zlib
from base64 import b64encode
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from io import BytesIO
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
from aiohttp.http_exceptions import BadStatusLine, PayloadEncodingError
from multidict import CIMultiDict
from yarl import URL

from needlework.core.errors import InputError
from needlework.models.event_loop import event_loop
from needlework.models.served.errors import HangUpError, TooSlowError, UnreachableError, UnreadableError

LARGEST = 64 * 2**20  # bytes of a body, unpacked; the longest answers have some hundred thousand
_CONNECT_S = 20.0
_IDLE_S = 4.0  # uvicorn, which most model servers run on, hangs up after 5 s
_TAIL_S = 0.2  # for what comes after the part of an answer that matters, so that its connection can be used again
_PLAIN = "%/:=&?~#+!$,;'@()*[]"  # signs of an address that are not written otherwise
_HEADERS, _HEADER = 100, 65_536  # the most headers of an answer, and bytes of one


@dataclass(frozen=True, slots=True)
class Allowed:
    """Timeouts of an exchange, in seconds: without a sign from the server, and in all."""

    silence_s: float
    total_s: float


class HttpClient:
    """Exchanges with one server, as many at once as are asked for; connections are used again.

    Redirects are replies like any other: a key never follows one. Headers and addresses are never shown.
    """

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        *,
        proxy: str | None = None,
        environment: bool = True,
        query: str = "",
    ) -> None:
        """`url`: any address of the server; its login and query go with every request, as does `query`.

        `environment`: whether proxies may come from environment variables (`HTTPS_PROXY`, `NO_PROXY`, ...).
        """
        parts = urlsplit(url)
        self._root, login = _without_login(url)
        self._query = "&".join(part for part in (parts.query, query) if part)
        self._proxy: str | None
        self._proxy, proxy_login = proxy_for(url, proxy, environment) or (None, None)
        self._headers: CIMultiDict[str] = CIMultiDict({"User-Agent": "needlework", "Accept-Encoding": "identity"})
        for name, value in (*headers.items(), *({"Authorization": login} if login else {}).items()):
            self._headers.pop(name, None)
            self._headers[name] = value
        self._proxy_headers = {"Proxy-Authorization": proxy_login} if proxy_login else None
        if self._proxy_headers and parts.scheme == "http":  # no tunnel: the proxy reads the request itself
            self._headers.update(self._proxy_headers)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._session: aiohttp.ClientSession | None = None
        self._closed = False

    def send(self, method: str, url: str, body: bytes | None, allowed: Allowed, most: int = LARGEST) -> HttpExchange:
        """Send a request and wait for all of its reply, for a thread that waits. Raises as `exchange`.

        A body of more than `most` bytes raises `UnreadableError`.
        """

        async def whole() -> HttpExchange:
            async with self.exchange(method, url, body, allowed) as answer:
                answer.body = await answer.read_whole(most)
            return answer

        return event_loop().wait(whole())

    @asynccontextmanager
    async def exchange(
        self, method: str, url: str, body: bytes | None, allowed: Allowed
    ) -> AsyncIterator[HttpExchange]:
        """Send a request and wait for the head of the answer. Of `url` only path and query count.

        Raises `UnreachableError`, `HangUpError`, `UnreadableError`, `TimeoutError` (`TooSlowError` where the answer had
        begun).
        """
        task = asyncio.current_task()
        answer: HttpExchange | None = None
        if task is None or self._closed:
            raise HangUpError("the connection was closed on this side")
        self._tasks.add(task)
        try:
            async with asyncio.timeout(allowed.total_s):
                answer = HttpExchange(await self._send(method, url, body, allowed))
                try:
                    yield answer
                    await answer.read_tail()
                finally:
                    answer.close()
        except asyncio.CancelledError:
            if not self._closed:
                raise
            task.uncancel()
            raise HangUpError("the connection was closed on this side", begun=answer is not None) from None
        except (TimeoutError, aiohttp.ClientError) as error:
            raise _in_our_words(error, answer) from None
        finally:
            self._tasks.discard(task)

    async def _send(self, method: str, url: str, body: bytes | None, allowed: Allowed) -> aiohttp.ClientResponse:
        """The head of the answer. A kept connection that the server has closed meanwhile costs no attempt."""
        silence_s = min(allowed.silence_s, allowed.total_s)
        limits = aiohttp.ClientTimeout(connect=min(silence_s, _CONNECT_S), sock_read=silence_s)
        parts = urlsplit(url)
        query = "&".join(part for part in (parts.query, self._query) if part)
        # As written: a secret in another form than the redactor knows would be shown when a server says it again.
        target = quote((parts.path or "/") + (f"?{query}" if query else ""), _PLAIN)
        address = URL(self._root + target, encoded=True)
        self._session = self._session or self._new_session()
        while True:
            connection = SimpleNamespace(was_kept=False)
            try:
                return await self._session.request(
                    method,
                    address,
                    data=body,
                    headers=self._headers,  # those of a session would be sent to a proxy too, the key with them
                    timeout=limits,
                    allow_redirects=False,
                    proxy=self._proxy,
                    proxy_headers=self._proxy_headers,
                    trace_request_ctx=connection,
                )
            except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as error:
                some_came = isinstance(error, aiohttp.ServerDisconnectedError) and not isinstance(error.message, str)
                if not connection.was_kept or some_came or self._closed:
                    raise

    def _new_session(self) -> aiohttp.ClientSession:
        async def note(_session: object, context: SimpleNamespace, _params: object) -> None:
            context.trace_request_ctx.was_kept = True

        tracing = aiohttp.TraceConfig()
        tracing.on_connection_reuseconn.append(note)
        encrypted = self._root.startswith("https:") or str(self._proxy).startswith("https:")
        # No limit here: how many requests are in flight, the limiter decides.
        connector = _Connector(limit=0, keepalive_timeout=_IDLE_S, ssl=trusted() if encrypted else True)
        return aiohttp.ClientSession(
            connector=connector,
            skip_auto_headers=("Content-Type", "Accept"),
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            trace_configs=[tracing],
            max_line_size=_HEADER,
            max_field_size=_HEADER,
            max_headers=_HEADERS,
        )

    def abort(self) -> None:
        """Take no more requests, and end those in flight: each raises `HangUpError`. From any thread."""
        self._closed = True
        event_loop().call(self._end_all)

    def _end_all(self) -> None:
        for task in tuple(self._tasks):
            task.cancel()
        if self._session is not None:
            event_loop().submit(self._session.close())


class _Connector(aiohttp.TCPConnector):
    """Reuses no connection with unread data: it would be taken for the next request's answer."""

    async def _get(self, key: Any, traces: Any) -> Any:
        while (connection := await super()._get(key, traces)) is not None:
            if connection.protocol is not None and not connection.protocol.should_close:
                return connection
            connection.close()
        return None


class HttpExchange:
    """An answer whose head has come; names of `headers` in any case. `body`: what `HttpClient.send` has read."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        protocol = response.connection and response.connection.protocol
        # Where a chunk cannot be read aiohttp closes the connection, and tells nobody who waits for the body.
        self._lost = protocol.closed if protocol is not None else None
        if self._lost is not None:
            self._lost.add_done_callback(self._end_body)
        elif protocol is not None:  # it is closed already
            self._end_body()
        self.status = response.status
        self.headers: Mapping[str, str] = response.headers
        self.body = b""
        self.has_begun = False

    async def read(self, take: Callable[[bytes], object], most: int = LARGEST) -> None:
        """Give the body to `take` as it comes until that returns true; a packed body as a whole."""
        packing = self.headers.get("content-encoding", "").strip().lower()
        packed, size = bytearray(), 0
        while chunk := await self._response.content.readany():
            self.has_begun = True
            size += len(chunk)
            if size > most:
                raise _too_long(most)
            if packing not in ("", "identity"):
                packed += chunk
            elif take(chunk):
                return
        if packed:
            take(unpack(bytes(packed), packing, most))

    async def read_whole(self, most: int = LARGEST) -> bytes:
        """The body. Raises `UnreadableError` for one of more than `most` bytes."""
        page = bytearray()
        await self.read(page.extend, most)
        return bytes(page)

    def _end_body(self, lost: asyncio.Future[None] | None = None) -> None:
        if lost is not None:
            lost.exception()  # it counts as looked at
        body = self._response.content
        if not body.is_eof() and body.exception() is None:
            body.set_exception(aiohttp.ClientPayloadError("the connection was closed"))

    async def read_tail(self) -> None:
        """Read what comes behind the part that mattered, for a moment: its connection can then be used again."""
        if not self._response.content.at_eof():
            with suppress(TimeoutError, aiohttp.ClientError):
                async with asyncio.timeout(_TAIL_S):
                    while await self._response.content.readany():
                        pass

    def close(self) -> None:
        """Give the connection back where the answer was read to its end, else end it."""
        if self._lost is not None:
            self._lost.remove_done_callback(self._end_body)
        self._response.close()


def _in_our_words(error: Exception, answer: HttpExchange | None) -> Exception:
    """Turn an error of aiohttp into one of ours."""
    match error:
        case aiohttp.ConnectionTimeoutError():
            return UnreachableError("no connection in time")
        case TimeoutError():
            if answer is None or not answer.has_begun:
                return TimeoutError()
            return TooSlowError("the answer had begun and was not over when its time was (see --timeout)")
        case aiohttp.ClientHttpProxyError():
            return UnreachableError(f"the proxy opens no tunnel: {error.status} {error.message}")
        case aiohttp.ClientConnectorCertificateError():
            return UnreachableError(_reason(error.certificate_error))
        case aiohttp.ClientConnectorError():
            return UnreachableError(_reason(error.os_error))
        case aiohttp.ClientResponseError():
            return _of_parsing(error)
        case aiohttp.ClientPayloadError():
            return HangUpError("the connection was closed in the middle of the answer", begun=True)
        case aiohttp.ServerDisconnectedError():
            return HangUpError("the server closed the connection without an answer", begun=answer is not None)
    return HangUpError(_reason(error), begun=answer is not None)


def _of_parsing(error: aiohttp.ClientResponseError) -> Exception:
    """The error for a reply that is no HTTP, or whose head or first chunk cannot be read."""
    cause, words = error.__cause__, " ".join(error.message.split())
    while cause is not None:
        if isinstance(cause, BadStatusLine):
            return HangUpError(f"no HTTP answer: {words}")
        if isinstance(cause, PayloadEncodingError) or "chunk size" in words:
            return HangUpError("the connection was closed in the middle of the answer", begun=True)
        cause = cause.__cause__
    return UnreadableError(f"the head of the answer cannot be read: {words}")


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no connection in time"
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def unpack(body: bytes, packing: str, most: int = LARGEST) -> bytes:
    """Unpack a body that was packed unasked. Raises `UnreadableError` if damaged, cut or too long.

    aiohttp takes a gzip body without its end and checksum for a whole one.
    """
    if packing not in ("gzip", "x-gzip"):
        raise UnreadableError(f"the answer is packed as {packing[:40]!r}, which was not asked for")
    try:
        with gzip.GzipFile(fileobj=BytesIO(body)) as file:
            unpacked = file.read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise UnreadableError(f"the packed answer is damaged: {error}") from None
    if len(unpacked) > most:
        raise _too_long(most)
    return unpacked


def _too_long(most: int) -> UnreadableError:
    return UnreadableError(f"the answer is longer than {most >> 20} MiB")


def proxy_for(url: str, proxy: str | None, environment: bool) -> tuple[str, str | None] | None:
    """The proxy of a server: its address and the header value of its login; `None` without one.

    `proxy`, or by `environment` that of `HTTPS_PROXY`, `NO_PROXY` and so on. Raises `InputError`.
    """
    server = urlsplit(url)
    address = proxy
    if address is None and environment and not proxy_bypass(server.hostname or ""):
        proxies = getproxies()
        address = proxies.get(server.scheme) or proxies.get("all")
    if not address:
        return None
    address = address if "://" in address else f"http://{address}"
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError("proxy", parts.scheme, "use an http:// proxy (environment variables, or --model-arg proxy=)")
    if parts.scheme == server.scheme == "https":
        raise InputError("proxy", "https://...", "an https server is reached through an http:// proxy only")
    return _without_login(address)


def _without_login(url: str) -> tuple[str, str | None]:
    """An address up to its path, and the header value of the user and password that stood in it."""
    parts = urlsplit(url)
    login, _, host = parts.netloc.rpartition("@")
    user, _, password = login.partition(":")
    pair = f"{unquote(user)}:{unquote(password)}".encode()
    return f"{parts.scheme}://{host}", f"Basic {b64encode(pair).decode()}" if login else None


def trusted() -> ssl.SSLContext:
    """The machine's certificates and `certifi`'s; with `SSL_CERT_FILE` or `_DIR` only the user's."""
    context = ssl.create_default_context()
    if not os.environ.get("SSL_CERT_FILE") and not os.environ.get("SSL_CERT_DIR"):
        with suppress(ImportError):
            import certifi

            context.load_verify_locations(certifi.where())
    return context
