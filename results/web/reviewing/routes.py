"""The page's addresses: the pairs of a file, a pair's documents, and what a reviewer says."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from haystack_fixtures.documents.questions import Rows
from haystack_fixtures.errors import InputError, printable
from results.web.page import Context, Page
from results.web.replies import changing, number_of, text_of, told
from results.web.reviewing.blocks import blocks_of
from results.web.reviewing.competitors import competitors
from results.web.reviewing.files import QuestionsFile, named, on_disk, write_reviewed, written_by
from results.web.reviewing.library import Library
from results.web.reviewing.opinions import (
    decide,
    keys_since,
    last_number,
    last_opinion,
    latest,
    read_opinions,
    take_back,
)
from results.web.reviewing.pairs import Pair, fingerprint, pair_of
from results.web.reviewing.places import find_answer, utf16_places
from results.web.reviewing.standing import problem_of, reviewed
from results.web.reviewing.wire import (
    document_number,
    pair_for_page,
    reviewer_of,
    state_for_page,
    status_of_change,
    wording_of,
)

_LONGEST_REASON, _MOST = 2000, 2**53
_WAIT_S = 2.0


def open_page(context: Context) -> Page | None:
    """The page, where questions files were given. Raises `InputError` for one that cannot be read."""
    if not context.sources.questions:
        return None
    files = [named(path, context.store.path) for path in context.sources.questions]
    for file in files:
        file.read()
    reviewing = _Reviewing(context, files, Library(context.sources.documents))
    return Page(
        "reviewing",
        "Review questions",
        "Accept, edit or reject questions about your documents, beside the documents.",
        reviewing.routes(),
        reviewing.state,
    )


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a request is about."""

    file: QuestionsFile
    rows: Rows
    sha256: str


