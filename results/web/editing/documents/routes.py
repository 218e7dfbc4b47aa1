"""The addresses of a jsonl file in the editor: its rows, one row, and what is done to them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from needlework.haystack_fixtures.errors import InputError, printable
from needlework.haystack_fixtures.writing.whole_files import write_whole
from needlework.results.web.editing.documents import kept
from needlework.results.web.editing.documents.cleaned import Cleaned, clean, cleaned_path
from needlework.results.web.editing.documents.kept import Change, State, Work
from needlework.results.web.editing.documents.line import Pair
from needlework.results.web.editing.documents.rows import JsonlFile, Row, Rows
from needlework.results.web.editing.edited import EditedFile
from needlework.results.web.page import Context
from needlework.results.web.replies import changing, number_of, text_of, told
from needlework.results.web.store import name_beside

_KEY = re.compile(r"[0-9a-f]{64}\.\d{1,9}")
_LONGEST_NAME, _LONGEST_FIELD = 80, 2000  # characters of a person's name, of a field that is shown
_MOST = 2**53  # of what a browser counts


@dataclass(frozen=True, slots=True)
class _Desk:
    """What every address needs. `name`: what the log calls the file."""

    context: Context
    file: JsonlFile
    name: str

    @property
    def title(self) -> str:
        return self.file.path.name

    def works(self) -> dict[str, Work]:
        with self.context.store.reading() as connection:
            return kept.works(kept.rows_log(connection, self.name))


def edited_documents(context: Context, path: Path) -> EditedFile:
    """A jsonl file of documents in the editor."""
    desk = _Desk(context, JsonlFile(path), name_beside(path, context.store.path))
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


def _rows(desk: _Desk, request: Request) -> Response:
    rows, works = desk.file.rows(), desk.works()
    with desk.context.store.reading() as connection:
        batches = kept.set_aside_before(kept.rows_log(connection, desk.name))
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


def _content(desk: _Desk, request: Request) -> Response:
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


def _history(desk: _Desk, request: Request) -> Response:
    rows = desk.file.rows().rows
    key = request.query_params.get("key", "")
    if not key and request.path_params["row"] < len(rows):
        key = rows[request.path_params["row"]].key
    with desk.context.store.reading() as connection:
        return told(kept.history(kept.rows_log(connection, desk.name), key))


def _keep(desk: _Desk, _request: Request, body: Mapping[str, Any]) -> Response:
    """Keep what was entered, also where the row is no longer in the file: `here` says whether it is."""
    change = _change_of(body)
    taken = printable(body.get("taken", ""))
    with desk.context.store.writing() as connection:
        log = kept.rows_log(connection, desk.name)
        work, newest = kept.keep(log, change)
        if taken and newest:
            kept.take_over(log, taken, change.person)
    rows = desk.file.rows()
    place = rows.places.get(change.row)
    following = None if place is None else _following(rows, desk.works(), place)
    return told({"kept": newest, "work": _work_told(work), "here": place is not None, "following": following})


def _anew(desk: _Desk, _request: Request, body: Mapping[str, Any]) -> Response:
    with desk.context.store.writing() as connection:
        return told({"rows": kept.set_aside(kept.rows_log(connection, desk.name), _person(body))})


def _restore(desk: _Desk, _request: Request, body: Mapping[str, Any]) -> Response:
    batch = number_of(body, "batch", 0, _MOST)
    with desk.context.store.writing() as connection:
        return told({"rows": kept.restore(kept.rows_log(connection, desk.name), batch, _person(body))})


def _export(desk: _Desk, _request: Request, body: Mapping[str, Any]) -> Response:
    """Write the cleaned file beside the source; not over one that is not ours, unless the page says so."""
    path, made = cleaned_path(desk.file.path), _cleaned(desk)
    new = sha256(made.content).hexdigest()
    with desk.context.store.writing() as connection:
        try:
            old = sha256(path.read_bytes()).hexdigest() if path.exists() else ""
            if old not in ("", new, kept.exported(connection, desk.name)) and body.get("over") is not True:
                return told({"exists": path.name})
            write_whole(path, made.content)
        except OSError as error:
            remedy = f"cannot be written ({error.strerror}); download the cleaned file instead"
            raise InputError("export", path, remedy) from None
        kept.note_export(connection, desk.name, new)
    return told({"path": str(path), **made.counts})


def _download(desk: _Desk, _request: Request) -> Response:
    name = quote(os.fsencode(cleaned_path(desk.file.path).name))
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{name}"}
    return Response(_cleaned(desk).content, media_type="application/jsonl", headers=headers)


def _cleaned(desk: _Desk) -> Cleaned:
    return clean(desk.file.lines(), kept.edited(desk.works()))


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


def _how_far(desk: _Desk) -> str:
    """How far the file is; one that cannot be read does not hide the others."""
    try:
        return _counted(desk.file.rows(), desk.works())
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
