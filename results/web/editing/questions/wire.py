"""What goes between the page and the server: pairs and decisions as JSON, and what is read from a request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from starlette.exceptions import HTTPException

from needlework.haystack_fixtures.documents.questions import STATUSES as CHECKED
from needlework.haystack_fixtures.documents.questions import is_decided
from needlework.haystack_fixtures.errors import InputError
from needlework.results.web.editing.questions.opinions import STATUSES, Opinion, Status
from needlework.results.web.editing.questions.pairs import Pair, Row, fingerprint, pair_from, pair_json, pair_of
from needlework.results.web.editing.questions.standing import Opinions, disagree, opinion_json
from needlework.results.web.replies import text_of

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


def wording_of(body: Mapping[str, Any], row: Row) -> Pair:
    """The pair that was decided on: the reviewer's, or the file's. Raises `InputError`."""
    if body.get("pair") is None:
        return pair_of(row)
    try:
        return pair_from(body["pair"])
    except ValueError as error:
        raise InputError("edit", "", str(error)) from None
