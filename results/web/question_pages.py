"""Pages of questions about documents: people accept, edit, reject and add them, and `NAME.reviewed.json` has it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import lru_cache, partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from needlework.core.errors import InputError, printable
from needlework.haystack_fixtures.documents.near_copies import twins
from needlework.haystack_fixtures.documents.questions import is_decided, question_file, read_rows, status_of
from needlework.haystack_fixtures.documents.readers import DocumentSet, read_documents
from needlework.results.questions.evidence import DocumentIndex, nearest, rivals
from needlework.results.web.app import Context, FormFields, ListRow, Page, document_html
from needlework.results.web.store import ABSENT, FileStamp, StaleError, change_record, digest_of, stamp_of, utc_now

QuestionRow = Mapping[str, Any]
_STATES = ("all", "undecided", "accepted", "edited", "rejected", "added")
_DECISIONS = ("accept", "reject", "undecided")


@dataclass(frozen=True, slots=True)
class ReviewedPair:
    """`answers`: the reference first, then its aliases. `document`, `supporting`: names of documents."""

    question: str
    answers: tuple[str, ...]
    document: str
    supporting: tuple[str, ...]


def pair_of(row: QuestionRow) -> ReviewedPair:
    """Read the pair of a row; what the row lacks is empty, so that a reviewer can mend it."""
    question, document = (str(row.get(name) or "") for name in ("question", "answer_doc"))
    answers, supporting = _texts(row.get("answer"), row.get("aliases")), _texts(row.get("supporting_docs"))
    return ReviewedPair(question.strip(), answers, document, supporting)


def with_pair(row: QuestionRow, pair: ReviewedPair) -> dict[str, Any]:
    """Put a pair into a row: fields that say the same stay as they are, and all others of the row."""
    old, changed = pair_of(row), dict(row)
    if pair.question != old.question:
        changed["question"] = pair.question
    if pair.document != old.document:
        changed["answer_doc"] = pair.document
    if pair.supporting != old.supporting:
        changed["supporting_docs"] = list(pair.supporting)
    if pair.answers != old.answers:
        is_list = isinstance(row.get("answer"), list)
        changed["answer"] = list(pair.answers) if is_list else next(iter(pair.answers), "")
        if "aliases" in row or (pair.answers[1:] and not is_list):
            changed["aliases"] = [] if is_list else list(pair.answers[1:])
    return changed


@dataclass(frozen=True, slots=True)
class _ReviewedFile:
    """`path`: the file that was named, which stays as it is. `documents`: what its questions are about, if given."""

    context: Context
    address: str
    path: Path
    documents: DocumentSet | None

    @property
    def reviewed(self) -> Path:
        """The record: `q.checked.json` and `q.json` become `q.reviewed.json`."""
        return self.path.with_name(f"{self.path.stem.removesuffix('.checked').removesuffix('.reviewed')}.reviewed.json")

    def rows(self) -> dict[str, QuestionRow]:
        """Read the rows, with the decisions that are about their wording of now. Raises `InputError`."""
        source, stamp = _read_rows(self.path, stamp_of(self.path)), stamp_of(self.reviewed)
        reviewed = {} if stamp == ABSENT else _read_rows(self.reviewed, stamp)
        decided = {key: row for key, row in reviewed.items() if is_decided(row)}
        for key in source.keys() & decided.keys():
            about = decided[key]["decision"].get("about")
            if about not in (None, _digest(source[key])) and self.path != self.reviewed:
                del decided[key]
        return {**source, **decided}

    def row(self, key: str) -> QuestionRow:
        """The row of a key; an empty one for a question that is added."""
        rows = self.rows()
        if key and key not in rows:
            raise HTTPException(404, "the file has no such question any more: load the list again")
        return rows.get(key, {})

    def link(self, page: str, **words: str) -> str:
        """An address of this file's pages."""
        return f"{self.address}{page}?{urlencode(words, errors='surrogatepass')}"

    def after(self, key: str) -> str:
        """The address of the next undecided question, of the list where there is none."""
        rows = self.rows()
        keys = list(rows)
        start = keys.index(key) + 1 if key in rows else 0
        following = next((each for each in [*keys[start:], *keys[:start]] if not is_decided(rows[each])), None)
        return self.address if following is None else self.link("pair", key=following)

    def state(self) -> str:
        """How far people are."""
        rows = self.rows()
        return f"{len(rows)} questions, {sum(map(is_decided, rows.values()))} decided"

    def problem(self, row: QuestionRow) -> str:
        """Say why a run cannot ask a row; empty where it can."""
        pair = pair_of(row)
        empty = [name for name in ("question", "answers", "document") if not getattr(pair, name)]
        if empty:
            return f"it has no {empty[0]}"
        names = (pair.document, *pair.supporting) if self.documents else ()
        missing = [name for name in names if self.documents and not self.documents.named(name)]
        return f"there is no document {missing[0]!r} in the folder" if missing else ""


