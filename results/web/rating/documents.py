"""The document that a question is about: of L-Eval's data, or of a run, whose context is built again."""

from __future__ import annotations

from functools import partial

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from needlework.results.web.page import RebuiltPrompt
from needlework.results.web.rating.desk import Desk
from needlework.results.web.rating.items import Item
from needlework.results.web.rating.marks import Annotator
from needlework.results.web.replies import told

_A_TEXT = 500  # characters of a needle that is a document, not a sentence put into one


def document_routes(desk: Desk) -> list[Route]:
    """What the page fetches beside a question."""
    return [
        Route("/documents/{number:int}", partial(_of_data, desk)),
        Route("/of/{annotator:int}/items/{place:int}/document", partial(_of_run, desk)),
    ]


def document_address(annotator: Annotator, item: Item, place: int) -> str | None:
    """Where the page fetches the document of an item; `None` where there is none."""
    if item.document is not None:
        return f"/rating/documents/{item.document}"
    return f"/rating/of/{annotator.number}/items/{place}/document" if item.trial else None


def _of_data(desk: Desk, request: Request) -> Response:
    number = request.path_params["number"]
    if number >= len(desk.items.documents):
        raise HTTPException(404, "there is no such document")
    return told({"name": "Document", "text": desk.items.documents[number]})


def _of_run(desk: Desk, request: Request) -> Response:
    order, place = desk.order(desk.annotator(request)), request.path_params["place"]
    trial = order[place].trial if place < len(order) else None
    if trial is None:
        raise HTTPException(404, "there is no such document")
    name, text = _read(desk.context.rebuild(*trial))
    return told({"name": name, "text": text})


def _read(prompt: RebuiltPrompt) -> tuple[str, str]:
    """The documents that answer, where they are what was put in; else the whole context."""
    documents = [each for each in prompt.needles if each[2] - each[1] >= _A_TEXT]
    if documents:
        return ", ".join(name for name, _, _ in documents), "\n\n".join(prompt.text[a:b] for _, a, b in documents)
    first, last = prompt.context
    return "Context", prompt.text[first:last]
