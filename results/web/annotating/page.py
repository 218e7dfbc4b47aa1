"""The addresses of the annotation page: files, rows, one row, and what is done to them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import Any, cast
from urllib.parse import quote

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from needlework.haystack_fixtures.errors import InputError, printable
from needlework.haystack_fixtures.whole_files import write_whole
from needlework.results.web.annotating import kept
from needlework.results.web.annotating.cleaned import Cleaned, clean, cleaned_path
from needlework.results.web.annotating.kept import Change, State, Work
from needlework.results.web.annotating.line import Pair
from needlework.results.web.annotating.rows import JsonlFile, Row, Rows
from needlework.results.web.page import Context, Page
from needlework.results.web.replies import changing, number_of, text_of, told
from needlework.results.web.store import name_beside

_KEY = re.compile(r"[0-9a-f]{64}\.\d{1,9}")
_LONGEST_NAME, _LONGEST_FIELD = 80, 2000  # characters of a person's name, of a field that is shown
_MOST = 2**53  # of what a browser counts


@dataclass(frozen=True, slots=True)
class _File:
    """A file to annotate. `name`: as the state file knows it."""

    jsonl: JsonlFile
    name: str

    @property
    def title(self) -> str:
        return self.jsonl.path.name


@dataclass(frozen=True, slots=True)
class _Desk:
    """What every address needs."""

    context: Context
    files: tuple[_File, ...]

    def file(self, request: Request) -> _File:
        index: int = request.path_params["file"]
        if index >= len(self.files):
            raise HTTPException(404, "there is no such file here")
        return self.files[index]

    def works(self, file: _File) -> dict[str, Work]:
        with self.context.store.reading() as connection:
            return kept.works(kept.rows_log(connection, file.name))


def open_page(context: Context) -> Page | None:
    """The page for the jsonl documents that were given; none without any."""
    if not context.sources.annotated:
        return None
    state = context.store.path
    files = tuple(_File(JsonlFile(path), name_beside(path, state)) for path in context.sources.annotated)
    desk = _Desk(context, files)
    return Page(
        name="annotating",
        title="Annotate documents",
        about="Read long documents, and edit or add their instructions and outputs. The source file stays as it is.",
        routes=[
            Route("/", partial(_files, desk)),
            Route("/{file:int}/", partial(_rows, desk)),
            Route("/{file:int}/cleaned.jsonl", partial(_download, desk)),
            Route("/{file:int}/{row:int}/", partial(_row, desk)),
            Route("/{file:int}/{row:int}/content", partial(_content, desk)),
            Route("/{file:int}/{row:int}/history", partial(_history, desk)),
            changing("/{file:int}/anew", partial(_anew, desk)),
            changing("/{file:int}/restore", partial(_restore, desk)),
            changing("/{file:int}/export", partial(_export, desk)),
            changing("/{file:int}/keep", partial(_keep, desk), as_sent=True),
        ],
        state=partial(_how_far, desk),
    )


def _how_far(desk: _Desk) -> str:
    return "; ".join(f"{file.title}: {_file_counted(desk, file)}" for file in desk.files)


def _files(desk: _Desk, request: Request) -> Response:
    if len(desk.files) == 1:
        return RedirectResponse("/annotating/0/")
    shown = [(file.title, _file_counted(desk, file)) for file in desk.files]
    return desk.context.show(request, "annotating_files", title="Annotate documents", files=shown)


def _rows(desk: _Desk, request: Request) -> Response:
    file = desk.file(request)
    rows, works = file.jsonl.rows(), desk.works(file)
    with desk.context.store.reading() as connection:
        batches = kept.set_aside_before(kept.rows_log(connection, file.name))
    return desk.context.show(
        request,
        "annotating_rows",
        title=file.title,
        rows=[_row_shown(row, works.get(row.key)) for row in rows.rows],
        how_far=_counted(rows, works),
        following=_following(rows, works, -1),
        lost=_lost(rows, works),
        batches=batches,
        cleaned=cleaned_path(file.jsonl.path).name,
    )


def _row_shown(row: Row, work: Work | None) -> dict[str, Any]:
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


def _row(desk: _Desk, request: Request) -> Response:
    """The frame of a row's page; its script fetches what is in it."""
    file = desk.file(request)
    place, rows = request.path_params["row"], file.jsonl.rows().rows
    if place >= len(rows):
        raise HTTPException(404, "the file has no such row")
    return desk.context.show(
        request,
        "annotating_row",
        title=f"Row {place + 1} of {file.title}",
        file=file.title,
        index=request.path_params["file"],
        place=place,
        count=len(rows),
    )


def _content(desk: _Desk, request: Request) -> Response:
    file = desk.file(request)
    place, rows = request.path_params["row"], file.jsonl.rows()
    if place >= len(rows.rows):
        raise HTTPException(404, "the file has no such row")
    row = rows.rows[place]
    line = file.jsonl.line(row)
    works = desk.works(file)
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


def _history(desk: _Desk, request: Request) -> Response:
    file = desk.file(request)
    rows = file.jsonl.rows().rows
    key = request.query_params.get("key", "")
    if not key and request.path_params["row"] < len(rows):
        key = rows[request.path_params["row"]].key
    with desk.context.store.reading() as connection:
        return told(kept.history(kept.rows_log(connection, file.name), key))


