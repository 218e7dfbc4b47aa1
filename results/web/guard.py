"""Who may use the pages: token, origin, login."""

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
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from needlework.core.errors import InputError

# A page of another site can make a browser ask us, so requests must name our own address (else a name that is made to
# point here would do), have been let in (`login.py`), and those that change something come from our own pages and carry
# this server's token.
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


# Other people may have accounts on the same machine, and 127.0.0.1 is theirs too.
VARIABLE = "NEEDLEWORK_TOKEN"
PARAMETER = "token"
_GIVEN = re.compile(r"[A-Za-z0-9_-]{16,200}")


@dataclass(frozen=True, slots=True)
class Login:
    """`token`: what opens the pages. `cookie`: the name of the cookie that is given for it.

    A browser sends cookies to all ports of a host: the name has to tell one server from another. What is in the cookie
    is made of the token, and is not the token.
    """

    token: str = field(repr=False)
    cookie: str

    def opened_by(self, token: str) -> bool:
        """Whether this is the token; in the same time for every wrong one."""
        return compare_digest(token.encode(), self.token.encode())

    def knows(self, headers: Headers) -> bool:
        """Whether a request has the cookie, or names the token as scripts do (`Authorization: Bearer TOKEN`)."""
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self.opened_by(token.strip()):
            return True
        shown = cookie_parser(headers.get("cookie", "")).get(self.cookie, "")
        return compare_digest(shown.encode(), self.proof.encode())

    @property
    def proof(self) -> str:
        """What is in the cookie."""
        return keyed(self.token.encode(), b"needlework serve", sha256).hexdigest()

    @property
    def set_cookie(self) -> str:
        """The header that gives the cookie: scripts do not see it, and no other site's request carries it."""
        return f"{self.cookie}={self.proof}; Path=/; HttpOnly; SameSite=Strict"


def login_for(port: int, environment: Mapping[str, str]) -> tuple[Login, bool]:
    """The login of a server, and whether its token was given: that one is not printed. Raises `InputError`."""
    given = environment.get(VARIABLE, "")
    if given and not _GIVEN.fullmatch(given):
        raise InputError(VARIABLE, "***", "give at least 16 of A-Z, a-z, 0-9, - and _, or unset it")
    return Login(given or token_urlsafe(24), f"needlework-{port}"), bool(given)
