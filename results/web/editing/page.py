"""The editor's page: which files are edited, each at an address of its own."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route

from needlework.results.web.editing.documents.routes import edited_documents
from needlework.results.web.editing.edited import EditedFile
from needlework.results.web.editing.questions.library import Library
from needlework.results.web.editing.questions.routes import edited_questions
from needlework.results.web.page import Context, Page


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
        state=partial(_how_far, files),
    )


def _how_far(files: Sequence[EditedFile]) -> list[str]:
    return [f"{file.title}: {file.how_far()}" for file in files]


def _files(context: Context, files: Sequence[EditedFile], request: Request) -> Response:
    if len(files) == 1:
        return RedirectResponse("/editing/0/")
    return context.show(request, "editing", title="Edit questions and answers", files=files)
