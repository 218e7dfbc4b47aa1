"""The web application: its routes, its errors, and what all pages use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, quote, unquote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from needlework.core.errors import InputError, printable
from needlework.results.style import one_line
from needlework.results.web.command import ServedFiles
from needlework.results.web.guard import Guard
from needlework.results.web.store import NotWrittenError, StaleError

if TYPE_CHECKING:
    from needlework.core.prompts import Prompt

HOSTS = ("127.0.0.1", "localhost")
# Each is a module with `open_pages(context) -> Sequence[Page]`, in the order of the start page. Raises `InputError`.
_PAGES = ("question_pages", "rating_pages", "jsonl_pages")
_NAME_COOKIE, _LONGEST_NAME = "needlework-name", 60
_BLOCK = 4000  # characters of a document that are laid out together

# Builds the prompt of a trial again: (run folder, record's id). Raises `InputError`.
Rebuild = Callable[[Path, str], "Prompt"]


@dataclass(frozen=True, slots=True)
class Page:
    """One entry of the start page."""

    address: str  # `/jsonl/0/`
    title: str
    about: str
    routes: Sequence[BaseRoute]
    state: Callable[[], str]  # how much is done; read anew each time


@dataclass(frozen=True, slots=True)
class ListRow:
    """One thing to do, in a list of them."""

    address: str
    title: str
    state: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class FormFields:
    """The fields of a form, with line feeds alone."""

    values: Mapping[str, Sequence[str]]

    def text(self, name: str, longest: int = 20_000) -> str:
        """Return a field's text; empty where there is none. Raises `InputError`."""
        return next(iter(self.texts(name, longest)), "")

    def texts(self, name: str, longest: int = 20_000) -> list[str]:
        """Return the texts of all fields of a name. Raises `InputError`."""
        texts = [text.replace("\r\n", "\n") for text in self.values.get(name, ())]
        if any(len(text) > longest for text in texts):
            raise InputError(name, "", f"give a text of up to {longest:,} characters")
        return texts


@dataclass(frozen=True, slots=True)
class Context:
    """What pages share. `rebuild`: rebuilds prompts of recorded trials."""

    sources: ServedFiles
    rebuild: Rebuild
    templates: Environment

    def show(self, request: Request, template: str, *, status: int = 200, **fields: Any) -> HTMLResponse:
        """Render a template; everything that is put into it is escaped."""
        fields |= {"person": _person_of(request), "here": request.url.path, "longest": _LONGEST_NAME}
        text = self.templates.get_template(f"{template}.html.j2").render(fields)
        return HTMLResponse(text.encode("utf-8", "replace"), status)  # half a surrogate pair has no UTF-8

    def show_list(
        self, request: Request, template: str, rows: Iterable[ListRow], filters: Sequence[str], **fields: Any
    ) -> Response:
        """Show the rows that are in the state, and have the text, that the address names."""
        show, find = (request.query_params.get(name, "") for name in ("show", "find"))
        shown = [row for row in rows if show in ("", "all", row.state)]
        shown = [row for row in shown if find.casefold() in f"{row.title}\n{row.detail}".casefold()]
        return self.show(request, template, rows=shown, filters=filters, show=show, find=find, **fields)

    def reading(self, path: str, show: Callable[[Request, str], Response]) -> Route:
        """Make a route that shows something to a person, whose name is asked for first."""

        def endpoint(request: Request) -> Response:
            person = _person_of(request)
            return show(request, person) if person else self.show(request, "name", title="Your name")

        return Route(path, endpoint)

    def changing(self, path: str, change: Callable[[Request, str, FormFields], str]) -> Route:
        """Make a route that takes a form. `change`, in a thread, returns the address to look at next."""

        async def endpoint(request: Request) -> Response:
            form, person = await _form_of(request), _person_of(request)
            if not person:
                raise InputError("name", "", "is missing: load the page again, and give your name")
            return RedirectResponse(await run_in_threadpool(change, request, person, form), 303)

        return Route(path, endpoint, methods=["POST"])


