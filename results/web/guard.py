"""Which requests the pages answer: those with the token, and changes from our own pages alone."""

from __future__ import annotations

import re
from asyncio import CancelledError
from collections.abc import Mapping
from contextlib import suppress
from hmac import compare_digest
from secrets import token_urlsafe

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from needlework.core.errors import InputError

# Other people may have accounts on the same machine, and 127.0.0.1 is theirs too: hence a token.
VARIABLE = "NEEDLEWORK_TOKEN"
PARAMETER = "token"
_TOKEN = re.compile(r"[A-Za-z0-9_-]{16,200}")
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # with less, a browser does not name the origin of a form
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def choose_token(environment: Mapping[str, str]) -> tuple[str, bool]:
    """The token of a server, and whether the user chose it: that one is not printed. Raises `InputError`."""
    chosen = environment.get(VARIABLE, "")
    if chosen and not _TOKEN.fullmatch(chosen):
        raise InputError(VARIABLE, "***", "give at least 16 of A-Z, a-z, 0-9, - and _, or unset it")
    return chosen or token_urlsafe(24), bool(chosen)


class Guard:
    """Middleware. `cookie`: the name of the cookie that holds the token; a browser sends cookies to all ports of a
    host, so it tells one server from another. `closed`: the page for requests without the token.
    """

    def __init__(self, app: ASGIApp, *, token: str, cookie: str, closed: str) -> None:
        self._app = app
        self._token = token
        self._cookie = cookie
        self._closed = closed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        refusal = self._refusal(Request(scope)) if scope["type"] == "http" else None
        with suppress(CancelledError):  # the server ends; a browser that sends on sees a closed connection
            await (refusal or self._app)(scope, receive, send_with_headers)

    def _refusal(self, request: Request) -> Response | None:
        is_read = request.method in ("GET", "HEAD")
        if is_read and self._is_token(request.query_params.get(PARAMETER, "")):
            address = request.url.remove_query_params(PARAMETER)
            # Without a host: two slashes at the start of a path would be another one's.
            path = "/" + address.path.lstrip("/") + (f"?{address.query}" if address.query else "")
            redirect = RedirectResponse(path, 303)
            redirect.set_cookie(self._cookie, self._token, httponly=True, samesite="strict")
            return redirect
        is_static = request.url.path.startswith("/static/")
        if not is_static and not self._is_token(request.cookies.get(self._cookie, "")):
            if "text/html" in request.headers.get("accept", ""):
                return HTMLResponse(self._closed, 403)
            return PlainTextResponse("open the address with ?token= that needlework serve printed", 403)
        # A page of another site can make a browser send us a form.
        is_ours = request.headers.get("origin") == f"http://{request.headers['host']}"
        if not is_read and not (is_ours and request.headers.get("sec-fetch-site", "same-origin") == "same-origin"):
            return PlainTextResponse("changes are taken from our own pages alone", 403)
        return None

    def _is_token(self, text: str) -> bool:
        return compare_digest(text.encode(), self._token.encode())
