"""Pages of the rows of a jsonl file."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any, cast
from urllib.parse import quote

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from needlework.core.errors import InputError, printable
from needlework.core.files import write_whole
from needlework.results.web import row_editing
from needlework.results.web.app import Context, changing, number_of, text_of, told
from needlework.results.web.question_pages import EditedFile
from needlework.results.web.row_editing import BOM, EditedLine, RowEdit, RowPair, State, Work, read_line, with_pairs
from needlework.results.web.store import name_beside

_KEY = re.compile(r"[0-9a-f]{64}\.\d{1,9}")
_LONGEST_NAME, _LONGEST_FIELD = 80, 2000  # characters of a person's name, of a field that is shown
_MOST = 2**53  # of what a browser counts


@dataclass(frozen=True, slots=True)
class _RowContext:
    """What every address needs. `name`: what the log calls the file."""

    context: Context
    file: JsonlFile
    name: str

    @property
    def title(self) -> str:
        return self.file.path.name

    def works(self) -> dict[str, Work]:
        with self.context.store.reading() as connection:
            return row_editing.works(row_editing.rows_log(connection, self.name))


def edited_documents(context: Context, path: Path) -> EditedFile:
    """A jsonl file of documents in the editor."""
    desk = _RowContext(context, JsonlFile(path), name_beside(path, context.store.path))
    return EditedFile(
        title=desk.title,
        how_far=partial(_how_far, desk),
        routes=[
            Route("/", partial(_rows, desk)),
            Route("/cleaned.jsonl", partial(_download, desk)),
            Route("/{row:int}/", partial(_row, desk)),
            Route("/{row:int}/content", partial(_content, desk)),
            Route("/{row:int}/history", partial(_history, desk)),
            changing("/anew", partial(_anew, desk)),
            changing("/restore", partial(_restore, desk)),
            changing("/export", partial(_export, desk)),
            changing("/keep", partial(_keep, desk), as_sent=True),
        ],
    )


def _rows(desk: _RowContext, request: Request) -> Response:
    rows, works = desk.file.rows(), desk.works()
    with desk.context.store.reading() as connection:
        batches = row_editing.set_aside_before(row_editing.rows_log(connection, desk.name))
    return desk.context.show(
        request,
        "editing_rows",
        title=desk.title,
        rows=[_row_shown(row, works.get(row.key)) for row in rows.rows],
        how_far=_counted(rows, works),
        following=_following(rows, works, -1),
        lost=_lost(rows, works),
        batches=batches,
        cleaned=cleaned_path(desk.file.path).name,
    )


def _row_shown(row: FileRow, work: Work | None) -> dict[str, Any]:
    touched = work is not None and work.state != "untouched"
    pairs = max(row.counts)
    if work is not None and touched:
        pairs = len(work.pairs)
    return {
        "number": row.number,
        "title": row.title or (f"This line {row.problem}" if row.problem else "(no document)"),
        "characters": row.characters,
        "pairs": pairs,
        "uneven": row.counts if row.counts[0] != row.counts[1] and not touched else None,
        "problem": row.problem,
        "state": work.state if work else "untouched",
        "person": work.person if work and touched else "",
        "at": work.at if work and touched else "",
    }


def _row(desk: _RowContext, request: Request) -> Response:
    """The frame of a row's page; its script fetches what is in it."""
    place, rows = request.path_params["row"], desk.file.rows().rows
    if place >= len(rows):
        raise HTTPException(404, "the file has no such row")
    return desk.context.show(
        request,
        "editing_row",
        title=f"Row {place + 1} of {desk.title}",
        file=desk.title,
        place=place,
        count=len(rows),
    )


def _content(desk: _RowContext, request: Request) -> Response:
    place, rows = request.path_params["row"], desk.file.rows()
    if place >= len(rows.rows):
        raise HTTPException(404, "the file has no such row")
    row = rows.rows[place]
    line = desk.file.line(row)
    works = desk.works()
    earlier = [work for work in _lost(rows, works) if work.place == place]
    return told(
        {
            "key": row.key,
            "problem": line.problem,
            "document": line.document,
            "document_key": line.document_key,
            "source": line.pairs,
            "counts": line.counts,
            "others": [(key, f"{raw[:_LONGEST_FIELD]}…"[: len(raw)]) for key, raw in line.others],
            "parallel": line.parallel,
            "work": _work_told(works.get(row.key)),
            "earlier": [_work_told(work) for work in earlier],
        }
    )


def _history(desk: _RowContext, request: Request) -> Response:
    rows = desk.file.rows().rows
    key = request.query_params.get("key", "")
    if not key and request.path_params["row"] < len(rows):
        key = rows[request.path_params["row"]].key
    with desk.context.store.reading() as connection:
        return told(row_editing.history(row_editing.rows_log(connection, desk.name), key))


