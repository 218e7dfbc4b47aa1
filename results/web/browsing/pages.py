"""The pages of browsing: runs, the list of a run's trials, one trial."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from threading import Thread
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from needlework.haystack_fixtures.errors import InputError, printable
from needlework.results.records.record import Record
from needlework.results.style.palette import MARKS
from needlework.results.web.browsing import record_view
from needlework.results.web.browsing.filters import (
    SORTS,
    Filter,
    counted,
    filter_of,
    in_question,
    shown,
    with_any_outcome,
)
from needlework.results.web.browsing.grid import MOST_ACROSS, colors_css, grid_of
from needlework.results.web.browsing.parts import one_part
from needlework.results.web.browsing.prompt import shown_prompt
from needlework.results.web.browsing.rows import CONTEXTS, Row
from needlework.results.web.browsing.runs import Brief, OpenRun, Reading
from needlework.results.web.page import Context, Page
from needlework.results.web.replies import told

NAME = "browse"
_ON_A_PAGE = 100
_ON_THE_START_PAGE = 5  # runs
_CUT = 240  # characters of an answer that the list shows


@dataclass(frozen=True, slots=True)
class _Found:
    """A list: the filter, what it finds, and what that was taken from."""

    wanted: Filter
    reading: Reading
    base: Sequence[Row]
    outcomes: dict[str, int]
    rows: Sequence[Row]


def open_page(context: Context) -> Page | None:
    """The page, where runs were given."""
    if not context.sources.runs:
        return None
    runs = tuple(OpenRun(folder) for folder in context.sources.runs)
    pages = _Pages(context, runs)
    return Page(
        name=NAME,
        title="Browse answers",
        about="What was asked, what came back, how it was scored and why; and each prompt, with the needle marked.",
        routes=(
            Route("/", pages.start),
            Route("/colors.css", lambda _request: PlainTextResponse(colors_css(), media_type="text/css")),
            Route("/{run:int}/", pages.list),
            Route("/{run:int}/state", pages.state),
            Route("/{run:int}/trial/{key}", pages.record),
            Route("/{run:int}/json/{key}", pages.record_json),
            Route("/{run:int}/prompt/{key}", pages.prompt),
        ),
        state=partial(_there, runs),
    )


class _Pages:
    def __init__(self, context: Context, runs: Sequence[OpenRun]) -> None:
        self._context = context
        self._runs = runs

    def start(self, request: Request) -> Response:
        """The runs that there are; of a single run its list."""
        if len(self._runs) == 1:
            return RedirectResponse(f"/{NAME}/0/")
        rows = [_card(run) for run in self._runs]
        return self._context.show(request, "browsing_runs", title="Browse answers", runs=rows)

    def list(self, request: Request) -> Response:
        """The trials that the address asks for."""
        run, found = self._found(request)
        other = self._other(found.wanted)
        pages = max(1, -(-len(found.rows) // _ON_A_PAGE))
        wanted = replace(found.wanted, page=min(found.wanted.page, pages))
        first = (wanted.page - 1) * _ON_A_PAGE
        rows = found.rows[first : first + _ON_A_PAGE]
        return self._context.show(
            request,
            "browsing",
            title=f"{run.name} – Needlework",
            run=run,
            number=request.path_params["run"],
            runs=self._runs,
            other=other and other[0],
            reading=found.reading,
            wanted=wanted,
            choices=found.reading.choices,
            outcomes=found.outcomes,
            rows=[_line(row, other[1].beside(row) if other else None) for row in rows],
            total=len(found.rows),
            first=first,
            pages=pages,
            grid=grid_of(one_part(found.base, wanted), wanted),
            parts=found.reading.parts,
            contexts=CONTEXTS,
            most_across=MOST_ACROSS,
            marks=MARKS,
            sorts=[(name, _sort_address(wanted, name), _sorted_as(wanted, name)) for name in SORTS],
            view=record_view,
        )

    def state(self, request: Request) -> Response:
        """How many records there are now: asked by an open list of a run that goes on."""
        reading = self._run(request).reading()
        return told({"records": len(reading.rows), "ended": reading.ended})

    def record(self, request: Request) -> Response:
        """One trial, with its neighbours in the list it was opened from."""
        run, found = self._found(request)
        row = _row(request, found.reading)
        keys = [each.key for each in found.rows]
        at = keys.index(row.key) if row.key in keys else None
        other = self._other(found.wanted)
        beside = other[1].beside(row) if other else None
        back = found.wanted if at is None else replace(found.wanted, page=at // _ON_A_PAGE + 1)
        return self._context.show(
            request,
            "browsing_record",
            title=f"{record_view.asked_words(row.record)} – Needlework",
            run=run,
            number=request.path_params["run"],
            runs=self._runs,
            other=other and other[0],
            wanted=back,
            row=row,
            beside=beside,
            same_prompt=beside is not None and _same_prompt(row.record, beside.record),
            at=at,
            total=len(keys),
            before=keys[at - 1] if at else None,
            after=keys[at + 1] if at is not None and at + 1 < len(keys) else None,
            view=record_view,
        )

    def record_json(self, request: Request) -> Response:
        """A record as it stands in the run's files."""
        record = _row(request, self._run(request).reading()).record
        return Response(json.dumps(record, indent=2), media_type="application/json")

    def prompt(self, request: Request) -> Response:
        """The prompt of a trial, in parts."""
        run = self._run(request)
        record = _row(request, run.reading()).record
        made = shown_prompt(self._context.rebuild, run.folder, record)
        return told(
            {
                "same": made.same,
                "told": made.told,
                "parts": [[part.kind, part.text, part.name, part.depth] for part in made.parts],
            }
        )

    def _run(self, request: Request) -> OpenRun:
        return self._numbered(request.path_params["run"])

    def _numbered(self, number: int) -> OpenRun:
        if not 0 <= number < len(self._runs):
            raise HTTPException(404, "there is no run of this number; begin at the start page")
        return self._runs[number]

    def _other(self, wanted: Filter) -> tuple[OpenRun, Reading] | None:
        if wanted.beside is None:
            return None
        run = self._numbered(wanted.beside)
        return run, run.reading()

    def _found(self, request: Request) -> tuple[OpenRun, _Found]:
        run = self._run(request)
        wanted = filter_of(request.query_params.multi_items())
        reading = run.reading()
        other = self._other(wanted)
        base = in_question(reading.rows, wanted)
        rows = with_any_outcome(base, wanted, other[1].beside if other else None)
        return run, _Found(wanted, reading, base, counted(rows), shown(rows, wanted))


