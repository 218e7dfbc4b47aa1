"""The addresses of a questions file in the editor, and how far reviewers are."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from needlework.haystack_fixtures.errors import InputError
from needlework.results.web.editing.edited import EditedFile
from needlework.results.web.editing.questions import listed, said, texts
from needlework.results.web.editing.questions.desk import Desk
from needlework.results.web.editing.questions.files import named
from needlework.results.web.editing.questions.library import Library
from needlework.results.web.editing.questions.opinions import by_key, opinions, opinions_log
from needlework.results.web.page import Context
from needlework.results.web.replies import changing


def edited_questions(context: Context, path: Path, library: Library) -> EditedFile:
    """A questions file in the editor. Raises `InputError` for one that cannot be read."""
    file = named(path, context.store.path)
    file.read()
    desk = Desk(context, file, library)
    return EditedFile(
        title=path.name,
        how_far=partial(_how_far, desk),
        routes=[
            Route("/", partial(_page, desk)),
            Route("/pairs", partial(listed.pairs, desk)),
            Route("/changes", partial(listed.changes, desk)),
            Route("/document", partial(texts.document, desk)),
            Route("/places", partial(texts.places, desk)),
            Route("/competitors", partial(texts.others, desk)),
            Route("/names", partial(texts.names, desk)),
            changing("/decide", partial(said.decide, desk), as_sent=True),
            changing("/undo", partial(said.undo, desk)),
            changing("/write", partial(said.write, desk)),
        ],
    )


def _how_far(desk: Desk) -> str:
    try:
        rows, _ = desk.file.read()
    except InputError as error:
        return str(error)
    with desk.context.store.reading() as connection:
        found = by_key(opinions(opinions_log(connection, desk.file.name)))
    now = [each for key, each in found.items() if key in rows]
    by = sorted({name for each in now for name in each})
    counts = ", ".join(f"{name} {sum(name in each for each in now)}" for name in by) or "nobody yet"
    return f"{len(rows)} pairs; decided by {counts}"


def _page(desk: Desk, request: Request) -> Response:
    return desk.context.show(
        request,
        "editing_questions",
        title=desk.file.path.name,
        file=desk.file,
        has_documents=desk.library.known,
    )
