"""Rating itself: one question after the other, what is said of it kept at every click. No model is named here."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from needlework.results.web.rating import marks
from needlework.results.web.rating.desk import Desk
from needlework.results.web.rating.documents import document_address, document_routes
from needlework.results.web.rating.items import Item
from needlework.results.web.rating.marks import WHOLE_ITEM, Annotator, Mark
from needlework.results.web.rating.order import label
from needlework.results.web.rating.tables import LEVELS, item_state, mark_of, states
from needlework.results.web.replies import changing, number_of, text_of, told

_LONGEST_COMMENT = 10_000
_MOST = 2**53


def work_routes(desk: Desk) -> list[Route]:
    """The page of an annotator, what it asks for, and the changes that it sends."""
    of = "/of/{annotator:int}"
    return [
        Route(f"{of}/", partial(_page, desk)),
        Route(f"{of}/items/{{place:int}}", partial(_item, desk)),
        *document_routes(desk),
        changing(f"{of}/rate", partial(_rate, desk)),
        changing(f"{of}/skip", partial(_skip, desk)),
        changing(f"{of}/undo", partial(_undo, desk)),
        changing(f"{of}/done", partial(_done, desk)),
    ]


def _page(desk: Desk, request: Request) -> Response:
    annotator = desk.annotator(request)
    return desk.context.show(
        request,
        "rating_work",
        title=f"Rate answers: {annotator.name}",
        annotator=annotator,
        count=len(desk.items.items),
        levels=LEVELS,
        longest=_LONGEST_COMMENT,
    )


def _item(desk: Desk, request: Request) -> Response:
    annotator, place = desk.annotator(request), request.path_params["place"]
    order, said = desk.order(annotator), desk.marks(annotator)
    if place >= len(order):
        raise HTTPException(404, "there is no such question")
    item, far = order[place], states(desk.items, said)
    return told(
        {
            "place": place,
            "states": [far[each.id] for each in order],
            "question": item.question,
            "references": item.references,
            "document": document_address(annotator, item, place),
            "item": _shown(said.get((item.id, WHOLE_ITEM), Mark())),
            "answers": [
                # Without the blanks around it: how an answer begins tells one model from another.
                {"label": label(at), "text": same[0].text.strip(), **_shown(mark_of(item, same, said))}
                for at, same in enumerate(desk.answers(annotator, item))
            ],
        }
    )


def _rate(desk: Desk, request: Request, body: Mapping[str, Any]) -> Response:
    annotator = desk.annotator(request)
    item = _item_of(desk, annotator, body)
    same = desk.answers(annotator, item)[number_of(body, "answer", 0, len(item.texts) - 1)]
    answer = mark_of(item, same, desk.marks(annotator)).answer
    rating = None if body.get("rating") is None else number_of(body, "rating", 1, LEVELS)
    comment = text_of(body, "comment", _LONGEST_COMMENT)
    return _say(desk, annotator, item, Mark(number_of(body, "seen", 0, _MOST), item.id, answer, rating, comment))


def _skip(desk: Desk, request: Request, body: Mapping[str, Any]) -> Response:
    annotator = desk.annotator(request)
    item = _item_of(desk, annotator, body)
    reason, seen = text_of(body, "reason", _LONGEST_COMMENT), number_of(body, "seen", 0, _MOST)
    return _say(desk, annotator, item, Mark(seen, item.id, comment=reason, skipped=body.get("skipped") is True))


def _undo(desk: Desk, request: Request, _body: Mapping[str, Any]) -> Response:
    annotator = desk.annotator(request)
    with desk.context.store.writing() as connection:
        undone = marks.undo(connection, annotator.number)
    places = {item.id: place for place, item in enumerate(desk.order(annotator))}
    return told({"place": places.get(undone.item) if undone else None, "undone": undone is not None})


def _done(desk: Desk, request: Request, body: Mapping[str, Any]) -> Response:
    annotator = desk.annotator(request)
    with desk.context.store.writing() as connection:
        marks.set_done(connection, annotator.number, done=body.get("done") is True)
    return told({})


def _say(desk: Desk, annotator: Annotator, item: Item, mark: Mark) -> Response:
    problem = ""
    with desk.context.store.writing() as connection:
        try:
            kept = marks.say(connection, annotator.number, mark)
        except marks.StaleError as error:
            kept, problem = error.mark, "not kept: this was changed elsewhere, and is now shown as it stands there"
        said = marks.marks_of(connection, annotator.number, item.id)
    whole = said.get((item.id, WHOLE_ITEM), Mark())
    answer = {"mark": _shown(kept), "item": _shown(whole), "state": item_state(item, said)}
    return told({**answer, "error": problem}, 409) if problem else told(answer)


def _item_of(desk: Desk, annotator: Annotator, body: Mapping[str, Any]) -> Item:
    return desk.order(annotator)[number_of(body, "place", 0, len(desk.items.items) - 1)]


def _shown(mark: Mark) -> dict[str, Any]:
    return {"seen": mark.number, "rating": mark.rating, "comment": mark.comment, "skipped": mark.skipped}