def _keep(desk: _RowContext, _request: Request, body: Mapping[str, Any]) -> Response:
    """Keep what was entered, also where the row is no longer in the file: `here` says whether it is."""
    change = _change_of(body)
    taken = printable(body.get("taken", ""))
    with desk.context.store.writing() as connection:
        log = row_editing.rows_log(connection, desk.name)
        work, newest = row_editing.keep(log, change)
        if taken and newest:
            row_editing.take_over(log, taken, change.person)
    rows = desk.file.rows()
    place = rows.places.get(change.row)
    following = None if place is None else _following(rows, desk.works(), place)
    return told({"kept": newest, "work": _work_told(work), "here": place is not None, "following": following})


def _anew(desk: _RowContext, _request: Request, body: Mapping[str, Any]) -> Response:
    with desk.context.store.writing() as connection:
        return told({"rows": row_editing.set_aside(row_editing.rows_log(connection, desk.name), _person(body))})


def _restore(desk: _RowContext, _request: Request, body: Mapping[str, Any]) -> Response:
    batch = number_of(body, "batch", 0, _MOST)
    with desk.context.store.writing() as connection:
        return told({"rows": row_editing.restore(row_editing.rows_log(connection, desk.name), batch, _person(body))})


def _export(desk: _RowContext, _request: Request, body: Mapping[str, Any]) -> Response:
    """Write the cleaned file beside the source; not over one that is not ours, unless the page says so."""
    path, made = cleaned_path(desk.file.path), _cleaned(desk)
    new = sha256(made.content).hexdigest()
    with desk.context.store.writing() as connection:
        try:
            old = sha256(path.read_bytes()).hexdigest() if path.exists() else ""
            if old not in ("", new, row_editing.exported(connection, desk.name)) and body.get("over") is not True:
                return told({"exists": path.name})
            write_whole(path, made.content)
        except OSError as error:
            remedy = f"cannot be written ({error.strerror}); download the cleaned file instead"
            raise InputError("export", path, remedy) from None
        row_editing.note_export(connection, desk.name, new)
    return told({"path": str(path), **made.counts})


def _download(desk: _RowContext, _request: Request) -> Response:
    name = quote(os.fsencode(cleaned_path(desk.file.path).name))
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{name}"}
    return Response(_cleaned(desk).content, media_type="application/jsonl", headers=headers)


def _cleaned(desk: _RowContext) -> Cleaned:
    return clean(desk.file.lines(), row_editing.edited(desk.works()))


def _change_of(body: Mapping[str, Any]) -> RowEdit:
    """Read a change. Raises `InputError`."""
    row, state, what, pairs = (body.get(name) for name in ("row", "state", "what", "pairs"))
    if not (isinstance(row, str) and _KEY.fullmatch(row)):
        raise InputError("row", row, "is no row's key")
    if state not in ("begun", "done"):
        raise InputError("state", state, "is none of ours")
    if what not in row_editing.KINDS:
        raise InputError("what", what, "is none of ours")
    if not (isinstance(pairs, list) and all(_is_pair(pair) for pair in pairs)):
        raise InputError("pairs", "", "are no list of [instruction, output]")
    return RowEdit(
        row,
        number_of(body, "place", 0, _MOST),
        number_of(body, "base", 0, _MOST),
        cast("State", state),
        tuple(RowPair(*pair) for pair in pairs),
        _person(body),
        printable(text_of(body, "tab", _LONGEST_NAME)),
        str(what),
    )


def _is_pair(value: object) -> bool:
    return (
        isinstance(value, list) and len(value) == len(RowPair._fields) and all(isinstance(each, str) for each in value)
    )


def _person(body: Mapping[str, Any]) -> str:
    return printable(text_of(body, "person", _LONGEST_NAME))


def _counted(rows: FileRows, works: Mapping[str, Work]) -> str:
    states = [works[row.key].state if row.key in works else "untouched" for row in rows.rows]
    done, begun = states.count("done"), states.count("begun")
    return f"{len(states)} rows: {done} done, {begun} begun, {len(states) - done - begun} untouched"


def _how_far(desk: _RowContext) -> str:
    """How far the file is; one that cannot be read does not hide the others."""
    try:
        return _counted(desk.file.rows(), desk.works())
    except InputError as error:
        return str(error)


def _following(rows: FileRows, works: Mapping[str, Work], place: int) -> int | None:
    """The next row after `place`, and then from the start, that is to be done; none where all are."""
    count = len(rows.rows)
    for step in range(1, count + 1):
        row = rows.rows[(place + step) % count]
        if not row.problem and (row.key not in works or works[row.key].state != "done"):
            return (place + step) % count
    return None


def _lost(rows: FileRows, works: Mapping[str, Work]) -> list[Work]:
    """Work on rows that the file no longer has as they were."""
    lost = (work for key, work in works.items() if key not in rows.places and work.state != "untouched")
    return sorted(lost, key=lambda work: work.place)


