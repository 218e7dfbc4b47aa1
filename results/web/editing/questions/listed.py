"""The page's addresses for its list: the pairs of a file, and what was said since."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from needlework.results.web.editing.questions.desk import Desk
from needlework.results.web.editing.questions.opinions import by_key, opinions, opinions_log
from needlework.results.web.editing.questions.wire import pair_for_page, state_for_page
from needlework.results.web.replies import told


def pairs(desk: Desk, _request: Request) -> Response:
    """All pairs of a file, and what reviewers say of them."""
    asked = desk.asked()
    with desk.context.store.reading() as connection:
        log = opinions_log(connection, asked.file.name)
        now, number = by_key(opinions(log)), log.last_number()
    return told(
        {
            "sha256": asked.sha256,
            "number": number,
            "pairs": [pair_for_page(key, row) for key, row in asked.rows.items()],
            "states": {key: state_for_page(now[key], row) for key, row in asked.rows.items() if key in now},
            "reviewers": sorted({by for opinions in now.values() for by in opinions}),
        }
    )


def changes(desk: Desk, request: Request) -> Response:
    """What was said since the number `since`."""
    asked = desk.asked()
    since = request.query_params.get("since", "")
    if not (since.isascii() and since.isdecimal() and len(since) < 16):
        raise HTTPException(400, "since is a number")
    return told(desk.changed(asked, int(since)))
