"""Which requests the pages answer: host, login, origin."""

from __future__ import annotations

import re
from asyncio import CancelledError
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from hmac import compare_digest
from hmac import new as keyed
from secrets import token_urlsafe

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request, cookie_parser
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from needlework.core.errors import InputError

# Other people may have accounts on the same machine, and 127.0.0.1 is theirs too: hence a login.
VARIABLE = "NEEDLEWORK_TOKEN"
PARAMETER = "token"
_TOKEN = re.compile(r"[A-Za-z0-9_-]{16,200}")
_READS = ("GET", "HEAD")
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


@dataclass(frozen=True, slots=True)
class Login:
    """`token`: what opens the pages. `cookie`: the name of the cookie that is given for it.

    A browser sends cookies to all ports of a host: the name has to tell one server from another. What is in the cookie
    is made of the token, and is not the token.
    """

    token: str = field(repr=False)
    cookie: str

    @property
    def proof(self) -> str:
        """What is in the cookie."""
        return keyed(self.token.encode(), b"needlework serve", sha256).hexdigest()

    def is_opened_by(self, token: str) -> bool:
        """Whether this is the token; in the same time for every wrong one."""
        return compare_digest(token.encode(), self.token.encode())

    def knows(self, headers: Headers) -> bool:
        """Whether a request has the cookie, or names the token as scripts do (`Authorization: Bearer TOKEN`)."""
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self.is_opened_by(token.strip()):
            return True
        shown = cookie_parser(headers.get("cookie", "")).get(self.cookie, "")
        return compare_digest(shown.encode(), self.proof.encode())


def login_for(port: int, environment: Mapping[str, str]) -> tuple[Login, bool]:
    """The login of a server, and whether its token was chosen: that one is not printed. Raises `InputError`."""
    chosen = environment.get(VARIABLE, "")
    if chosen and not _TOKEN.fullmatch(chosen):
        raise InputError(VARIABLE, "***", "give at least 16 of A-Z, a-z, 0-9, - and _, or unset it")
    return Login(chosen or token_urlsafe(24), f"needlework-{port}"), bool(chosen)


class Guard:
    """Middleware. `hosts`: the addresses (`127.0.0.1:8765`) that requests may name. `closed`: the page for whoever was
    not let in."""

    def __init__(self, app: ASGIApp, *, hosts: Collection[str], login: Login, closed: str) -> None:
        self._app = app
        self._hosts = frozenset(hosts)
        self._login = login
        self._closed = closed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        refusal = self._refusal(Request(scope)) if scope["type"] == "http" else None
        with suppress(CancelledError):  # the server ends; a browser that sends on is told by the closed connection
            await (refusal or self._app)(scope, receive, send_with_headers)

    def _refusal(self, request: Request) -> Response | None:
        """A page of another site can make a browser ask us, also by a name that is made to point here."""
        headers, is_read = request.headers, request.method in _READS
        if headers.get("host", "") not in self._hosts:
            return _refuse("this address is not ours: use the one that needlework serve printed")
        token = request.query_params.get(PARAMETER)
        if is_read and token is not None and self._login.is_opened_by(token):
            address = request.url.remove_query_params(PARAMETER)
            path = address.path + (f"?{address.query}" if address.query else "")
            cookie = f"{self._login.cookie}={self._login.proof}; Path=/; HttpOnly; SameSite=Strict"
            # Without a host: two slashes at the start of a path would be another one's.
            return RedirectResponse(f"/{path.lstrip('/')}", 303, {"set-cookie": cookie})
        if not request.url.path.startswith("/static/") and not self._login.knows(headers):
            if "text/html" in headers.get("accept", ""):
                return HTMLResponse(self._closed, 403)
            return _refuse("log in first: open the address with ?token= that needlework serve printed")
        is_ours = headers.get("origin") == f"http://{headers['host']}"
        if not is_read and not (is_ours and headers.get("sec-fetch-site", "same-origin") == "same-origin"):
            return _refuse("changes are taken from our own pages alone")
        return None


def _refuse(line: str) -> Response:
    return PlainTextResponse(line, 403)
