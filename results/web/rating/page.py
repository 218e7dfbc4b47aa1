"""The rating page: people give answers 1 to 5 without knowing whose they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from needlework.haystack_fixtures.errors import InputError
from needlework.results.style.text import counted, one_line
from needlework.results.web.page import Context, Page
from needlework.results.web.rating import marks
from needlework.results.web.rating.desk import Desk, Rated
from needlework.results.web.rating.files import file_routes
from needlework.results.web.rating.given import read_sources
from needlework.results.web.rating.items import Items, items_of
from needlework.results.web.rating.outcome import outcome_routes
from needlework.results.web.rating.sample import sampled
from needlework.results.web.rating.work import work_routes
from needlework.results.web.replies import changing, text_of, told
from needlework.results.web.sources import Sources, bytes_of

_LONGEST_NAME = 60
_AT_START, _MOST = 50_000_000, 2_000_000_000  # bytes of records: read when the server starts; at all
_NAMED = 10  # annotators


def open_page(context: Context) -> Page | None:
    """The page, where there are answers to rate. Raises `InputError` for a file that cannot be read.

    Many runs are read when the page is opened, and not when the server starts.
    """
    sources = context.sources
    with context.store.writing() as connection:
        seed = marks.seed_of(connection)
    desk = Desk(context, seed, partial(_read, sources))
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


def _read(sources: Sources) -> Rated:
    size = bytes_of(sources.runs)
    if size > _MOST:
        named = f"{len(sources.runs):,} runs of {size / 1e9:.1f} GB"
        raise InputError("PATH", named, "are too many to rate at once; name the runs that people are to rate")
    found = items_of(read_sources(sources))
    items = replace(found, items=sampled(found.items, sources.rate_questions, sources.rate_contexts))
    return Rated(items, _left(found, items, sources.rate_contexts))


def _how_far(desk: Desk) -> list[str]:
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


def _start(desk: Desk, request: Request) -> Response:
    return desk.context.show(
        request,
        "rating",
        title="Rate answers",
        items=desk.items,
        rows=desk.rows(),
        longest=_LONGEST_NAME,
        more=desk.rated.left,
    )


def _begin(desk: Desk, _request: Request, body: Mapping[str, Any]) -> Response:
    name = one_line(text_of(body, "name", _LONGEST_NAME))
    if not name:
        raise InputError("name", name, "give a name; it tells your ratings from others'")
    with desk.context.store.writing() as connection:
        return told({"annotator": marks.begin(connection, name)})
