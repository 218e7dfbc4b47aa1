"""What a page is to the app, and what the app gives to a page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import BaseRoute

from needlework.results.web.sources import Sources
from needlework.results.web.store import Store


class RebuiltPrompt(Protocol):
    """A prompt's text; `context` (start, end) and `needles` (name, start, end) in characters of it."""

    @property
    def text(self) -> str: ...
    @property
    def context(self) -> tuple[int, int]: ...
    @property
    def needles(self) -> tuple[tuple[str, int, int], ...]: ...


# Builds the prompt of a trial again: (run folder, record's id). Raises `InputError`. Threads wait for each other.
Rebuild = Callable[[Path, str], RebuiltPrompt]


@dataclass(frozen=True, slots=True)
class Context:
    """What pages share. `rebuild`: rebuilds prompts of recorded trials."""

    sources: Sources
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