def open_pages(context: Context) -> list[Page]:
    """One page for each questions file that was given. Raises `InputError` for one that cannot be read."""
    paths, folder = context.sources.questions, context.sources.documents
    documents = read_documents(str(folder)) if folder and paths else None
    return [_open_page(_ReviewedFile(context, f"/questions/{n}/", path, documents)) for n, path in enumerate(paths)]


def _open_page(file: _ReviewedFile) -> Page:
    file.rows()
    routes = [
        file.context.reading("/", partial(_show_list, file)),
        file.context.reading("/pair", partial(_show_pair, file)),
        file.context.reading("/document", partial(_show_document, file)),
        file.context.reading("/rivals", partial(_show_rivals, file)),
        file.context.changing("/decide", partial(_decide, file)),
    ]
    about = "Accept, edit, reject or add questions beside their documents."
    return Page(file.address, file.path.name, about, routes, file.state)


@lru_cache(8)
def _read_rows(path: Path, _stamp: FileStamp) -> Mapping[str, QuestionRow]:
    return read_rows(str(path), "PATH")[0]


@lru_cache(1)
def _index(documents: DocumentSet) -> tuple[DocumentIndex, Sequence[Sequence[str]]]:
    return DocumentIndex(documents.documents), twins(documents.documents)


def _digest(row: QuestionRow) -> str:
    return digest_of(json.dumps(asdict(pair_of(row))).encode())


def _state_of(row: QuestionRow) -> str:
    if not is_decided(row):
        return "undecided"
    decision = row["decision"]
    if decision["status"] != "accept":
        return "rejected"
    return "added" if decision.get("added") else "edited" if decision.get("edited") else "accepted"


def _decision_of(row: QuestionRow) -> dict[str, Any]:
    """A person's decision, with all fields that a page shows."""
    blank = {"status": "", "by": "", "at": "", "reason": "", "edited": []}
    return blank | (row["decision"] if is_decided(row) else {})


def _show_list(file: _ReviewedFile, request: Request, _person: str) -> Response:
    rows = file.rows()
    listed = []
    for key, row in rows.items():
        pair, parts = pair_of(row), [" / ".join(pair_of(row).answers), pair_of(row).document]
        parts += [f"by {_decision_of(row)['by']}" if is_decided(row) else f"check: {row.get('status') or 'none'}"]
        if status_of(row) != "reject" and (problem := file.problem(row)):
            parts.append(f"cannot be asked: {problem}")
        detail = " · ".join(parts)
        listed.append(ListRow(file.link("pair", key=key), pair.question or "(no question)", _state_of(row), detail))
    words = ["--documents", str(file.context.sources.documents or "DIR"), "--questions", str(file.reviewed)]
    return file.context.show_list(
        request,
        "questions",
        listed,
        _STATES,
        title=file.path.name,
        counts=file.state(),
        done=sum(map(is_decided, rows.values())),
        total=len(rows),
        following=file.after(""),
        add=file.link("pair", key=""),
        target=file.reviewed,
        exists=file.reviewed.exists(),
        command=shlex.join(["pytest", "benchmarks", "--preset", "own-documents", *words]),
    )


def _show_pair(file: _ReviewedFile, request: Request, _person: str) -> Response:
    key = request.query_params.get("key", "")
    keys, row = list(file.rows()), file.row(key)
    number = keys.index(key) if key else len(keys)
    links = [file.link("pair", key=each) for each in keys]
    return file.context.show(
        request,
        "question",
        title=f"Question {number + 1} of {len(keys)}" if key else "A new question",
        list=file.address,
        file=file,
        key=key,
        row=row,
        pair=pair_of(row),
        seen=_digest(row),
        state=_state_of(row),
        decision=_decision_of(row),
        reasons=_texts(row.get("reasons")),
        previous=links[number - 1] if number else "",
        following=links[number + 1] if number + 1 < len(keys) else "",
    )


