"""Pages of a jsonl file of documents: people edit pairs by line, into `NAME.cleaned.jsonl`."""

import json
from collections.abc import Sequence
from io import BytesIO
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from needlework.core.errors import InputError
from needlework.results.web import app

_BOM = b"\xef\xbb\xbf"
_DOCUMENTS = ("input", "text", "content", "context", "document")
_STATES = ("no pairs", "edited", "not editable")


class TextPair(NamedTuple):
    """A question to the document, and its answer."""

    question: str
    answer: str


class DocumentLine(Struct, frozen=True):
    """A line of the file. `pairs`: missing questions or answers are blank; `others`: the other fields;
    `problem`: why its pairs cannot be edited, or nothing.
    """

    document: str = ""
    pairs: tuple[TextPair, ...] = ()
    others: dict[str, Any] = {}
    problem: str = ""


def read_line(raw: bytes) -> DocumentLine:
    """Read a line; one that cannot be read has a `problem`."""
    try:
        row = json.loads(raw.removeprefix(_BOM))
    except (ValueError, RecursionError) as error:
        return DocumentLine(problem=f"is no JSON ({error})")
    if not isinstance(row, dict):
        return DocumentLine(problem="is no JSON object")
    key = next((name for name in _DOCUMENTS if isinstance(row.get(name), str) and row[name].strip()), "")
    lists = [row.get(name, []) for name in ("instructions", "outputs")]
    if not all(isinstance(each, list) and all(isinstance(text, str) for text in each) for each in lists):
        return DocumentLine(row.get(key, ""), problem="has instructions or outputs that are no lists of texts")
    pairs = tuple(TextPair(*each) for each in zip_longest(*lists, fillvalue=""))
    others = {name: value for name, value in row.items() if name not in (key, "instructions", "outputs")}
    return DocumentLine(row.get(key, ""), pairs, others)


def with_pairs(raw: bytes, pairs: Sequence[TextPair]) -> bytes:
    """Put pairs into a line without a problem; one that has these pairs already is unchanged."""
    if tuple(pairs) == read_line(raw).pairs:
        return raw
    lead, text = raw[: len(raw) - len(raw.removeprefix(_BOM))], raw.removeprefix(_BOM)
    row = json.loads(text)
    row["instructions"], row["outputs"] = ([pair[part] for pair in pairs] for part in (0, 1))
    # Half of a surrogate pair has no UTF-8, only an escape, which is that of JSON.
    edited = json.dumps(row, ensure_ascii=text.isascii()).encode("utf-8", "backslashreplace")
    return lead + edited + raw[len(raw.rstrip(b" \t\r\n")) :]


def open_pages(context: app.Context) -> list[app.Page]:
    """One page for each file of documents that was given."""
    about = "Write and correct questions and answers beside their document."
    pages = []
    for number, path in enumerate(context.sources.annotated):
        file = _EditedFile(context, f"/jsonl/{number}/", path)
        routes = [
            context.reading("/", file.show_list),
            context.reading("/{line:int}", file.show_line),
            context.reading("/{line:int}/document", file.show_document),
            context.changing("/{line:int}", file.save),
        ]
        pages.append(app.Page(file.address, path.name, about, routes, file.state))
    return pages


class _EditedFile:
    """A file of documents with its pages. `path`: the file that was named, which stays as it is."""

    def __init__(self, context: app.Context, address: str, path: Path) -> None:
        self.address = address
        self._context = context
        self._path = path
        # The record, beside its source: made by the first change, it is what is edited from then on.
        self._cleaned = path.with_name(f"{path.stem.removesuffix('.cleaned')}.cleaned.jsonl")

    def state(self) -> str:
        """The progress in words."""
        states = [row.state for row in self._rows()]
        return f"{len(states)} lines: {states.count('edited')} edited, {states.count('no pairs')} without questions"

    def show_list(self, request: Request, _person: str) -> Response:
        exists = self._cleaned.exists()
        return self._context.show_list(
            request,
            "lines",
            self._rows(),
            _STATES,
            title=self._path.name,
            counts=self.state(),
            cleaned=self._cleaned,
            exists=exists,
            is_newer=exists and self._path.stat().st_mtime_ns > self._cleaned.stat().st_mtime_ns,
        )

    def show_line(self, request: Request, _person: str) -> Response:
        number, (raw, total) = request.path_params["line"], self._line(request)
        return self._context.show(
            request,
            "line",
            title=f"Line {number + 1} of {self._path.name}",
            list=self.address,
            number=number,
            total=total,
            seen=app.digest_of(raw),
            line=read_line(raw),
        )

    def show_document(self, request: Request, _person: str) -> Response:
        return self._context.show_document(request, read_line(self._line(request)[0]).document, "Document")

    def save(self, request: Request, _person: str, form: app.FormFields) -> str:
        """Write the pairs of one line into the cleaned file. `seen`: a hash of the line that the page showed."""
        number = request.path_params["line"]

        def change(_before: bytes) -> bytes:
            lines, (raw, _) = self._lines(), self._line(request)
            if app.digest_of(raw) != form.get("seen"):
                raise app.StaleError(f"line {number + 1}")
            indexes = [index for index, line in enumerate(lines) if line.strip()]
            lines[indexes[number]] = with_pairs(raw, _pairs_of(form, read_line(raw)))
            return b"".join(lines)

        app.change_record(self._cleaned, change)
        if form.get("then") != "next":
            return f"{self.address}{number}"
        return f"{self.address}{number + 1}" if number + 1 < self._line(request)[1] else self.address

    def _lines(self) -> list[bytes]:
        return _lines_of(self._cleaned if self._cleaned.exists() else self._path)

    def _rows(self) -> list[app.ListRow]:
        """List the lines that are not blank. Raises `InputError`."""
        source, rows = set(_lines_of(self._path)), []
        for number, raw in enumerate(line for line in self._lines() if line.strip()):
            line, address = read_line(raw), f"{self.address}{number}"
            title = " ".join(line.document[:1_000].split())[:160] or "(no document)"
            state = "edited" if raw not in source else "" if line.pairs else "no pairs"
            row = app.ListRow(address, title, state, f"{len(line.pairs)} pairs · {len(line.document):,} characters")
            rows.append(app.ListRow(address, f"This line {line.problem}", "not editable") if line.problem else row)
        return rows

    def _line(self, request: Request) -> tuple[bytes, int]:
        """The line of an address, and how many there are. Raises `InputError`, and `HTTPException` for none."""
        lines = [line for line in self._lines() if line.strip()]
        if request.path_params["line"] >= len(lines):
            raise HTTPException(404, "the file has no such line")
        return lines[request.path_params["line"]], len(lines)


def _lines_of(path: Path) -> list[bytes]:
    return BytesIO(path.read_bytes()).readlines()  # a carriage return ends no line


def _pairs_of(form: app.FormFields, line: DocumentLine) -> list[TextPair]:
    """Read the pairs of a form; blank ones are left out. Raises `InputError` for a half of one."""
    if line.problem:
        raise InputError("line", "", f"{line.problem}: it cannot be edited")
    texts = zip_longest(form.getlist("question"), form.getlist("answer"), fillvalue="")
    pairs = [TextPair(*each) for each in texts if any(text.strip() for text in each)]
    for number, pair in enumerate(pairs, 1):
        missing = "question" if not pair.question.strip() else "answer" if not pair.answer.strip() else ""
        if missing:
            raise InputError(f"pair {number}", " ".join(pair)[:80], f"has no {missing}: write one, or remove the pair")
    return pairs
