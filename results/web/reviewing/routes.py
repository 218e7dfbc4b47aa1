"""The page: its addresses, and how far reviewers are."""

from __future__ import annotations

from functools import partial

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from needlework.haystack_fixtures.errors import InputError
from needlework.results.web.page import Context, Page
from needlework.results.web.replies import changing
from needlework.results.web.reviewing import listed, said, texts
from needlework.results.web.reviewing.desk import Desk
from needlework.results.web.reviewing.files import named
from needlework.results.web.reviewing.library import Library
from needlework.results.web.reviewing.opinions import by_key, opinions, opinions_log


def open_page(context: Context) -> Page | None:
    """The page, where questions files were given. Raises `InputError` for one that cannot be read."""
    if not context.sources.questions:
        return None
    files = [named(path, context.store.path) for path in context.sources.questions]
    for file in files:
        file.read()
    desk = Desk(context, files, Library(context.sources.documents))
    return Page(
        "reviewing",
        "Review questions",
        "Accept, edit or reject questions about your documents, beside the documents.",
        [
            Route("/", partial(_files, desk)),
            Route("/{file:int}/", partial(_file, desk)),
            Route("/{file:int}/pairs", partial(listed.pairs, desk)),
            Route("/{file:int}/changes", partial(listed.changes, desk)),
            Route("/{file:int}/document", partial(texts.document, desk)),
            Route("/{file:int}/places", partial(texts.places, desk)),
            Route("/{file:int}/competitors", partial(texts.others, desk)),
            Route("/{file:int}/names", partial(texts.names, desk)),
            changing("/{file:int}/decide", partial(said.decide, desk), as_sent=True),
            changing("/{file:int}/undo", partial(said.undo, desk)),
            changing("/{file:int}/write", partial(said.write, desk)),
        ],
        partial(_how_far, desk),
    )


def _how_far(desk: Desk) -> str:
    """How far reviewers are, for the start page."""
    lines = []
    with desk.context.store.reading() as connection:
        for file in desk.files:
            try:
                rows, _ = file.read()
            except InputError as error:
                lines.append(str(error))
                continue
            now = [each for key, each in by_key(opinions(opinions_log(connection, file.name))).items() if key in rows]
            by = sorted({name for each in now for name in each})
            counts = ", ".join(f"{name} {sum(name in each for each in now)}" for name in by) or "nobody yet"
            lines.append(f"{file.path.name}: {len(rows)} pairs; decided by {counts}")
    return "; ".join(lines)


def _files(desk: Desk, request: Request) -> Response:
    if len(desk.files) == 1:
        return RedirectResponse("/reviewing/0/")
    return desk.context.show(request, "reviewing_files", title="Review questions", files=desk.files)


def _file(desk: Desk, request: Request) -> Response:
    file = desk.file(request)
    return desk.context.show(
        request,
        "reviewing",
        title=f"{file.path.name} · review",
        file=file,
        has_documents=desk.library.known,
    )
