"""Pages of leaderboards and histories."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence

from needlework.results.html.page import asset, digest, environment, policy
from needlework.results.html.text import on_one_line, trusted
from needlework.results.statistics.leaderboard.boards import Board, BoardSeries
from needlework.results.tables.leaderboard import (
    RANK,
    SPENT,
    board_head,
    board_notes,
    board_row,
    board_title,
    series_head,
    series_lines,
    series_row,
    series_title,
)

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
    style, script = asset("page.css") + asset("comparison.css"), asset("board.js")
    return (
        environment()
        .get_template("board.html.j2")
        .render(
            policy=policy(style, script, images=True),
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
            (row.model_run.link, [on_one_line(text) for text in board_row(board, row, every_length=True)])
            for row in board.rows
        ],
        "notes": board_notes(board),
        "picture": b64encode(picture).decode() if picture else "",
    }


def meaning_of(head: str, own: Mapping[str, str] | None = None) -> str:
    """What a column means. `own`: columns that a leaderboard lacks."""
    return next(said for start, said in {**(own or {}), **MEANINGS}.items() if head.startswith(start))


# What a column means, by how its head begins, beside those that a leaderboard has too.
_OWN = {
    "when": "The date and time at which the run began, or its step of the training.",
    "run": "The run's folder. In brackets: trials that failed. Leads to its report.",
}


def history_html(series: Sequence[BoardSeries], pictures: Sequence[bytes], *, title: str, notes: Sequence[str]) -> str:
    """Return the page: one text that loads nothing and runs nothing. `pictures`: a PNG for each series."""
    style = asset("page.css") + asset("comparison.css")
    return (
        environment()
        .get_template("history.html.j2")
        .render(
            digest=digest(style),
            style=trusted(style),
            title=on_one_line(title),
            notes=[on_one_line(note) for note in notes],
            meanings=_meanings(series),
            series=[
                {
                    "title": on_one_line(series_title(each)),
                    "lines": [on_one_line(line) for line in series_lines(each)],
                    "head": [(text, meaning_of(text, _OWN)) for text in series_head(each)],
                    "rows": [
                        (point.model_run.link, [on_one_line(text) for text in series_row(point)])
                        for point in each.points
                    ],
                    "picture": b64encode(picture).decode(),
                }
                for each, picture in zip(series, pictures, strict=True)
            ],
        )
    )


def _meanings(series: Sequence[BoardSeries]) -> list[tuple[str, str]]:
    """Each column of the page once; all lengths as one."""
    found: dict[str, str] = {}
    for text in (text for each in series for text in series_head(each)):
        said = meaning_of(text, _OWN)
        found.setdefault("a length" if said == MEANINGS[""] else text, said)
    return list(found.items())
