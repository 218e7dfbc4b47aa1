"""What a page of question reviews shows and is told."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from needlework.core.errors import InputError, printable
from needlework.haystack_fixtures.documents.questions import STATUSES as CHECKED
from needlework.haystack_fixtures.documents.questions import Rows, is_decided
from needlework.results.web.app import Context, number_of, text_of, told
from needlework.results.web.question_files import (
    Library,
    Opinions,
    QuestionsFile,
    disagree,
    on_disk,
    opinion_json,
    problem_of,
    reviewed,
    write_reviewed,
    written_by,
)
from needlework.results.web.question_pairs import (
    STATUSES,
    Opinion,
    ReviewedPair,
    Row,
    Status,
    by_key,
    competitors,
    find_answer,
    fingerprint,
    last_opinion,
    opinions,
    opinions_log,
    pair_from,
    pair_json,
    pair_of,
    take_back,
    utf16_places,
)
from needlework.results.web.question_pairs import decide as keep


@dataclass(frozen=True, slots=True)
class PageRequest:
    """What a request is about."""

    file: QuestionsFile
    rows: Rows
    sha256: str


@dataclass(frozen=True, slots=True)
class ReviewContext:
    """What all addresses of the page share. What a request names and is not there raises `HTTPException`."""

    context: Context
    file: QuestionsFile
    library: Library

    def asked(self) -> PageRequest:
        """The file as it is on disk now. Raises `InputError`."""
        return PageRequest(self.file, *self.file.read())

    def pair(self, request: Request) -> ReviewedPair:
        """The pair `key` as the reviewer `by` words it."""
        asked, key, by = self.asked(), request.query_params.get("key", ""), request.query_params.get("by", "")
        if key not in asked.rows:
            raise HTTPException(404, "the file has no such pair any more: load the page again")
        with self.context.store.reading() as connection:
            mine = last_opinion(opinions_log(connection, asked.file.name), key, by)
        pair = pair_of(asked.rows[key])
        return mine.pair if mine and mine.pair and mine.about == fingerprint(pair) else pair

    def document(self, request: Request) -> int:
        """The document `number`, or the pair's answer document."""
        if not self.library.known:
            raise HTTPException(404, "there are no documents: start needlework serve with --documents DIR")
        asked = request.query_params.get("number")
        if asked is not None:
            return document_number(asked, len(self.library.documents))
        name = self.pair(request).document
        number = self.library.number_of(name)
        if number is None:
            line = f"there is no document {printable(name, 200)!r} in the folder: edit the pair, or reject it"
            raise HTTPException(404, line)
        return number

    def named(self, number: int) -> dict[str, Any]:
        """A document as the page lists it."""
        return {"number": number, "name": self.library.documents[number].name}

    def changed(self, asked: PageRequest, since: int) -> dict[str, Any]:
        """The state of all pairs of which something was said after the number `since`."""
        with self.context.store.reading() as connection:
            log = opinions_log(connection, asked.file.name)
            keys = [key for key in log.items_since(since) if key in asked.rows]
            number = log.last_number()
            now = by_key(opinions(log)) if keys else {}
        states = {key: state_for_page(now.get(key, {}), asked.rows[key]) for key in keys}
        return {"sha256": asked.sha256, "number": number, "states": states}


_LONGEST_NAME = 60
_SHOWN_APART = frozenset(
    {"question", "answer", "aliases", "answer_doc", "supporting_docs", "status", "reasons", "decision"}
)


def pair_for_page(key: str, row: Row) -> dict[str, Any]:
    """A row of the file: its pair, what the check says, an earlier decision, and all other fields."""
    pair, reasons = pair_of(row), row.get("reasons")
    return {
        "key": key,
        **pair_json(pair),
        "about": fingerprint(pair),
        "check": row["status"] if row.get("status") in CHECKED else None,
        "reasons": [each for each in reasons if isinstance(each, str)] if isinstance(reasons, list) else [],
        "earlier": row["decision"] if is_decided(row) else None,
        "facts": {name: value for name, value in row.items() if name not in _SHOWN_APART},
    }


def state_for_page(opinions: Opinions, row: Row) -> dict[str, Any]:
    """What reviewers say of a row, in order."""
    said: Sequence[Opinion] = sorted(opinions.values(), key=lambda each: each.number)
    return {"opinions": [opinion_json(each, row) for each in said], "disagree": disagree(opinions, row)}


def reviewer_of(body: Mapping[str, Any]) -> str:
    """The name of who says it. Raises `InputError`."""
    name = " ".join(text_of(body, "by", _LONGEST_NAME).split())
    if not name or not name.isprintable():
        raise InputError("by", name, "give your name")
    return name


def status_of_change(body: Mapping[str, Any]) -> Status:
    """The decision. Raises `InputError`."""
    found = next((each for each in STATUSES if each == body.get("status")), None)
    if found is None:
        raise InputError("status", body.get("status"), f"is one of {', '.join(STATUSES)}")
    return found


def document_number(text: str, below: int) -> int:
    """A number of a document. Raises a 404 where there is none."""
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and int(text) < below):
        raise HTTPException(404, "there is no such document")
    return int(text)


def wording_of(body: Mapping[str, Any], row: Row) -> ReviewedPair:
    """The pair that was decided on: the reviewer's, or the file's. Raises `InputError`."""
    if body.get("pair") is None:
        return pair_of(row)
    try:
        return pair_from(body["pair"])
    except ValueError as error:
        raise InputError("edit", "", str(error)) from None


