"""What came out: first who is how far; models and agreement once someone asks for them, which is kept."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from needlework.results.web.rating import marks
from needlework.results.web.rating.desk import Desk
from needlework.results.web.rating.tables import LEVELS, Results, ratings_of, results_of
from needlework.results.web.replies import changing, told


def outcome_routes(desk: Desk) -> list[Route]:
    """The page of results, and what opens it."""
    return [Route("/results", partial(_results, desk)), changing("/show", partial(_show, desk))]


def _results(desk: Desk, request: Request) -> Response:
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


def _found(desk: Desk, *, with_late: bool) -> Results:
    everyone = desk.everyone()
    ratings = [each for annotator, said in everyone for each in ratings_of(desk.items, annotator, said)]
    return results_of(ratings, with_late=with_late)


def _show(desk: Desk, _request: Request, _body: Mapping[str, Any]) -> Response:
    with desk.context.store.writing() as connection:
        marks.set_shown(connection)
    return told({})
