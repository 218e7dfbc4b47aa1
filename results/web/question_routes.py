"""Routes of question reviews."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route

from needlework.core.errors import InputError
from needlework.results.web import question_pages
from needlework.results.web.app import Context, Page, changing
from needlework.results.web.question_files import Library, named
from needlework.results.web.question_pages import EditedFile, ReviewContext
from needlework.results.web.question_pairs import by_key, opinions, opinions_log
from needlework.results.web.row_pages import edited_documents


def edited_questions(context: Context, path: Path, library: Library) -> EditedFile:
    """A questions file in the editor. Raises `InputError` for one that cannot be read."""
    file = named(path, context.store.path)
    file.read()
    desk = ReviewContext(context, file, library)
    return EditedFile(
        title=path.name,
        how_far=partial(_how_far, desk),
        routes=[
            Route("/", partial(_page, desk)),
            Route("/pairs", partial(question_pages.pairs, desk)),
            Route("/changes", partial(question_pages.changes, desk)),
            Route("/document", partial(question_pages.document, desk)),
            Route("/places", partial(question_pages.places, desk)),
            Route("/competitors", partial(question_pages.others, desk)),
            Route("/names", partial(question_pages.names, desk)),
            changing("/decide", partial(question_pages.decide, desk), as_sent=True),
            changing("/undo", partial(question_pages.undo, desk)),
            changing("/write", partial(question_pages.write, desk)),
        ],
    )


def _how_far(desk: ReviewContext) -> str:
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


def _page(desk: ReviewContext, request: Request) -> Response:
    return desk.context.show(
        request,
        "editing_questions",
        title=desk.file.path.name,
        file=desk.file,
        has_documents=desk.library.known,
    )


def open_page(context: Context) -> Page | None:
    """The page, where questions files or jsonl documents were given. Raises `InputError` for questions that cannot be
    read."""
    files = [edited_documents(context, path) for path in context.sources.annotated]
    if context.sources.questions:
        library = Library(context.sources.documents)
        files += [edited_questions(context, path, library) for path in context.sources.questions]
    if not files:
        return None
    return Page(
        name="editing",
        title="Edit questions and answers",
        about="Read a long document; accept, change or add what is asked about it. The files stay as they are.",
        routes=[
            Route("/", partial(_files, context, files)),
            *(Mount(f"/{number}", routes=list(file.routes)) for number, file in enumerate(files)),
        ],
        state=partial(_page_how_far, files),
    )


def _page_how_far(files: Sequence[EditedFile]) -> list[str]:
    return [f"{file.title}: {file.how_far()}" for file in files]


def _files(context: Context, files: Sequence[EditedFile], request: Request) -> Response:
    if len(files) == 1:
        return RedirectResponse("/editing/0/")
    return context.show(request, "editing", title="Edit questions and answers", files=files)