class _Reviewing:
    def __init__(self, context: Context, files: Sequence[QuestionsFile], library: Library) -> None:
        self._context = context
        self._files = files
        self._library = library

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/", self._list),
            Route("/{file:int}/", self._page),
            Route("/{file:int}/pairs", self._pairs),
            Route("/{file:int}/changes", self._changes),
            Route("/{file:int}/document", self._document),
            Route("/{file:int}/places", self._places),
            Route("/{file:int}/competitors", self._competitors),
            Route("/{file:int}/names", self._names),
            changing("/{file:int}/decide", self._decide, as_sent=True),
            changing("/{file:int}/undo", self._undo),
            changing("/{file:int}/write", self._write),
        ]

    def state(self) -> str:
        """How far reviewers are, for the start page."""
        lines = []
        with self._context.store.reading() as connection:
            for file in self._files:
                try:
                    rows, _ = file.read()
                except InputError as error:
                    lines.append(str(error))
                    continue
                said = [each for key, each in latest(read_opinions(connection, file.name)).items() if key in rows]
                by = sorted({name for each in said for name in each})
                counts = ", ".join(f"{name} {sum(name in each for each in said)}" for name in by) or "nobody yet"
                lines.append(f"{file.path.name}: {len(rows)} pairs; decided by {counts}")
        return "; ".join(lines)

    # Pages

    def _list(self, request: Request) -> Response:
        if len(self._files) == 1:
            return RedirectResponse("/reviewing/0/")
        return self._context.show(request, "reviewing_files", title="Review questions", files=self._files)

    def _page(self, request: Request) -> Response:
        file = self._file(request)
        return self._context.show(
            request,
            "reviewing",
            title=f"{file.path.name} · review",
            file=file,
            has_documents=self._library.known,
        )

    # What the page shows

    def _pairs(self, request: Request) -> Response:
        asked = self._asked(request)
        with self._context.store.reading() as connection:
            now = latest(read_opinions(connection, asked.file.name))
            number = last_number(connection, asked.file.name)
        return told(
            {
                "sha256": asked.sha256,
                "number": number,
                "pairs": [pair_for_page(key, row) for key, row in asked.rows.items()],
                "states": {key: state_for_page(now[key], row) for key, row in asked.rows.items() if key in now},
                "reviewers": sorted({by for opinions in now.values() for by in opinions}),
            }
        )

    def _changes(self, request: Request) -> Response:
        asked = self._asked(request)
        since = request.query_params.get("since", "")
        if not (since.isascii() and since.isdecimal() and len(since) < 16):
            raise HTTPException(400, "since is a number")
        return told(self._changed(asked, int(since)))

    def _changed(self, asked: _Asked, since: int) -> dict[str, Any]:
        with self._context.store.reading() as connection:
            keys = [key for key in keys_since(connection, asked.file.name, since) if key in asked.rows]
            number = last_number(connection, asked.file.name)
            now = latest(read_opinions(connection, asked.file.name)) if keys else {}
        states = {key: state_for_page(now.get(key, {}), asked.rows[key]) for key in keys}
        return {"sha256": asked.sha256, "number": number, "states": states}

    def _document(self, request: Request) -> Response:
        """A document in blocks."""
        number = self._number(request)
        document = self._library.documents[number]
        return told({"number": number, "name": document.name, "blocks": blocks_of(document.text)})

    def _places(self, request: Request) -> Response:
        """Where a document gives the pair's answer, in UTF-16 units of its text."""
        number = self._number(request)
        text = self._library.documents[number].text
        found = find_answer(text, self._pair(request).answers)
        return told({"number": number, **asdict(found), "places": utf16_places(text, found.places)})

    def _competitors(self, request: Request) -> Response:
        corpus = self._library.corpus(_WAIT_S)
        if corpus is None:
            return told({"ready": False})
        asked = self._asked(request)
        pair = self._pair(request)
        row = asked.rows[request.query_params["key"]]
        document = self._library.number_of(pair.document)
        twins = () if document is None else self._library.twins_of(document)
        supporting = self._library.numbers_of(pair.supporting)
        found = competitors(
            corpus,
            pair.question,
            pair.answers,
            own={
                *self._library.numbers_of(pair.supporting),
                *(twins or ()),
                *(() if document is None else (document,)),
            },
            named=self._library.numbers_of(row.get("also_in")),
        )
        return told(
            {
                "ready": True,
                "listed": [{**asdict(each), **self._named(each.number)} for each in found.listed],
                "holders": found.holders,
                "supporting": [self._named(each) for each in supporting],
                "twins": None if twins is None else [self._named(each) for each in twins],
            }
        )

    def _names(self, _request: Request) -> Response:
        return told([each.name for each in self._library.documents])

    # What a reviewer says

    def _decide(self, request: Request, body: Mapping[str, Any]) -> Response:
        """`seen`: number of the reviewer's decision that the page shows, 0 for none. `about`: fingerprint of the pair
        that it shows as the file's.
        """
        asked, by = self._asked(request), reviewer_of(body)
        key, seen = text_of(body, "key", _MOST), number_of(body, "seen", 0, _MOST)
        row = asked.rows.get(key)
        if row is None or body.get("about") != fingerprint(pair_of(row)):
            return told({"error": "not kept: the file has changed on disk; load the page again"}, 409)
        status, reason = status_of_change(body), text_of(body, "reason", _LONGEST_REASON).strip()
        if status == "reject" and not reason:
            raise InputError("reason", "", "say why the pair is rejected")
        pair = wording_of(body, row)
        if status == "accept" and (problem := problem_of(pair, self._library.has)):
            raise InputError("accept", key, f"{problem}: edit the pair, or reject it")
        with self._context.store.writing() as connection:
            mine = last_opinion(connection, asked.file.name, key, by)
            if seen != (mine.number if mine else 0):
                line = "not kept: you decided on this pair in another window since; its decision is shown now"
                return self._conflict(asked, body, line)
            decide(
                connection,
                asked.file.name,
                key,
                by,
                status=status,
                reason=reason,
                pair=None if pair == pair_of(row) else pair,
                about=fingerprint(pair_of(row)),
            )
        return told(self._changed(asked, number_of(body, "since", 0, _MOST)))

    def _undo(self, request: Request, body: Mapping[str, Any]) -> Response:
        """`number`: the reviewer's last decision as the page knows it."""
        asked, by = self._asked(request), reviewer_of(body)
        number = number_of(body, "number", 0, _MOST)
        with self._context.store.writing() as connection:
            mine = [each for each in read_opinions(connection, asked.file.name, by=by) if each.key in asked.rows]
            if not mine:
                return told({"error": "there is nothing to take back"}, 409)
            if mine[-1].number != number:
                line = f"not taken back: your last decision is another one since, on pair {mine[-1].key}; look at it"
                return self._conflict(asked, body, line)
            take_back(connection, asked.file.name, mine[-1])
        return told({"key": mine[-1].key, **self._changed(asked, number_of(body, "since", 0, _MOST))})

    def _write(self, request: Request, body: Mapping[str, Any]) -> Response:
        """`replace`: sha256 of the file that may be written over although it is not this reviewer's."""
        asked, by = self._asked(request), reviewer_of(body)
        with self._context.store.writing() as connection:
            now = latest(read_opinions(connection, asked.file.name))
            made = reviewed(asked.rows, now, by, self._library.has)
            there = on_disk(asked.file.target)
            writer = there and written_by(connection, asked.file, there)
            if there and writer != by and body.get("replace") != there:
                whose = f"has the decisions of {writer}" if writer else "was not written by this page"
                line = f"{asked.file.target.name} exists, and {whose}"
                return told({"exists": line, "sha256": there})
            digest = write_reviewed(connection, asked.file, made.rows, by)
        folder = str(self._library.folder or "DIR")
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

    # Looking things up

    def _file(self, request: Request) -> QuestionsFile:
        number = int(request.path_params["file"])
        if number >= len(self._files):
            raise HTTPException(404, "there is no such file")
        return self._files[number]

    def _asked(self, request: Request) -> _Asked:
        file = self._file(request)
        return _Asked(file, *file.read())

    def _number(self, request: Request) -> int:
        """The document `number`, or the pair's answer document."""
        if not self._library.known:
            raise HTTPException(404, "there are no documents: start needlework serve with --documents DIR")
        asked = request.query_params.get("number")
        if asked is not None:
            return document_number(asked, len(self._library.documents))
        name = self._pair(request).document
        number = self._library.number_of(name)
        if number is None:
            line = f"there is no document {printable(name, 200)!r} in the folder: edit the pair, or reject it"
            raise HTTPException(404, line)
        return number

    def _named(self, number: int) -> dict[str, Any]:
        return {"number": number, "name": self._library.documents[number].name}

    def _pair(self, request: Request) -> Pair:
        """The pair `key` as the reviewer `by` words it."""
        asked, key, by = self._asked(request), request.query_params.get("key", ""), request.query_params.get("by", "")
        if key not in asked.rows:
            raise HTTPException(404, "the file has no such pair any more: load the page again")
        with self._context.store.reading() as connection:
            mine = last_opinion(connection, asked.file.name, key, by)
        pair = pair_of(asked.rows[key])
        return mine.pair if mine and mine.pair and mine.about == fingerprint(pair) else pair

    def _conflict(self, asked: _Asked, body: Mapping[str, Any], line: str) -> Response:
        return told({"error": line, **self._changed(asked, number_of(body, "since", 0, _MOST))}, 409)