def _row(request: Request, reading: Reading) -> Row:
    key = request.path_params["key"]
    if key not in reading.by_key:
        raise HTTPException(404, f"this run has no record {printable(key, 200)!r}")
    return reading.by_key[key]


def _card(run: OpenRun) -> dict[str, Any]:
    try:
        brief = run.brief()
    except InputError as error:
        return {"name": run.name, "problem": str(error)}
    return {"name": run.name, "problem": "", "folder": run.folder, "brief": brief, "ago": _ago(brief.written)}


def _there(runs: Sequence[OpenRun]) -> list[str]:
    """The newest runs, a line each."""
    newest = sorted(runs, key=lambda run: run.written, reverse=True)
    if len(runs) == 1:  # it is read while somebody looks at the start page
        Thread(target=runs[0].warm, name="needlework-only-run", daemon=True).start()
    lines = [_in_short(run) for run in newest[:_ON_THE_START_PAGE]]
    left = len(runs) - len(lines)
    return [*lines, f"and {left} more"] if left else lines


def _in_short(run: OpenRun) -> str:
    card = _card(run)
    if card["problem"]:
        return str(card["problem"])
    brief: Brief = card["brief"]
    models = ", ".join(brief.models[:3]) + (", ..." if len(brief.models) > 3 else "")
    of = f" of {models}" if models else ""
    return f"{run.name}: {brief.said}{of}, {card['ago']}" + (f", {brief.state}" if brief.state else "")


def _line(row: Row, other: Row | None) -> dict[str, Any]:
    record = row.record
    answer = record["response"].get("text") or record["answer"]
    return {"row": row, "other": other, "answer": _cut(answer), "why": _cut(record["why"])}


def _cut(text: str) -> str:
    return text if len(text) <= _CUT else f"{text[:_CUT]}…"


def _ago(then: float) -> str:
    seconds = max(0, int(time.time() - then))
    steps: tuple[tuple[int, str], ...] = ((86_400, "days"), (3_600, "hours"), (60, "minutes"), (1, "seconds"))
    size, unit = next((step for step in steps if seconds >= 2 * step[0]), (1, "seconds"))
    return f"{seconds // size} {unit} ago"


def _sort_address(wanted: Filter, name: str) -> str:
    """First up, then down, then the run's own order."""
    following = {"": name, name: f"-{name}", f"-{name}": ""}
    return wanted.address(sort=following.get(wanted.sort, name))


def _sorted_as(wanted: Filter, name: str) -> str:
    return {name: "ascending", f"-{name}": "descending"}.get(wanted.sort, "none")


def _same_prompt(one: Record, other: Record) -> bool:
    digest = one["prompt"].get("sha256")
    return bool(digest) and digest == other["prompt"].get("sha256")
