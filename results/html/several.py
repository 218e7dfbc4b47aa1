"""The page of several runs, each against its base: losses, the table, the picture, scores by length, what differs."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence

from needlework.results.html.comparison_head import several_sentence
from needlework.results.html.page import asset, digest, environment
from needlework.results.html.texts import on_one_line, trusted
from needlework.results.statistics.comparison.several import Against, Scores
from needlework.results.style.text import length_labels, percent1
from needlework.results.tables.columns import NONE
from needlework.results.tables.several import cautions, has_losses, head, losses_lines, several_row

_OWN = ".drawn img { max-width: 100%; height: auto; background: #fff; border-radius: 6px; }\n"


def several_html(
    found: Sequence[Against],
    *,
    title: str,
    windows: Mapping[str, int | None],
    parts: Mapping[str, Sequence[str]],
    links: Mapping[str, str],
    picture: bytes | None,
    notes: Sequence[str] = (),
) -> str:
    """Return the page. `parts`: what differs of each run from its base; `links`: to each run's report; `picture`: a
    PNG; `notes`: what else is to be said of them. It loads nothing and runs nothing.
    """
    style = "".join(map(asset, ("page.css", "comparison.css", "print.css"))) + _OWN
    bases = {each.name: on_one_line(each.base) for each in found}
    lengths = sorted({length for each in found for length in each.lengths})
    return (
        environment()
        .get_template("several.html.j2")
        .render(
            digest=digest(style),
            style=trusted(style),
            title=on_one_line(title),
            sentence=several_sentence(found),
            previous=len({each.base for each in found[1:]}) > 1,
            first=on_one_line(found[0].name) if found else "",
            losses=losses_lines(found, windows) if found else [],
            cautions=[*cautions(found), *notes],
            head=head(found),
            rows=[several_row(each, first=each is found[0], losses=has_losses(found)) for each in found],
            links=[links.get(each.name, "") for each in found],
            picture=b64encode(picture).decode() if picture else "",
            lengths=length_labels(lengths),
            by_length=[[on_one_line(each.name), *(_cell(each.lengths.get(at)) for at in lengths)] for each in found],
            parts=[
                {"name": on_one_line(name), "base": bases[name], "lines": [on_one_line(line) for line in lines]}
                for name, lines in parts.items()
            ],
        )
    )


def _cell(scores: Scores | None) -> str:
    if scores is None:
        return ""
    n = f"{scores.n}" if scores.n == scores.trials else f"{scores.n} of {scores.trials}"
    return f"{NONE if scores.mean is None else percent1(scores.mean)} ({n})"
