"""The page of a leaderboard: a table for each board, sorted by a click on a column, and its picture."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence

from needlework.results.html.page import asset, environment, policy
from needlework.results.html.texts import on_one_line, trusted
from needlework.results.statistics.board.boards import Board
from needlework.results.tables.board import RANK, SPENT, board_head, board_notes, board_row, board_title

_STYLES = ("page.css", "comparison.css", "print.css", "board.css")
# What a column means, by how its head begins; a length's column has the last one.
MEANINGS = {
    "rank": "The places that the model may have, 95 % sure for all models together: 2–5 says that nothing shows which.",
    "model": "The model, and its run where several runs of it are here. In brackets: trials that failed. Leads to the"
    " run's report.",
    "score": "Mean over the trials that have a score, with its 95 % interval. A range where answers were cut off or are"
    " unclear: all of them missed to all hit.",
    "misses": "The score if undecided answers, and what this model could not answer and another could, are misses.",
    "effective": "The longest length up to which the score stays at or above 85.6 %: where it lies, 95 % sure.",
    "prompt": "Tokens of a prompt, on average.",
    "answer": "Tokens of an answer, on average.",
    "seconds an": "Seconds from request to whole answer, in the median.",
    "seconds, slowest": "Of 100 answers 95 came within so many seconds.",
    "": "Score in percent at this length (tokens of prompt and answer).",
}


def board_html(boards: Sequence[Board], pictures: Sequence[bytes | None], *, title: str, notes: Sequence[str]) -> str:
    """Return the page: one text that loads nothing. `pictures`: a PNG for each board, where it has one; `notes`: what
    was left out.
    """
    style, script = "".join(map(asset, _STYLES)), asset("board.js")
    return (
        environment()
        .get_template("board.html.j2")
        .render(
            policy=policy(style, script).replace("base-uri", "img-src data:; base-uri"),
            style=trusted(style),
            script=trusted(script),
            title=on_one_line(title),
            notes=[on_one_line(note) for note in notes],
            low=[RANK, *SPENT],
            boards=[_board(board, picture) for board, picture in zip(boards, pictures, strict=True)],
        )
    )


def _board(board: Board, picture: bytes | None) -> dict[str, object]:
    head = board_head(board, every_length=True)
    return {
        "title": on_one_line(board_title(board)),
        "head": [(text, meaning_of(text)) for text in head],
        "rows": [
            (row.who.link, [on_one_line(text) for text in board_row(board, row, every_length=True)])
            for row in board.rows
        ],
        "notes": board_notes(board),
        "picture": b64encode(picture).decode() if picture else "",
    }


def meaning_of(head: str, own: Mapping[str, str] | None = None) -> str:
    """What a column means. `own`: columns that a leaderboard lacks."""
    return next(said for start, said in {**(own or {}), **MEANINGS}.items() if head.startswith(start))