def pairs(desk: ReviewContext, _request: Request) -> Response:
    """All pairs of a file, and what reviewers say of them."""
    asked = desk.asked()
    with desk.context.store.reading() as connection:
        log = opinions_log(connection, asked.file.name)
        now, number = by_key(opinions(log)), log.last_number()
    return told(
        {
            "sha256": asked.sha256,
            "number": number,
            "pairs": [pair_for_page(key, row) for key, row in asked.rows.items()],
            "states": {key: state_for_page(now[key], row) for key, row in asked.rows.items() if key in now},
            "reviewers": sorted({by for opinions in now.values() for by in opinions}),
        }
    )


def changes(desk: ReviewContext, request: Request) -> Response:
    """What was said since the number `since`."""
    asked = desk.asked()
    since = request.query_params.get("since", "")
    if not (since.isascii() and since.isdecimal() and len(since) < 16):
        raise HTTPException(400, "since is a number")
    return told(desk.changed(asked, int(since)))


_WAIT_S = 2.0


def document(desk: ReviewContext, request: Request) -> Response:
    """A document's text."""
    number = desk.document(request)
    document = desk.library.documents[number]
    return told({"number": number, "name": document.name, "text": document.text})


def places(desk: ReviewContext, request: Request) -> Response:
    """Where a document gives the pair's answer, in UTF-16 units of its text."""
    number = desk.document(request)
    text = desk.library.documents[number].text
    found = find_answer(text, desk.pair(request).answers)
    return told({"number": number, **asdict(found), "places": utf16_places(text, found.places)})


def others(desk: ReviewContext, request: Request) -> Response:
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


def names(desk: ReviewContext, _request: Request) -> Response:
    """The names of all documents, by number."""
    return told([each.name for each in desk.library.documents])


_LONGEST_REASON, _MOST = 2000, 2**53


def decide(desk: ReviewContext, _request: Request, body: Mapping[str, Any]) -> Response:
    """Keeps a decision. `seen`: number of the reviewer's decision that the page shows, 0 for none. `about`: fingerprint
    of the pair that it shows as the file's.
    """
    asked, by = desk.asked(), reviewer_of(body)
    key, seen = text_of(body, "key", _MOST), number_of(body, "seen", 0, _MOST)
    row = asked.rows.get(key)
    if row is None or body.get("about") != fingerprint(pair_of(row)):
        return told({"error": "not kept: the file has changed on disk; load the page again"}, 409)
    status, reason = status_of_change(body), text_of(body, "reason", _LONGEST_REASON).strip()
    if status == "reject" and not reason:
        raise InputError("reason", "", "say why the pair is rejected")
    pair = wording_of(body, row)
    if status == "accept" and (problem := problem_of(pair, desk.library.has)):
        raise InputError("accept", key, f"{problem}: edit the pair, or reject it")
    with desk.context.store.writing() as connection:
        log = opinions_log(connection, asked.file.name)
        mine = last_opinion(log, key, by)
        if seen != (mine.number if mine else 0):
            line = "not kept: you decided on this pair in another window since; its decision is shown now"
            return _conflict(desk, asked, body, line)
        keep(
            log,
            key,
            by,
            status=status,
            reason=reason,
            pair=None if pair == pair_of(row) else pair,
            about=fingerprint(pair_of(row)),
        )
    return told(desk.changed(asked, number_of(body, "since", 0, _MOST)))


def undo(desk: ReviewContext, _request: Request, body: Mapping[str, Any]) -> Response:
    """Takes a decision back. `number`: the reviewer's last decision as the page knows it."""
    asked, by = desk.asked(), reviewer_of(body)
    number = number_of(body, "number", 0, _MOST)
    with desk.context.store.writing() as connection:
        log = opinions_log(connection, asked.file.name)
        mine = [each for each in opinions(log, by=by) if each.key in asked.rows]
        if not mine:
            return told({"error": "there is nothing to take back"}, 409)
        if mine[-1].number != number:
            line = f"not taken back: your last decision is another one since, on pair {mine[-1].key}; look at it"
            return _conflict(desk, asked, body, line)
        take_back(log, mine[-1])
    return told({"key": mine[-1].key, **desk.changed(asked, number_of(body, "since", 0, _MOST))})


def write(desk: ReviewContext, _request: Request, body: Mapping[str, Any]) -> Response:
    """Writes the reviewed file. `replace`: sha256 of one to write over although it is not this reviewer's."""
    asked, by = desk.asked(), reviewer_of(body)
    with desk.context.store.writing() as connection:
        now = by_key(opinions(opinions_log(connection, asked.file.name)))
        made = reviewed(asked.rows, now, by, desk.library.has)
        there = on_disk(asked.file.target)
        writer = there and written_by(connection, asked.file, there)
        if there and writer != by and body.get("replace") != there:
            whose = f"has the decisions of {writer}" if writer else "was not written by this page"
            line = f"{asked.file.target.name} exists, and {whose}"
            return told({"exists": line, "sha256": there})
        digest = write_reviewed(connection, asked.file, made.rows, by)
    folder = str(desk.library.folder or "DIR")
    words = ["--preset", "own-documents", "--documents", folder, "--questions", str(asked.file.target)]
    return told(
        {
            "path": str(asked.file.target),
            "sha256": digest,
            "command": shlex.join(["pytest", "benchmarks", *words]),
            "decided": made.decided,
            "earlier": made.earlier,
            "undecided": made.undecided,
            "disagreements": made.disagreements,
            "problems": made.problems[:20],
            "more_problems": max(0, len(made.problems) - 20),
        }
    )


def _conflict(desk: ReviewContext, asked: PageRequest, body: Mapping[str, Any], line: str) -> Response:
    return told({"error": line, **desk.changed(asked, number_of(body, "since", 0, _MOST))}, 409)


@dataclass(frozen=True, slots=True)
class EditedFile:
    """One file in the editor. `how_far`: says how far people are with it. `routes`: its addresses, below its own."""

    title: str
    how_far: Callable[[], str]
    routes: Sequence[BaseRoute]