def _keep(desk: _Desk, request: Request, body: Mapping[str, Any]) -> Response:
    """Keep what was entered, also where the row is no longer in the file: `here` says whether it is."""
    file = desk.file(request)
    change = _change_of(body)
    taken = printable(body.get("taken", ""))
    with desk.context.store.writing() as connection:
        log = kept.rows_log(connection, file.name)
        work, newest = kept.keep(log, change)
        if taken and newest:
            kept.take_over(log, taken, change.person)
    rows = file.jsonl.rows()
    place = rows.places.get(change.row)
    following = None if place is None else _following(rows, desk.works(file), place)
    return told({"kept": newest, "work": _work_told(work), "here": place is not None, "following": following})


def _anew(desk: _Desk, request: Request, body: Mapping[str, Any]) -> Response:
    with desk.context.store.writing() as connection:
        return told({"rows": kept.set_aside(kept.rows_log(connection, desk.file(request).name), _person(body))})


def _restore(desk: _Desk, request: Request, body: Mapping[str, Any]) -> Response:
    batch = number_of(body, "batch", 0, _MOST)
    with desk.context.store.writing() as connection:
        return told({"rows": kept.restore(kept.rows_log(connection, desk.file(request).name), batch, _person(body))})


def _export(desk: _Desk, request: Request, body: Mapping[str, Any]) -> Response:
    """Write the cleaned file beside the source; not over one that is not ours, unless the page says so."""
    file = desk.file(request)
    path, made = cleaned_path(file.jsonl.path), _cleaned(desk, file)
    new = sha256(made.content).hexdigest()
    with desk.context.store.writing() as connection:
        try:
            old = sha256(path.read_bytes()).hexdigest() if path.exists() else ""
            if old not in ("", new, kept.exported(connection, file.name)) and body.get("over") is not True:
                return told({"exists": path.name})
            write_whole(path, made.content)
        except OSError as error:
            remedy = f"cannot be written ({error.strerror}); download the cleaned file instead"
            raise InputError("export", path, remedy) from None
        kept.note_export(connection, file.name, new)
    return told({"path": str(path), **made.counts})


def _download(desk: _Desk, request: Request) -> Response:
    file = desk.file(request)
    name = quote(os.fsencode(cleaned_path(file.jsonl.path).name))
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{name}"}
    return Response(_cleaned(desk, file).content, media_type="application/jsonl", headers=headers)


def _cleaned(desk: _Desk, file: _File) -> Cleaned:
    return clean(file.jsonl.lines(), kept.edited(desk.works(file)))


def _change_of(body: Mapping[str, Any]) -> Change:
    """Read a change. Raises `InputError`."""
    row, state, what, pairs = (body.get(name) for name in ("row", "state", "what", "pairs"))
    if not (isinstance(row, str) and _KEY.fullmatch(row)):
        raise InputError("row", row, "is no row's key")
    if state not in ("begun", "done"):
        raise InputError("state", state, "is none of ours")
    if what not in kept.KINDS:
        raise InputError("what", what, "is none of ours")
    if not (isinstance(pairs, list) and all(_is_pair(pair) for pair in pairs)):
        raise InputError("pairs", "", "are no list of [instruction, output]")
    return Change(
        row,
        number_of(body, "place", 0, _MOST),
        number_of(body, "base", 0, _MOST),
        cast("State", state),
        tuple(Pair(*pair) for pair in pairs),
        _person(body),
        printable(text_of(body, "tab", _LONGEST_NAME)),
        str(what),
    )


def _is_pair(value: object) -> bool:
    return isinstance(value, list) and len(value) == len(Pair._fields) and all(isinstance(each, str) for each in value)


def _person(body: Mapping[str, Any]) -> str:
    return printable(text_of(body, "person", _LONGEST_NAME))


def _counted(rows: Rows, works: Mapping[str, Work]) -> str:
    states = [works[row.key].state if row.key in works else "untouched" for row in rows.rows]
    done, begun = states.count("done"), states.count("begun")
    return f"{len(states)} rows: {done} done, {begun} begun, {len(states) - done - begun} untouched"


def _file_counted(desk: _Desk, file: _File) -> str:
    """How far a file is; one that cannot be read does not hide the others."""
    try:
        return _counted(file.jsonl.rows(), desk.works(file))
    except InputError as error:
        return str(error)


def _following(rows: Rows, works: Mapping[str, Work], place: int) -> int | None:
    """The next row after `place`, and then from the start, that is to be done; none where all are."""
    count = len(rows.rows)
    for step in range(1, count + 1):
        row = rows.rows[(place + step) % count]
        if not row.problem and (row.key not in works or works[row.key].state != "done"):
            return (place + step) % count
    return None


def _lost(rows: Rows, works: Mapping[str, Work]) -> list[Work]:
    """Work on rows that the file no longer has as they were."""
    lost = (work for key, work in works.items() if key not in rows.places and work.state != "untouched")
    return sorted(lost, key=lambda work: work.place)


def _work_told(work: Work | None) -> dict[str, Any] | None:
    if work is None:
        return None
    names = ("row", "revision", "state", "pairs", "person", "at")
    return {name: getattr(work, name) for name in names}
