"""The web application: routes, errors, shared parts of pages, written files, accepted requests."""

import re
from asyncio import CancelledError
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from hmac import compare_digest
from pathlib import Path
from secrets import token_urlsafe
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, unquote

from jinja2 import Environment, PackageLoader, StrictUndefined
from msgspec import Struct
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import ImmutableMultiDict, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from needlework.core.errors import InputError, printable
from needlework.core.files import locked, write_whole
from needlework.results.style import one_line
from needlework.results.web.command import ServedFiles

if TYPE_CHECKING:
    from needlework.core.prompts import Prompt

_TO_DO = ("open", "begun", "undecided", "no pairs")  # states of rows
_NAME_COOKIE, _LONGEST_NAME = "needlework-name", 60

FormFields = ImmutableMultiDict[str, str]  # texts with line feeds alone
# Builds the prompt of a trial again: (run folder, record's id). Raises `InputError`.
Rebuild = Callable[[Path, str], "Prompt"]


class Page(Struct, frozen=True):
    """One entry of the start page."""

    address: str  # `/jsonl/0/`
    title: str
    about: str
    routes: Sequence[BaseRoute]
    state: Callable[[], str]  # how much is done; read anew each time


class ListRow(Struct, frozen=True):
    """One row of a list of things to do."""

    address: str
    title: str
    state: str
    detail: str = ""


class Context(Struct, frozen=True):
    """The parts that pages share. `rebuild`: rebuilds prompts of recorded trials."""

    sources: ServedFiles
    rebuild: Rebuild
    templates: Environment

    def show(self, request: Request, template: str, *, status: int = 200, **fields: Any) -> HTMLResponse:
        """Render a template; everything that is put into it is escaped."""
        fields |= {"person": _person_of(request), "here": request.url.path, "longest": _LONGEST_NAME}
        page = self.templates.get_template(f"{template}.html.j2").render(fields)
        return HTMLResponse(page.encode("utf-8", "replace"), status)  # half a surrogate pair has no UTF-8

    def show_list(
        self, request: Request, template: str, rows: Sequence[ListRow], states: Sequence[str], **fields: Any
    ) -> Response:
        """Show the rows that match the address: its state (`show`) and its text (`find`)."""
        fields |= {
            "done": sum(row.state not in _TO_DO for row in rows),
            "total": len(rows),
            "filters": ("all", *states),
        }
        show, find = (request.query_params.get(name, "") for name in ("show", "find"))
        shown = [row for row in rows if show in ("", "all", row.state)]
        shown = [row for row in shown if find.casefold() in f"{row.title}\n{row.detail}".casefold()]
        return self.show(request, template, rows=shown, show=show, find=find, **fields)

    def show_document(self, request: Request, text: str, title: str, answers: Sequence[str] = ()) -> Response:
        """Show a document as a part of a page; `answers` to mark in it."""
        return self.show(request, "document", text=text, title=title, answers=answers)

    def reading(self, path: str, show: Callable[[Request, str], Response]) -> Route:
        """Make a route that shows something to a person, whose name is asked for first."""

        def endpoint(request: Request) -> Response:
            person = _person_of(request)
            return show(request, person) if person else self.show(request, "name", title="Your name")

        return Route(path, endpoint)

    def changing(self, path: str, change: Callable[[Request, str, FormFields], str]) -> Route:
        """Make a route for a form of a person. `change`, run in a thread, returns the next address."""

        async def endpoint(request: Request) -> Response:
            form, person = await _form_of(request), _person_of(request)
            if not person:
                raise InputError("name", "", "is missing: load the page again, and give your name")
            return RedirectResponse(await run_in_threadpool(change, request, person, form), 303)

        return Route(path, endpoint, methods=["POST"])


