"""Pages of ratings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import quote

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from needlework.core.errors import InputError
from needlework.results.style import counted, one_line
from needlework.results.web import rating_marks
from needlework.results.web.app import Context, Page, ShownPrompt, changing, number_of, text_of, told
from needlework.results.web.command import ServedFiles, bytes_of
from needlework.results.web.rating_items import Items, RatedItem, items_of, label, sampled
from needlework.results.web.rating_marks import WHOLE_ITEM, Annotator, RatingMark, read_sources
from needlework.results.web.rating_tables import (
    KINDS,
    LEVELS,
    Rated,
    RatingContext,
    Results,
    export,
    file_name,
    item_state,
    mark_of,
    ratings_of,
    results_of,
    states,
    write,
)

_LONGEST_NAME = 60
_AT_START, _MOST = 50_000_000, 2_000_000_000  # bytes of records: read when the server starts; at all
_NAMED = 10  # annotators


def open_page(context: Context) -> Page | None:
    """The page, where there are answers to rate. Raises `InputError` for a file that cannot be read.

    Many runs are read when the page is opened, and not when the server starts.
    """
    sources = context.sources
    with context.store.writing() as connection:
        seed = rating_marks.seed_of(connection)
    desk = RatingContext(context, seed, partial(_read, sources))
    if bytes_of(sources.runs) <= _AT_START and not desk.items.items:
        return None
    return Page(
        name="rating",
        title="Rate answers",
        about="People rate models' answers from 1 to 5, without knowing whose they are.",
        routes=[
            Route("/", partial(_start, desk)),
            changing("/begin", partial(_begin, desk)),
            *work_routes(desk),
            *outcome_routes(desk),
            *file_routes(desk),
        ],
        state=partial(_how_far, desk),
    )


def _read(sources: ServedFiles) -> Rated:
    size = bytes_of(sources.runs)
    if size > _MOST:
        named = f"{len(sources.runs):,} runs of {size / 1e9:.1f} GB"
        raise InputError("PATH", named, "are too many to rate at once; name the runs that people are to rate")
    found = items_of(read_sources(sources))
    items = replace(found, items=sampled(found.items, sources.rate_questions, sources.rate_contexts))
    return Rated(items, _left(found, items, sources.rate_contexts))


def _how_far(desk: RatingContext) -> list[str]:
    if not desk.is_read:
        return [f"answers of {counted(len(desk.context.sources.runs), 'run')}, read when this is opened"]
    people = [each.annotator.name for each in desk.rows()]
    told = f"{counted(len(desk.items.items), 'question')}, answers of {counted(len(desk.items.models), 'model')}"
    if all(model.startswith("mock") for model in desk.items.models):
        told += ": mock models, to try the page with"
    return [told, f"rated by {', '.join(people[:_NAMED])}" if people else "nobody has begun"]


def _left(found: Items, items: Items, contexts: int) -> str:
    """What of the answers is not rated, and how it would be."""
    left = len(found.items) - len(items.items)
    if not left:
        return ""
    each = f"{counted(contexts, 'context')} of each question; --rate-contexts and --rate-questions change that"
    return f"Of the trials {left:,} are left out ({each})."


def _start(desk: RatingContext, request: Request) -> Response:
    return desk.context.show(
        request,
        "rating",
        title="Rate answers",
        items=desk.items,
        rows=desk.rows(),
        longest=_LONGEST_NAME,
        more=desk.rated.left,
    )


def _begin(desk: RatingContext, _request: Request, body: Mapping[str, Any]) -> Response:
    name = one_line(text_of(body, "name", _LONGEST_NAME))
    if not name:
        raise InputError("name", name, "give a name; it tells your ratings from others'")
    with desk.context.store.writing() as connection:
        return told({"annotator": rating_marks.begin(connection, name)})


_LONGEST_COMMENT = 10_000
_WORK_MOST = 2**53


def work_routes(desk: RatingContext) -> list[Route]:
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


def _page(desk: RatingContext, request: Request) -> Response:
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


def _item(desk: RatingContext, request: Request) -> Response:
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
            "item": _shown(said.get((item.id, WHOLE_ITEM), RatingMark())),
            "answers": [
                # Without the blanks around it: how an answer begins tells one model from another.
                {"label": label(at), "text": same[0].text.strip(), **_shown(mark_of(item, same, said))}
                for at, same in enumerate(desk.answers(annotator, item))
            ],
        }
    )


def _rate(desk: RatingContext, request: Request, body: Mapping[str, Any]) -> Response:
    annotator = desk.annotator(request)
    item = _item_of(desk, annotator, body)
    same = desk.answers(annotator, item)[number_of(body, "answer", 0, len(item.texts) - 1)]
    answer = mark_of(item, same, desk.marks(annotator)).answer
    rating = None if body.get("rating") is None else number_of(body, "rating", 1, LEVELS)
    comment = text_of(body, "comment", _LONGEST_COMMENT)
    return _say(
        desk, annotator, item, RatingMark(number_of(body, "seen", 0, _WORK_MOST), item.id, answer, rating, comment)
    )


def _skip(desk: RatingContext, request: Request, body: Mapping[str, Any]) -> Response:
    annotator = desk.annotator(request)
    item = _item_of(desk, annotator, body)
    reason, seen = text_of(body, "reason", _LONGEST_COMMENT), number_of(body, "seen", 0, _WORK_MOST)
    return _say(desk, annotator, item, RatingMark(seen, item.id, comment=reason, skipped=body.get("skipped") is True))


def _undo(desk: RatingContext, request: Request, _body: Mapping[str, Any]) -> Response:
    annotator = desk.annotator(request)
    with desk.context.store.writing() as connection:
        undone = rating_marks.undo(connection, annotator.number)
    places = {item.id: place for place, item in enumerate(desk.order(annotator))}
    return told({"place": places.get(undone.item) if undone else None, "undone": undone is not None})


def _done(desk: RatingContext, request: Request, body: Mapping[str, Any]) -> Response:
    annotator = desk.annotator(request)
    with desk.context.store.writing() as connection:
        rating_marks.set_done(connection, annotator.number, done=body.get("done") is True)
    return told({})


def _say(desk: RatingContext, annotator: Annotator, item: RatedItem, mark: RatingMark) -> Response:
    problem = ""
    with desk.context.store.writing() as connection:
        try:
            kept = rating_marks.say(connection, annotator.number, mark)
        except rating_marks.StaleError as error:
            kept, problem = error.mark, "not kept: this was changed elsewhere, and is now shown as it stands there"
        said = rating_marks.marks_of(connection, annotator.number, item.id)
    whole = said.get((item.id, WHOLE_ITEM), RatingMark())
    answer = {"mark": _shown(kept), "item": _shown(whole), "state": item_state(item, said)}
    return told({**answer, "error": problem}, 409) if problem else told(answer)


def _item_of(desk: RatingContext, annotator: Annotator, body: Mapping[str, Any]) -> RatedItem:
    return desk.order(annotator)[number_of(body, "place", 0, len(desk.items.items) - 1)]


def _shown(mark: RatingMark) -> dict[str, Any]:
    return {"seen": mark.number, "rating": mark.rating, "comment": mark.comment, "skipped": mark.skipped}


_A_TEXT = 500  # characters of a needle that is a document, not a sentence put into one


def document_routes(desk: RatingContext) -> list[Route]:
    """What the page fetches beside a question."""
    return [
        Route("/documents/{number:int}", partial(_of_data, desk)),
        Route("/of/{annotator:int}/items/{place:int}/document", partial(_of_run, desk)),
    ]


def document_address(annotator: Annotator, item: RatedItem, place: int) -> str | None:
    """Where the page fetches the document of an item; `None` where there is none."""
    if item.document is not None:
        return f"/rating/documents/{item.document}"
    return f"/rating/of/{annotator.number}/items/{place}/document" if item.trial else None


def _of_data(desk: RatingContext, request: Request) -> Response:
    number = request.path_params["number"]
    if number >= len(desk.items.documents):
        raise HTTPException(404, "there is no such document")
    return told({"name": "Document", "text": desk.items.documents[number]})


def _of_run(desk: RatingContext, request: Request) -> Response:
    order, place = desk.order(desk.annotator(request)), request.path_params["place"]
    trial = order[place].trial if place < len(order) else None
    if trial is None:
        raise HTTPException(404, "there is no such document")
    name, text = _documents_read(desk.context.rebuild(*trial))
    return told({"name": name, "text": text})


def _documents_read(prompt: ShownPrompt) -> tuple[str, str]:
    """The documents that answer, where they are what was put in; else the whole context."""
    documents = [each for each in prompt.needles if each[2] - each[1] >= _A_TEXT]
    if documents:
        return ", ".join(name for name, _, _ in documents), "\n\n".join(prompt.text[a:b] for _, a, b in documents)
    first, last = prompt.context
    return "Context", prompt.text[first:last]


def file_routes(desk: RatingContext) -> list[Route]:
    """Files of one annotator."""
    path = "/of/{annotator:int}/files/{kind}"
    return [Route(path, partial(_download, desk)), changing(path, partial(_write, desk))]


def _download(desk: RatingContext, request: Request) -> Response:
    name, content = _file(desk, request)
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}"}
    return Response(content, media_type="application/jsonl", headers=headers)


def _write(desk: RatingContext, request: Request, body: Mapping[str, Any]) -> Response:
    name, content = _file(desk, request)
    path = desk.folder() / name
    if not write(path, content, over=body.get("over") is True):
        return told({"error": f"{name} is there already, with other content", "exists": True}, 409)
    return told({"path": str(path)})


def _file(desk: RatingContext, request: Request) -> tuple[str, bytes]:
    annotator = desk.annotator(request)
    kind = KINDS.get(request.path_params["kind"])
    if kind is None:
        raise HTTPException(404, "there is no such file")
    if annotator.shown is None:
        raise HTTPException(403, "the files name the models: show the results first")
    return file_name(kind, annotator), export(kind, desk.items, desk.seed, annotator, desk.marks(annotator))


def outcome_routes(desk: RatingContext) -> list[Route]:
    """The page of results, and what opens it."""
    return [Route("/results", partial(_results, desk)), changing("/show", partial(_show, desk))]


def _results(desk: RatingContext, request: Request) -> Response:
    rows = desk.rows()
    # Whoever begins later has not seen names: they are shown again once someone asks again.
    shown = any(row.ratings for row in rows) and all(row.annotator.shown for row in rows)
    return desk.context.show(
        request,
        "rating_results",
        title="Ratings",
        items=desk.items,
        rows=rows,
        found=_found(desk, with_late=request.query_params.get("late") == "1") if shown else None,
        waiting=[row for row in rows if not row.annotator.done and not row.annotator.shown],
        folder=desk.folder(),
        levels=range(1, LEVELS + 1),
    )


def _found(desk: RatingContext, *, with_late: bool) -> Results:
    everyone = desk.everyone()
    ratings = [each for annotator, said in everyone for each in ratings_of(desk.items, annotator, said)]
    return results_of(ratings, with_late=with_late)


def _show(desk: RatingContext, _request: Request, _body: Mapping[str, Any]) -> Response:
    with desk.context.store.writing() as connection:
        rating_marks.set_shown(connection)
    return told({})
