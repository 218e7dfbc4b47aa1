"""The web application: routes, pages, replies."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from math import isfinite
from pathlib import Path
from secrets import token_urlsafe
from typing import Any, Protocol

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from needlework.core.errors import InputError, printable
from needlework.results.web import rating_marks
from needlework.results.web import store as log
from needlework.results.web.command import ServedFiles
from needlework.results.web.guard import Guard, Login
from needlework.results.web.store import Store, unusable

# In the order of the start page. Each is a module with `open_page(context) -> Page | None`: none where no path that
# was given is of its kind. Raises `InputError`.
PAGES: tuple[str, ...] = (
    "needlework.results.web.question_routes",
    "needlework.results.web.rating_pages",
)
_STATIC = Path(__file__).parent / "static"


def build_app(
    sources: ServedFiles,
    state: Path,
    *,
    rebuild: Rebuild,
    hosts: Collection[str],
    login: Login,
    token: str | None = None,
) -> ASGIApp:
    """Make the app. `hosts`: addresses that it answers to. `token`: what changes carry. Raises `InputError`."""
    modules = [import_module(name) for name in PAGES]
    store = Store(state, [log.SCHEMA, rating_marks.SCHEMA])
    context = Context(sources, store, token or token_urlsafe(24), templates(), rebuild)
    try:
        pages: list[Page] = [page for module in modules if (page := module.open_page(context)) is not None]
    except sqlite3.Error as error:
        raise unusable(state, error) from None
    if not pages:
        raise InputError("PATH", "", "the files are empty: there is nothing to show")
    app = Starlette(
        routes=[
            Route("/", _start_page(context, pages)),
            Mount("/static", StaticFiles(directory=_STATIC)),
            *(Mount(f"/{page.name}", routes=list(page.routes), name=page.name) for page in pages),
        ],
        exception_handlers={
            InputError: _refused(context),
            sqlite3.Error: _not_kept(context),
            HTTPException: _http_error(context),
            Exception: _fault(context),
        },
    )
    closed = context.templates.get_template("login.html.j2").render()
    # Around all, also what answers for a fault of ours.
    return Guard(app, token=context.token, hosts=hosts, login=login, closed=closed)


def _start_page(context: Context, pages: Sequence[Page]) -> Callable[[Request], HTMLResponse]:
    def start(request: Request) -> HTMLResponse:
        shown = [(page, page.state()) for page in pages]
        return context.show(request, "start", title="Needlework", pages=shown, kept=context.store.path)

    return start


def _refused(context: Context) -> Callable[[Request, Exception], Response]:
    def shown(request: Request, error: Exception) -> Response:
        return _problem(context, request, printable(error, 1000), 400)

    return shown


def _not_kept(context: Context) -> Callable[[Request, Exception], Response]:
    def shown(request: Request, error: Exception) -> Response:
        if _wants_page(request):
            return _problem(context, request, str(unusable(context.store.path, error)), 507)
        return _problem(context, request, f"not kept: {printable(error)}; what you entered is still here", 507)

    return shown


def _fault(context: Context) -> Callable[[Request, Exception], Response]:
    def shown(request: Request, error: Exception) -> Response:
        line = f"this is a fault of Needlework ({type(error).__name__}); what led to it is in the terminal"
        return _problem(context, request, line, 500)

    return shown


def _http_error(context: Context) -> Callable[[Request, Exception], Response]:
    def shown(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        detail = str(getattr(error, "detail", ""))
        return _problem(context, request, detail, status)

    return shown


def _problem(context: Context, request: Request, line: str, status: int) -> Response:
    """One line: as a page where a person asks, else for a script."""
    if not _wants_page(request):
        return JSONResponse({"error": line}, status_code=status)
    return context.show(request, "problem", title="Needlework", problem=line, status=status)


def _wants_page(request: Request) -> bool:
    return "text/html" in request.headers.get("accept", "")


class ShownPrompt(Protocol):
    """A prompt's text; `context` (start, end) and `needles` (name, start, end) in characters of it."""

    @property
    def text(self) -> str: ...
    @property
    def context(self) -> tuple[int, int]: ...
    @property
    def needles(self) -> tuple[tuple[str, int, int], ...]: ...


# Builds the prompt of a trial again: (run folder, record's id). Raises `InputError`. Threads wait for each other.
Rebuild = Callable[[Path, str], ShownPrompt]


@dataclass(frozen=True, slots=True)
class Context:
    """What pages share. `rebuild`: rebuilds prompts of recorded trials."""

    sources: ServedFiles
    store: Store
    token: str
    templates: Environment
    rebuild: Rebuild

    def show(self, request: Request, template: str, *, status: int = 200, **fields: Any) -> HTMLResponse:
        """Render a template; everything that is put into it is escaped."""
        found = self.templates.get_template(f"{template}.html.j2")
        page = found.render(token=self.token, path=request.url.path, **fields)
        return HTMLResponse(page.encode("utf-8", "replace"), status_code=status)  # half a surrogate pair has no UTF-8


@dataclass(frozen=True, slots=True)
class Page:
    """One page. `name`: its part of the address. `about`: one line on the start page. `state`: what is there, and how
    far people are, in lines; read anew each time.

    `routes`: paths below `/name`.
    """

    name: str
    title: str
    about: str
    routes: Sequence[BaseRoute]
    state: Callable[[], Sequence[str]] = tuple


def templates() -> Environment:
    """The templates of all pages: undefined names are errors, everything is escaped."""
    return Environment(
        loader=PackageLoader("needlework.results.web"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


Change = Callable[[Request, Mapping[str, Any]], Response]
_SURROGATES = re.compile(r"[\ud800-\udfff]")


def told(content: object, status: int = 200) -> Response:
    """JSON in ASCII: half a surrogate pair, which some model sent, has no UTF-8."""
    dump = partial(json.dumps, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    try:
        text = dump(content)
    except ValueError:  # a file may have numbers that JSON has not
        text = dump(_finite(content))
    return Response(text, status, media_type="application/json")


def changing(path: str, change: Change, *, as_sent: bool = False) -> Route:
    """A route that takes a change: a POST of a JSON object. `change` runs in a thread; half a surrogate pair in the
    object is U+FFFD, as SQLite takes no other text, but where it wants all `as_sent`."""

    async def endpoint(request: Request) -> Response:
        try:
            body = json.loads(await request.body())
            body = body if as_sent else _storable(body)
        except (ValueError, RecursionError, ClientDisconnect):
            raise InputError("change", "", "is no JSON, or more than a page may send") from None
        if not isinstance(body, dict):
            raise InputError("change", "", "is no JSON object")
        return await run_in_threadpool(change, request, body)

    return Route(path, endpoint, methods=["POST"])


def text_of(body: Mapping[str, Any], name: str, longest: int) -> str:
    """A text of a change, of at most `longest` characters. Raises `InputError`."""
    value = body.get(name)
    if not isinstance(value, str) or len(value) > longest:
        raise InputError(name, value, f"give a text of up to {longest:,} characters")
    return value


def number_of(body: Mapping[str, Any], name: str, least: int, most: int) -> int:
    """A whole number of a change. Raises `InputError`."""
    value = body.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise InputError(name, value, f"give a whole number from {least} to {most}")
    return value


def _finite(value: Any) -> Any:
    """With NaN and infinities as texts."""
    if isinstance(value, Mapping):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return str(value) if isinstance(value, float) and not isfinite(value) else value


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return _SURROGATES.sub("\ufffd", value)
    if isinstance(value, list):
        return [_storable(each) for each in value]
    if isinstance(value, dict):
        return {_storable(name): _storable(each) for name, each in value.items()}
    return value