def _show_document(file: _ReviewedFile, request: Request, _person: str) -> Response:
    pair = pair_of(file.row(request.query_params.get("key", "")))
    name = request.query_params.get("name", pair.document)
    document = file.documents.named(name) if file.documents else None
    if document is None:
        raise HTTPException(404, f"there is no document {printable(name, 200)!r} in the folder: edit, or reject")
    return document_html(document.text, document.name, pair.answers)


def _show_rivals(file: _ReviewedFile, request: Request, _person: str) -> Response:
    """Other documents that might answer: those that have the answer, then those that are most like the question."""
    key = request.query_params.get("key", "")
    pair, reasons = pair_of(file.row(key)), dict[str, str]()
    if file.documents is not None:
        index, groups = _index(file.documents)
        documents = [file.documents.named(name) for name in (pair.document, *pair.supporting)]
        names = [document.name for document in documents if document]
        reasons |= dict.fromkeys(names[1:], "supporting document") | dict.fromkeys(names[:1], "answer document")
        copies = [name for group in groups if names and names[0] in group for name in group if name not in names]
        reasons |= dict.fromkeys(copies, "copy of the answer document")
        others = rivals(index, pair.question, pair.answers, [*names, *copies])
        like = nearest(index, pair.question, [*names, *copies, *others], 3)
        reasons |= dict.fromkeys(others, "has the answer too") | dict.fromkeys(like, "has words of the question")
    links = [(file.link("document", key=key, name=name), name, why) for name, why in reasons.items()]
    return file.context.show(request, "rivals", documents=links)


def _decide(file: _ReviewedFile, _request: Request, person: str, form: FormFields) -> str:
    """Write a decision, or take one back. `seen`, `at`: the wording and the decision that the page showed."""
    key, status, reason = form.text("key"), form.text("status"), form.text("reason", 2000).strip()
    if status not in _DECISIONS:
        raise InputError("status", status, f"is one of {', '.join(_DECISIONS)}")
    if status == "reject" and not reason:
        raise InputError("reason", "", "say why the question is rejected")
    answers = _texts(form.text("answer"), *form.text("aliases").split("\n"))
    supporting = _texts(*form.text("supporting").split("\n"))
    pair = ReviewedPair(form.text("question").strip(), answers, form.text("document"), supporting)

    def decide(_before: bytes) -> bytes:
        rows, row = file.rows(), file.row(key)
        if (form.text("seen"), form.text("at")) != (_digest(row), _decision_of(row)["at"]):
            raise StaleError(row.get("question", ""))
        if status == "undecided":
            source = _read_rows(file.path, stamp_of(file.path)).get(key, row)
            rows[key] = {name: value for name, value in source.items() if name != "decision"}
        else:
            names = (f"added-{number}" for number in range(1, len(rows) + 2))  # no number: the file may get that too
            rows[key or next(name for name in names if name not in rows)] = changed = _decided(
                row, pair, status, reason, person
            )
            if status == "accept" and (problem := file.problem(changed)):
                raise InputError("accept", pair.question, f"{problem}: edit it, or reject it")
        return question_file(rows)

    change_record(file.reviewed, decide)
    return file.after(key) if key and status != "undecided" else file.address


def _decided(row: QuestionRow, pair: ReviewedPair, status: str, reason: str, person: str) -> dict[str, Any]:
    """Put a person's wording, status and decision into a row. `about`: the wording of the file that it is about."""
    old, before = pair_of(row), _decision_of(row)
    changed = [each.name for each in fields(pair) if getattr(pair, each.name) != getattr(old, each.name)]
    decision = {"status": status, "by": person, "at": utc_now(), "about": before.get("about") or _digest(row)}
    decision |= {"reason": reason} if reason else {}
    decision |= {"added": True} if not row or before.get("added") else {}
    decision |= {"edited": edited} if (edited := sorted({*changed, *before["edited"]})) else {}
    return {**with_pair(row, pair), "status": status, "decision": decision}


def _texts(*values: object) -> tuple[str, ...]:
    """The texts among values and lists of values, numbers written out, each once."""
    listed = [each for value in values for each in (value if isinstance(value, list) else [value])]
    texts = [str(each).strip() for each in listed if isinstance(each, str | int | float) and each is not True]
    return tuple(dict.fromkeys(text for text in texts if text))
