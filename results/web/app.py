"""The app: a start page, and the pages that there is something to show on."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Sequence
from importlib import import_module
from pathlib import Path
from secrets import token_urlsafe

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from needlework.haystack_fixtures.errors import InputError, printable
from needlework.results.web import log
from needlework.results.web.guard import Guard
from needlework.results.web.login import Login
from needlework.results.web.page import Context, Page, Rebuild, templates
from needlework.results.web.rating import marks
from needlework.results.web.sources import Sources
from needlework.results.web.store import Store, unusable

# In the order of the start page. Each is a module with `open_page(context) -> Page | None`: none where no path that
# was given is of its kind. Raises `InputError`.
PAGES: tuple[str, ...] = (
    "needlework.results.web.editing",
    "needlework.results.web.rating",
)
_STATIC = Path(__file__).parent / "static"


def build_app(
    sources: Sources, state: Path, *, rebuild: Rebuild, hosts: Collection[str], login: Login, token: str | None = None
) -> ASGIApp:
    """Make the app. `hosts`: addresses that it answers to. `token`: what changes carry. Raises `InputError`."""
    modules = [import_module(name) for name in PAGES]
    store = Store(state, [log.SCHEMA, marks.SCHEMA])
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
