"""What the page works on: questions files, documents, and what reviewers said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request

from needlework.haystack_fixtures.documents.questions import Rows
from needlework.haystack_fixtures.errors import printable
from needlework.results.web.editing.questions.files import QuestionsFile
from needlework.results.web.editing.questions.library import Library
from needlework.results.web.editing.questions.opinions import by_key, last_opinion, opinions, opinions_log
from needlework.results.web.editing.questions.pairs import Pair, fingerprint, pair_of
from needlework.results.web.editing.questions.wire import document_number, state_for_page
from needlework.results.web.page import Context


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request is about."""

    file: QuestionsFile
    rows: Rows
    sha256: str


@dataclass(frozen=True, slots=True)
class Desk:
    """What all addresses of the page share. What a request names and is not there raises `HTTPException`."""

    context: Context
    file: QuestionsFile
    library: Library

    def asked(self) -> Asked:
        """The file as it is on disk now. Raises `InputError`."""
        return Asked(self.file, *self.file.read())

    def pair(self, request: Request) -> Pair:
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

    def changed(self, asked: Asked, since: int) -> dict[str, Any]:
        """The state of all pairs of which something was said after the number `since`."""
        with self.context.store.reading() as connection:
            log = opinions_log(connection, asked.file.name)
            keys = [key for key in log.items_since(since) if key in asked.rows]
            number = log.last_number()
            now = by_key(opinions(log)) if keys else {}
        states = {key: state_for_page(now.get(key, {}), asked.rows[key]) for key in keys}
        return {"sha256": asked.sha256, "number": number, "states": states}
