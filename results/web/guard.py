"""What stands before every page: whom it answers, and what a browser may do with an answer.

A page of another site can make a browser ask us, so requests must name our own address (else a name that is made to
point here would do), and those that change something come from our own pages and carry this server's token.
"""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Collection
from contextlib import suppress
from hmac import compare_digest

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

TOKEN_HEADER = "x-needlework-token"  # noqa: S105 - the name of a header
MOST_BYTES = 16 * 1024 * 1024  # of a request
_READS = ("GET", "HEAD")
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Guard:
    """Middleware. `hosts`: the addresses (`127.0.0.1:8765`) that requests may name."""

    def __init__(self, app: ASGIApp, *, token: str, hosts: Collection[str]) -> None:
        self._app = app
        self._token = token
        self._hosts = frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
            await send(message)

        problem = self._problem(scope["method"], Headers(scope=scope))
        if problem:
            await JSONResponse({"error": problem}, status_code=403)(scope, receive, with_headers)
            return
        with suppress(CancelledError):  # the server ends; a browser that sends on is told by the closed connection
            await self._app(scope, _limited(receive), with_headers)

    def _problem(self, method: str, headers: Headers) -> str:
        host = headers.get("host", "")
        if host not in self._hosts:
            return "this address is not ours: use the one that needlework serve printed"
        if method in _READS:
            return ""
        if headers.get("origin") != f"http://{host}" or headers.get("sec-fetch-site", "same-origin") != "same-origin":
            return "changes are taken from our own pages alone"
        if not compare_digest(headers.get(TOKEN_HEADER, "").encode(), self._token.encode()):
            return "the page is of an earlier start: load it again"
        if headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            return "changes are sent as JSON"
        return ""


def _limited(receive: Receive) -> Receive:
    """The request's body, no more than `MOST_BYTES` of it."""
    seen = 0

    async def limited() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > MOST_BYTES:
            return {"type": "http.disconnect"}
        return message

    return limited