def _work_told(work: Work | None) -> dict[str, Any] | None:
    if work is None:
        return None
    names = ("row", "revision", "state", "pairs", "person", "at")
    return {name: getattr(work, name) for name in names}


_TITLE = 160  # characters


@dataclass(frozen=True, slots=True)
class FileRow:
    """A line that is not blank. `key`: sha256 of its content, and its number among equal ones.

    `offset`, `length`: bytes. `number`: of the line, from 1. `characters`: of the document. `title`: its beginning.
    """

    key: str
    offset: int
    length: int
    number: int
    title: str
    characters: int
    counts: tuple[int, int]
    problem: str


@dataclass(frozen=True, slots=True)
class FileRows:
    """The rows of a file at one time; `places`: the index of each key."""

    rows: tuple[FileRow, ...]
    places: Mapping[str, int]


class JsonlFile:
    """A file that may change while it is served: `rows` are those that it has now."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = Lock()
        self._read: tuple[tuple[int, int, int], FileRows] | None = None

    def rows(self) -> FileRows:
        """Its rows; read again when the file changed. Raises `InputError`."""
        with self._lock:
            try:
                with self.path.open("rb") as file:
                    stat = self.path.stat()
                    stamp = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
                    if self._read is None or self._read[0] != stamp:
                        self._read = (stamp, _index(file))
            except OSError as error:
                raise InputError("PATH", self.path, f"cannot be read ({error.strerror})") from None
            return self._read[1]

    def lines(self) -> list[bytes]:
        """Its lines with their ends, blank ones too. Raises `InputError`."""
        try:
            with self.path.open("rb") as file:
                return list(file)
        except OSError as error:
            raise InputError("PATH", self.path, f"cannot be read ({error.strerror})") from None

    def line(self, row: FileRow) -> EditedLine:
        """Read a row. Raises `InputError`, also where the file changed since the row was found."""
        try:
            with self.path.open("rb") as file:
                file.seek(row.offset)
                raw = file.read(row.length)
        except OSError as error:
            raise InputError("PATH", self.path, f"cannot be read ({error.strerror})") from None
        if _content_hash(raw) != row.key.partition(".")[0]:
            raise InputError("PATH", self.path, "changed while it was read; load the page again")
        return read_line(raw)


def keyed(lines: Iterable[bytes]) -> Iterator[tuple[str, bytes]]:
    """Each line with its key; blank lines have none."""
    seen: Counter[str] = Counter()
    for raw in lines:
        if raw.removeprefix(BOM).strip():
            content = _content_hash(raw)
            yield f"{content}.{seen[content]}", raw
            seen[content] += 1
        else:
            yield "", raw


def _index(lines: Iterable[bytes]) -> FileRows:
    rows, offset = [], 0
    for number, (key, raw) in enumerate(keyed(lines), 1):
        if key:
            line = read_line(raw)
            rows.append(
                FileRow(
                    key,
                    offset,
                    len(raw),
                    number,
                    " ".join(line.document[: 4 * _TITLE].split())[:_TITLE],
                    len(line.document),
                    line.counts,
                    line.problem,
                )
            )
        offset += len(raw)
    return FileRows(tuple(rows), {row.key: place for place, row in enumerate(rows)})


def _content_hash(raw: bytes) -> str:
    return sha256(raw.removeprefix(BOM).strip(b" \t\r\n")).hexdigest()


@dataclass(frozen=True, slots=True)
class Cleaned:
    """`rows` of the file, `edited` ones, pairs `dropped` because both parts were blank.

    `uneven`: untouched rows whose instructions and outputs differ in number; `unread`: lines that are no documents.
    """

    content: bytes
    rows: int
    edited: int
    dropped: int
    uneven: int
    unread: int

    @property
    def counts(self) -> dict[str, Any]:
        """All but the content."""
        return {name: value for name, value in asdict(self).items() if name != "content"}


def clean(lines: Iterable[bytes], edited: Mapping[str, Sequence[RowPair]]) -> Cleaned:
    """Put the pairs of edited rows (by key) in; what is not edited stays as it is, to the byte."""
    out: list[bytes] = []
    rows = changed = dropped = uneven = unread = 0
    for key, raw in keyed(lines):
        new = raw
        if key:
            rows += 1
            line = read_line(raw)
            if line.problem:
                unread += 1
            elif key in edited and tuple(edited[key]) != line.pairs:
                full = [pair for pair in edited[key] if not pair.blank]
                dropped += len(edited[key]) - len(full)
                new = with_pairs(raw, full)
            changed += new != raw
            uneven += new == raw and line.counts[0] != line.counts[1]
        out.append(new)
    return Cleaned(b"".join(out), rows, changed, dropped, uneven, unread)


def cleaned_path(source: Path) -> Path:
    """Where the cleaned file goes: beside its source."""
    return source.with_name(f"{source.stem}.cleaned.jsonl")