def build_app(sources: ServedFiles, *, rebuild: Rebuild, token: str, cookie: str) -> ASGIApp:
    """Make the app. `cookie`: the name of the cookie that holds the token. Raises `InputError`."""
    from needlework.results.web import jsonl_pages, question_pages, rating_pages

    templates = Environment(
        loader=PackageLoader("needlework.results.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    context = Context(sources, rebuild, templates)
    pages = [page for kind in (question_pages, rating_pages, jsonl_pages) for page in kind.open_pages(context)]
    if not pages:
        raise InputError("PATH", "", "the files are empty: there is nothing to show")

    def show_start(request: Request) -> Response:
        return context.show(request, "start", title="Needlework", pages=[(page, _state_of(page)) for page in pages])

    def show_problem(request: Request, error: Exception) -> Response:
        status, line = 500, f"this is a fault of Needlework ({type(error).__name__}); what led to it is in the terminal"
        if isinstance(error, InputError):
            status, line = 409 if isinstance(error, StaleError) else 400, printable(error, 1000)
        elif isinstance(error, HTTPException):
            status, line = error.status_code, str(error.detail)
        elif isinstance(error, OSError):
            status, line = 400, printable(f"{error.filename}: {error.strerror}", 1000)
        response: Response
        if "text/html" in request.headers.get("accept", ""):
            response = context.show(request, "problem", title="Needlework", problem=line, status=status)
        else:
            response = PlainTextResponse(line.encode("utf-8", "replace"), status)
        if status == 500:  # Starlette raises it again, and uvicorn ends the connection: no client may use it once more
            response.headers["connection"] = "close"
        return response

    app = Starlette(
        routes=[
            Route("/", show_start),
            Route("/name", _set_name, methods=["POST"]),
            Mount("/static", StaticFiles(directory=Path(__file__).parent / "static")),
            *(Mount(page.address.rstrip("/"), routes=list(page.routes)) for page in pages),
        ],
        exception_handlers=dict.fromkeys((InputError, OSError, HTTPException, Exception), show_problem),
    )
    # Around all, also what answers for a fault of ours. A page of another site can ask us by a name that points here.
    guard = guarded(app, token=token, cookie=cookie, closed=templates.get_template("login.html.j2").render())
    return TrustedHostMiddleware(guard, ("127.0.0.1", "localhost"), www_redirect=False)


def first_open(states: Sequence[bool], after: int) -> int | None:
    """The number of the next thing that is open, behind `after` or from the start; `None` where none is."""
    numbers = [*range(after + 1, len(states)), *range(min(after + 1, len(states)))]
    return next((number for number in numbers if states[number]), None)


async def _form_of(request: Request) -> FormFields:
    try:
        body = (await request.body()).decode()
        fields = parse_qsl(body, keep_blank_values=True, max_num_fields=100_000, errors="replace")
        return FormFields([(name, text.replace("\r\n", "\n")) for name, text in fields])
    except (ValueError, ClientDisconnect):
        raise InputError("form", "", "cannot be read, or is longer than a page may send: load the page again") from None


async def _set_name(request: Request) -> Response:
    form = await _form_of(request)
    name = one_line(form.get("name", "")[:_LONGEST_NAME])
    if not name:
        raise InputError("name", name, "give a name; it tells what you enter from what others do")
    redirect = RedirectResponse("/" + form.get("back", "").lstrip("/\\"), 303)  # two slashes would be another host's
    redirect.set_cookie(_NAME_COOKIE, quote(name), max_age=365 * 86_400, httponly=True, samesite="strict")
    return redirect


def _person_of(request: Request) -> str:
    """The name of the person who sent a request, from the cookie; empty if there is none."""
    return one_line(unquote(request.cookies.get(_NAME_COOKIE, "")))[:_LONGEST_NAME]


def _state_of(page: Page) -> str:
    """The page's progress, or why the file cannot be read: it must not hide the other pages."""
    try:
        return page.state()
    except (InputError, OSError) as error:
        return str(error)


# Files that are the record of what people enter: written whole, by one at a time


class StaleError(InputError):
    """A change to something that has changed since the page was loaded."""

    def __init__(self, what: object) -> None:
        super().__init__("not saved", what, "it has changed since you opened it: open it in another tab, and compare")


def read_record(path: Path) -> bytes:
    """Return a file's content; empty where there is none. Raises `OSError`."""
    return path.read_bytes() if path.exists() else b""


def change_record(path: Path, edit: Callable[[bytes], bytes]) -> None:
    """Replace a file's content by `edit` of it; it is on the disk on return. Raises `OSError`."""
    with locked(path.with_name(f".{path.name}.lock")):
        before = read_record(path)
        after = edit(before)
        if after != before:
            write_whole(path, after)


def digest_of(content: bytes) -> str:
    """Return a short hash: a form sends that of the state that it shows."""
    return sha256(content).hexdigest()[:24]


def utc_now() -> str:
    """Return the time in UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


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


def guarded(app: ASGIApp, *, token: str, cookie: str, closed: str) -> ASGIApp:
    """The app behind a guard. `closed`: the page for requests without the token.
    `cookie`: name of the cookie with the token; browsers send cookies to all ports of a host, so it tells one server
    from another."""

    def is_token(text: str) -> bool:
        return compare_digest(text.encode(), token.encode())

    def refusal(request: Request) -> Response | None:
        is_read = request.method in ("GET", "HEAD")
        if is_read and is_token(request.query_params.get(PARAMETER, "")):
            address = request.url.remove_query_params(PARAMETER)
            # Without a host: two slashes at the start of a path would be another one's.
            path = "/" + address.path.lstrip("/") + (f"?{address.query}" if address.query else "")
            redirect = RedirectResponse(path, 303)
            redirect.set_cookie(cookie, token, httponly=True, samesite="strict")
            return redirect
        if not request.url.path.startswith("/static/") and not is_token(request.cookies.get(cookie, "")):
            if "text/html" in request.headers.get("accept", ""):
                return HTMLResponse(closed, 403)
            return PlainTextResponse("open the address with ?token= that needlework serve printed", 403)
        # A page of another site can make a browser send us a form.
        is_ours = request.headers.get("origin") == f"http://{request.headers['host']}"
        if not is_read and not (is_ours and request.headers.get("sec-fetch-site", "same-origin") == "same-origin"):
            return PlainTextResponse("changes are taken from our own pages alone", 403)
        return None

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        refused = refusal(Request(scope)) if scope["type"] == "http" else None
        with suppress(CancelledError):  # the server ends; a browser that sends on sees a closed connection
            await (refused or app)(scope, receive, send_with_headers)

    return answer
