"""The page's addresses for documents: texts, where they give an answer, and which others might answer."""

from __future__ import annotations

from dataclasses import asdict

from starlette.requests import Request
from starlette.responses import Response

from needlework.results.web.editing.questions.competitors import competitors
from needlework.results.web.editing.questions.desk import Desk
from needlework.results.web.editing.questions.places import find_answer, utf16_places
from needlework.results.web.replies import told

_WAIT_S = 2.0


def document(desk: Desk, request: Request) -> Response:
    """A document's text."""
    number = desk.document(request)
    document = desk.library.documents[number]
    return told({"number": number, "name": document.name, "text": document.text})


def places(desk: Desk, request: Request) -> Response:
    """Where a document gives the pair's answer, in UTF-16 units of its text."""
    number = desk.document(request)
    text = desk.library.documents[number].text
    found = find_answer(text, desk.pair(request).answers)
    return told({"number": number, **asdict(found), "places": utf16_places(text, found.places)})


def others(desk: Desk, request: Request) -> Response:
    """Other documents that might answer the pair's question; not `ready` while their words are counted."""
    index = desk.library.index(_WAIT_S)
    if index is None:
        return told({"ready": False})
    asked = desk.asked()
    pair = desk.pair(request)
    row = asked.rows[request.query_params["key"]]
    document = desk.library.number_of(pair.document)
    twins = () if document is None else desk.library.twins_of(document)
    supporting = desk.library.numbers_of(pair.supporting)
    found = competitors(
        index,
        pair.question,
        pair.answers,
        own={
            *desk.library.numbers_of(pair.supporting),
            *(twins or ()),
            *(() if document is None else (document,)),
        },
        named=desk.library.numbers_of(row.get("also_in")),
    )
    return told(
        {
            "ready": True,
            "listed": [{**asdict(each), **desk.named(each.number)} for each in found.listed],
            "holders": found.holders,
            "supporting": [desk.named(each) for each in supporting],
            "twins": None if twins is None else [desk.named(each) for each in twins],
        }
    )


def names(desk: Desk, _request: Request) -> Response:
    """The names of all documents, by number."""
    return told([each.name for each in desk.library.documents])
