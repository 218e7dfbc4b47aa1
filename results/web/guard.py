"""What stands before every page: whom it answers, and what a browser may do with an answer.

A page of another site can make a browser ask us, so requests must name our own address (else a name that is made to
point here would do), have been let in (`login.py`), and those that change something come from our own pages and carry
this server's token.
"""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Collection
from contextlib import suppress
from hmac import compare_digest

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from needlework.results.web.login import PARAMETER, Login

TOKEN_HEADER = "x-needlework-token"  # noqa: S105 - the name of a header
MOST_BYTES = 16 * 1024 * 1024  # of a request
_READS = ("GET", "HEAD")
_OPEN = "/static/"  # what is the same for everyone
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
    """Middleware. `hosts`: the addresses (`127.0.0.1:8765`) that requests may name. `closed`: the page for whoever was
    not let in."""

    def __init__(self, app: ASGIApp, *, token: str, hosts: Collection[str], login: Login, closed: str) -> None:
        self._app = app
        self._token = token
        self._hosts = frozenset(hosts)
        self._login = login
        self._closed = closed

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

        request = Request(scope)
        answer = self._refused(request) or self._let_in(request) or self._unsafe(request)
        if answer is not None:
            await answer(scope, receive, with_headers)
            return
        with suppress(CancelledError):  # the server ends; a browser that sends on is told by the closed connection
            await self._app(scope, _limited(receive), with_headers)

    def _refused(self, request: Request) -> Response | None:
        """What is no request to us."""
        if request.headers.get("host", "") not in self._hosts:
            return _no("this address is not ours: use the one that needlework serve printed")
        if request.headers.get("upgrade", "").lower() == "websocket":
            return _no("there are no WebSockets here", 400)
        return None

    def _let_in(self, request: Request) -> Response | None:
        """The token in an address is taken out of it, for a cookie; without either there is nothing to see."""
        given = request.query_params.get(PARAMETER)
        if request.method in _READS and given is not None and self._login.opened_by(given):
            address = request.url.remove_query_params(PARAMETER)
            place = address.path + (f"?{address.query}" if address.query else "")
            # Without a host: two slashes at the start of a path would be another one's.
            return RedirectResponse(f"/{place.lstrip('/')}", 303, {"set-cookie": self._login.set_cookie})
        if request.url.path.startswith(_OPEN) or self._login.knows(request.headers):
            return None
        if "text/html" in request.headers.get("accept", ""):
            return HTMLResponse(self._closed, 403)
        return _no("log in first: open the address with ?token= that needlework serve printed")

    def _unsafe(self, request: Request) -> Response | None:
        """What would change something, and does not come from our own pages."""
        headers = request.headers
        if request.method in _READS:
            return None
        here = headers.get("origin") == f"http://{headers['host']}"
        if not here or headers.get("sec-fetch-site", "same-origin") != "same-origin":
            return _no("changes are taken from our own pages alone")
        if not compare_digest(headers.get(TOKEN_HEADER, "").encode(), self._token.encode()):
            return _no("the page is of an earlier start: load it again")
        if headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            return _no("changes are sent as JSON")
        return None


def _no(line: str, status: int = 403) -> Response:
    return JSONResponse({"error": line}, status)


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
