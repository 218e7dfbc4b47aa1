"""The page's addresses for what a reviewer says: decisions, taking them back, and the reviewed file."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from needlework.haystack_fixtures.errors import InputError
from needlework.results.web.editing.questions.desk import Asked, Desk
from needlework.results.web.editing.questions.files import on_disk, write_reviewed, written_by
from needlework.results.web.editing.questions.opinions import by_key, last_opinion, opinions, opinions_log, take_back
from needlework.results.web.editing.questions.opinions import decide as keep
from needlework.results.web.editing.questions.pairs import fingerprint, pair_of
from needlework.results.web.editing.questions.standing import problem_of, reviewed
from needlework.results.web.editing.questions.wire import reviewer_of, status_of_change, wording_of
from needlework.results.web.replies import number_of, text_of, told

_LONGEST_REASON, _MOST = 2000, 2**53


def decide(desk: Desk, _request: Request, body: Mapping[str, Any]) -> Response:
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


def undo(desk: Desk, _request: Request, body: Mapping[str, Any]) -> Response:
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


def write(desk: Desk, _request: Request, body: Mapping[str, Any]) -> Response:
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


def _conflict(desk: Desk, asked: Asked, body: Mapping[str, Any], line: str) -> Response:
    return told({"error": line, **desk.changed(asked, number_of(body, "since", 0, _MOST))}, 409)
