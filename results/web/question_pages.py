"""Pages of questions: people accept, edit, reject and add them, into `NAME.reviewed.json`."""

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from msgspec import Struct
from msgspec.structs import asdict
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from needlework.core.errors import InputError, printable
from needlework.haystack_fixtures.documents.questions import is_decided, question_file, rows_before, status_of, texts_of
from needlework.haystack_fixtures.documents.readers import DocumentSet, read_documents
from needlework.results.web import app

QuestionRow = Mapping[str, Any]
_STATES = ("undecided", "accepted", "edited", "rejected", "added")
_DECISIONS = ("accept", "reject", "undecided")


class ReviewedPair(Struct, frozen=True):
    """`answers`: the reference first, then its aliases. `document`, `supporting`: names of documents."""

    question: str
    answers: tuple[str, ...]
    document: str
    supporting: tuple[str, ...]


def pair_of(row: QuestionRow) -> ReviewedPair:
    """Read the pair of a row; what the row lacks is empty, so that a reviewer can mend it."""
    question, document = (str(row.get(name) or "") for name in ("question", "answer_doc"))
    answers, supporting = texts_of(row.get("answer"), row.get("aliases")), texts_of(row.get("supporting_docs"))
    return ReviewedPair(question.strip(), answers, document, supporting)


def with_pair(row: QuestionRow, pair: ReviewedPair) -> dict[str, Any]:
    """Put a pair into a row, and keep its other fields; one that has the pair already is unchanged."""
    if pair == pair_of(row):
        return dict(row)
    answer, *aliases = pair.answers or ("",)
    named = {"answer_doc": pair.document, "supporting_docs": list(pair.supporting)}
    return {**row, "question": pair.question, "answer": answer, "aliases": aliases, **named}


def open_pages(context: app.Context) -> list[app.Page]:
    """One page for each questions file that was given. Raises `InputError` for one that cannot be read."""
    paths, folder = context.sources.questions, context.sources.documents
    documents = read_documents(str(folder)) if folder and paths else None
    about = "Accept, edit, reject or add questions beside their documents."
    pages = []
    for number, path in enumerate(paths):
        file = _ReviewedFile(context, f"/questions/{number}/", path, documents)
        file.rows()
        routes = [
            context.reading("/", file.show_list),
            context.reading("/pair", file.show_pair),
            context.reading("/document", file.show_document),
            context.changing("/decide", file.decide),
        ]
        pages.append(app.Page(file.address, path.name, about, routes, file.state))
    return pages