def build_app(sources: ServedFiles, *, rebuild: Rebuild, token: str, cookie: str) -> ASGIApp:
    """Make the app. `cookie`: the name of the cookie that holds the token. Raises `InputError`."""
    templates = Environment(
        loader=PackageLoader("needlework.results.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    context = Context(sources, rebuild, templates)
    modules = [import_module(f"needlework.results.web.{name}") for name in _PAGES]
    pages: list[Page] = [page for module in modules for page in module.open_pages(context)]
    if not pages:
        raise InputError("PATH", "", "the files are empty: there is nothing to show")

    def show_start(request: Request) -> Response:
        states = [(page, _state_of(page)) for page in pages]
        return context.show(request, "start", title="Needlework", pages=states)

    def show_problem(request: Request, error: Exception) -> Response:
        line, status = _problem_of(error)
        if "text/html" not in request.headers.get("accept", ""):
            return PlainTextResponse(line.encode("utf-8", "replace"), status)
        return context.show(request, "problem", title="Needlework", problem=line, status=status)

    app = Starlette(
        routes=[
            Route("/", show_start),
            Route("/name", _set_name, methods=["POST"]),
            Mount("/static", StaticFiles(directory=Path(__file__).parent / "static")),
            *(Mount(page.address.rstrip("/"), routes=list(page.routes)) for page in pages),
        ],
        exception_handlers={InputError: show_problem, HTTPException: show_problem, Exception: show_problem},
    )
    # Around all, also what answers for a fault of ours. A page of another site can ask us by a name that points here.
    closed = templates.get_template("login.html.j2").render()
    return TrustedHostMiddleware(Guard(app, token=token, cookie=cookie, closed=closed), HOSTS, www_redirect=False)


def document_html(text: str, title: str = "Document", answers: Sequence[str] = ()) -> HTMLResponse:
    """Show a document as a part of a page, in blocks that are laid out where they are seen; `answers` to mark in it."""
    cuts = [0]
    while cuts[-1] < len(text):
        line_end = text.find("\n", cuts[-1] + _BLOCK, cuts[-1] + 4 * _BLOCK)
        cuts.append(line_end + 1 or min(len(text), cuts[-1] + 4 * _BLOCK))
    blocks = [Markup('<div class="block text">{}</div>').format(text[a:b]) for a, b in pairwise(cuts)]
    marks = Markup("").join(Markup('<data value="{}"></data>').format(answer) for answer in answers)
    head = Markup('<h2 class="plain">{}</h2><p class="soft">{:,} characters {}</p>').format(title, len(text), marks)
    return HTMLResponse("".join([head, *blocks]).encode("utf-8", "replace"))


def first_open(states: Sequence[bool], after: int) -> int | None:
    """The number of the next thing that is open, behind `after` or from the start; `None` where none is."""
    numbers = [*range(after + 1, len(states)), *range(min(after + 1, len(states)))]
    return next((number for number in numbers if states[number]), None)


async def _form_of(request: Request) -> FormFields:
    try:
        body = (await request.body()).decode()
        return FormFields(parse_qs(body, keep_blank_values=True, max_num_fields=100_000, errors="replace"))
    except (ValueError, ClientDisconnect):
        raise InputError("form", "", "is none, or more than a page may send") from None


async def _set_name(request: Request) -> Response:
    form = await _form_of(request)
    name = one_line(form.text("name", _LONGEST_NAME))
    if not name:
        raise InputError("name", name, "give a name; it tells what you enter from what others do")
    answer = RedirectResponse("/" + form.text("back").lstrip("/\\"), 303)  # two slashes would be another host's
    answer.set_cookie(_NAME_COOKIE, quote(name), max_age=365 * 86_400, httponly=True, samesite="strict")
    return answer


def _person_of(request: Request) -> str:
    return one_line(unquote(request.cookies.get(_NAME_COOKIE, "")))[:_LONGEST_NAME]


def _state_of(page: Page) -> str:
    """How much is done; of a file that cannot be read, why, so that it does not hide the others."""
    try:
        return page.state()
    except InputError as error:
        return str(error)


def _problem_of(error: Exception) -> tuple[str, int]:
    """Say in one line what was wrong, and give HTTP's number for it."""
    if isinstance(error, InputError):
        status = 409 if isinstance(error, StaleError) else 507 if isinstance(error, NotWrittenError) else 400
        return printable(error, 1000), status
    if isinstance(error, HTTPException):
        return str(error.detail), error.status_code
    return f"this is a fault of Needlework ({type(error).__name__}); what led to it is in the terminal", 500
