"""The page of series of runs: what changed, the picture, and a row for each run."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence

from needlework.results.html.board import MEANINGS, meaning_of
from needlework.results.html.page import asset, digest, environment
from needlework.results.html.texts import on_one_line, trusted
from needlework.results.statistics.board.series import Series
from needlework.results.tables.history import series_head, series_lines, series_row, series_title

# What a column means, by how its head begins, beside those that a leaderboard has too.
_OWN = {
    "when": "The date and time at which the run began, or its step of the training.",
    "run": "The run's folder. In brackets: trials that failed. Leads to its report.",
}


def history_html(series: Sequence[Series], pictures: Sequence[bytes], *, title: str, notes: Sequence[str]) -> str:
    """Return the page: one text that loads nothing and runs nothing. `pictures`: a PNG for each series."""
    style = "".join(map(asset, ("page.css", "print.css", "board.css")))
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
                        (point.who.link, [on_one_line(text) for text in series_row(point)]) for point in each.points
                    ],
                    "picture": b64encode(picture).decode(),
                }
                for each, picture in zip(series, pictures, strict=True)
            ],
        )
    )


def _meanings(series: Sequence[Series]) -> list[tuple[str, str]]:
    """Each column of the page once; all lengths as one."""
    found: dict[str, str] = {}
    for text in (text for each in series for text in series_head(each)):
        said = meaning_of(text, _OWN)
        found.setdefault("a length" if said == MEANINGS[""] else text, said)
    return list(found.items())