class _ReviewedFile:
    """A file of questions with its pages.
    `path`: the file that was named, which stays as it is. `documents`: what its questions are about, if given."""

    def __init__(self, context: app.Context, address: str, path: Path, documents: DocumentSet | None) -> None:
        self.address = address
        self.path = path
        self.documents = documents
        self._context = context
        name = path.stem.removesuffix(".checked").removesuffix(".reviewed")
        self._reviewed = path.with_name(f"{name}.reviewed.json")  # the record

    def rows(self) -> dict[str, QuestionRow]:
        """Read the rows, with the decisions that are about their wording of now. Raises `InputError`."""
        source = rows_before(self.path, "PATH")
        decided = {key: row for key, row in rows_before(self._reviewed, "PATH").items() if is_decided(row)}
        for key in source.keys() & decided.keys():
            about = decided[key]["decision"].get("about")
            if about not in (None, _digest(source[key])) and self.path != self._reviewed:
                del decided[key]
        return {**source, **decided}

    def link(self, page: str, **words: str) -> str:
        """An address of this file's pages."""
        return f"{self.address}{page}?{urlencode(words, errors='surrogatepass')}"

    def state(self) -> str:
        """The progress in words."""
        rows = self.rows()
        return f"{len(rows)} questions, {sum(map(is_decided, rows.values()))} decided"

    def show_list(self, request: Request, _person: str) -> Response:
        rows = self.rows()
        listed = []
        for key, row in rows.items():
            pair, decision = pair_of(row), _decision_of(row)
            parts = [" / ".join(pair.answers), pair.document]
            parts += [f"by {decision['by']}" if decision["status"] else f"check: {row.get('status') or 'none'}"]
            if status_of(row) != "reject" and (problem := self._problem(row)):
                parts.append(f"cannot be asked: {problem}")
            title, address = pair.question or "(no question)", self.link("pair", key=key)
            listed.append(app.ListRow(address, title, _state_of(row), " · ".join(parts)))
        words = ["--documents", str(self._context.sources.documents or "DIR"), "--questions", str(self._reviewed)]
        return self._context.show_list(
            request,
            "questions",
            listed,
            _STATES,
            title=self.path.name,
            counts=self.state(),
            following=self._next_undecided(""),
            add=self.link("pair", key=""),
            target=self._reviewed,
            exists=self._reviewed.exists(),
            command=shlex.join(["pytest", "benchmarks", "--preset", "own-documents", *words]),
        )

    def show_pair(self, request: Request, _person: str) -> Response:
        key = request.query_params.get("key", "")
        keys, row = list(self.rows()), self._row(key)
        number = keys.index(key) if key else len(keys)
        links, pair = [self.link("pair", key=each) for each in keys], pair_of(row)
        return self._context.show(
            request,
            "question",
            title=f"Question {number + 1} of {len(keys)}" if key else "A new question",
            list=self.address,
            file=self,
            key=key,
            row=row,
            pair=pair,
            others=self._others(row) if self.documents else [],
            seen=_digest(row),
            state=_state_of(row),
            decision=_decision_of(row),
            reasons=texts_of(row.get("reasons")),
            previous=links[number - 1] if number else "",
            following=links[number + 1] if number + 1 < len(keys) else "",
        )

    def show_document(self, request: Request, _person: str) -> Response:
        pair = pair_of(self._row(request.query_params.get("key", "")))
        name = request.query_params.get("name", pair.document)
        document = self.documents.named(name) if self.documents else None
        if document is None:
            raise HTTPException(404, f"there is no document {printable(name, 200)!r} in the folder: edit, or reject")
        return self._context.show_document(request, document.text, document.name, pair.answers)

    def decide(self, _request: Request, person: str, form: app.FormFields) -> str:
        """Write a decision, or take one back. `seen`, `at`: the wording and the decision that the page showed."""
        key, status, reason = form.get("key", ""), form.get("status", ""), form.get("reason", "").strip()
        if status not in _DECISIONS:
            raise InputError("status", status, f"is one of {', '.join(_DECISIONS)}")
        if status == "reject" and not reason:
            raise InputError("reason", "", "say why the question is rejected")
        answers = texts_of(form.get("answer", ""), *form.get("aliases", "").split("\n"))
        supporting = texts_of(*form.get("supporting", "").split("\n"))
        pair = ReviewedPair(form.get("question", "").strip(), answers, form.get("document", ""), supporting)

        def decide(_before: bytes) -> bytes:
            rows, row = self.rows(), self._row(key)
            if (form.get("seen"), form.get("at")) != (_digest(row), _decision_of(row)["at"]):
                raise app.StaleError(row.get("question", ""))
            if status == "undecided":
                source = rows_before(self.path, "PATH").get(key, row)
                rows[key] = {name: value for name, value in source.items() if name != "decision"}
                return question_file(rows)
            changed = _decided(row, pair, status, reason, person)
            if status == "accept" and (problem := self._problem(changed)):
                raise InputError("accept", pair.question, f"{problem}: edit it, or reject it")
            names = (f"added-{number}" for number in range(1, len(rows) + 2))  # no number: the file may get that too
            rows[key or next(name for name in names if name not in rows)] = changed
            return question_file(rows)

        app.change_record(self._reviewed, decide)
        return self._next_undecided(key) if key and status != "undecided" else self.address

    def _row(self, key: str) -> QuestionRow:
        """The row of a key; an empty one for a question that is added."""
        rows = self.rows()
        if key and key not in rows:
            raise HTTPException(404, "the file has no such question any more: load the list again")
        return rows.get(key, {})

    def _next_undecided(self, key: str) -> str:
        """The address of the next undecided question, of the list where there is none."""
        rows = self.rows()
        keys = list(rows)
        number = app.first_open([not is_decided(row) for row in rows.values()], keys.index(key) if key in rows else -1)
        return self.address if number is None else self.link("pair", key=keys[number])

    def _others(self, row: QuestionRow) -> list[tuple[str, str]]:
        """Documents that might answer, and why: those of the pair, and those that the check named."""
        pair = pair_of(row)
        reasons = {
            "answer document": (pair.document,),
            "supporting document": pair.supporting,
            "copy of the answer document": texts_of(row.get("twins")),
            "has the answer too": texts_of(row.get("also_in")),
        }
        return [(name, why) for why, names in reasons.items() for name in names if name]

    def _problem(self, row: QuestionRow) -> str:
        """Say why a run cannot ask a row; empty where it can."""
        pair = pair_of(row)
        empty = [name for name in ("question", "answers", "document") if not getattr(pair, name)]
        if empty:
            return f"it has no {empty[0]}"
        names = (pair.document, *pair.supporting) if self.documents else ()
        missing = [name for name in names if self.documents and not self.documents.named(name)]
        return f"there is no document {missing[0]!r} in the folder" if missing else ""


def _digest(row: QuestionRow) -> str:
    return app.digest_of(json.dumps(asdict(pair_of(row))).encode())


def _state_of(row: QuestionRow) -> str:
    decision = _decision_of(row)
    if decision["status"] != "accept":
        return "rejected" if decision["status"] else "undecided"
    return "added" if decision.get("added") else "edited" if decision["edited"] else "accepted"


def _decision_of(row: QuestionRow) -> dict[str, Any]:
    """A person's decision, with all fields that a page shows."""
    blank = {"status": "", "by": "", "at": "", "reason": "", "edited": []}
    return blank | (row["decision"] if is_decided(row) else {})


def _decided(row: QuestionRow, pair: ReviewedPair, status: str, reason: str, person: str) -> dict[str, Any]:
    """Put a person's wording, status and decision into a row. `about`: hash of the original wording."""
    old, before = pair_of(row), _decision_of(row)
    changed = [name for name in pair.__struct_fields__ if getattr(pair, name) != getattr(old, name)]
    decision = {"status": status, "by": person, "at": app.utc_now(), "about": before.get("about") or _digest(row)}
    decision |= {"reason": reason} if reason else {}
    decision |= {"added": True} if not row or before.get("added") else {}
    decision |= {"edited": edited} if (edited := sorted({*changed, *before["edited"]})) else {}
    return {**with_pair(row, pair), "status": status, "decision": decision}
