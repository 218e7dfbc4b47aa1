"""An adaptive run in the report: a table for each series of which cells were asked, with what was said of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from needlework.haystack_fixtures.grid.cells import depth_label
from needlework.results.adaptive.statement import LengthFound, Statement
from needlework.results.html.texts import on_one_line
from needlework.results.statistics.panels import depth_order
from needlework.results.style.text import length_labels, percent1
from needlework.results.tables.adaptive import MEANINGS, adaptive_lines, bar_words, length_words, series_name


def adaptive_tables(statements: Sequence[Statement]) -> list[dict[str, object]]:
    """Return the tables, as `report.html.j2` takes them."""
    return [
        _table(number, name, list(found)) for number, (name, found) in enumerate(groupby(statements, key=series_name))
    ]


def _table(number: int, name: str, found: Sequence[Statement]) -> dict[str, object]:
    first = found[0]
    return {
        "id": f"adaptive-{number}",
        "name": on_one_line(f"Effective length: {name}"),
        "head": [
            "trials at depth",
            *length_labels([each.length for each in first.lengths]),
        ],
        "rows": [[on_one_line(text) for text in row] for row in _rows(found)],
        "notes": [on_one_line(line) for line in (*adaptive_lines(found, lengths=False), *MEANINGS)],
        "names": 1,
        "bars": (),
        "links": (),
    }


def _rows(found: Sequence[Statement]) -> Iterator[list[str]]:
    first = found[0]
    depths = sorted({depth for each in first.lengths for depth in each.per_depth}, key=depth_order)
    for depth in depths:
        label = "all" if depth is None else f"{depth_label(depth)} %"
        yield [label, *(str(each.per_depth.get(depth, 0)) for each in first.lengths)]
    yield ["trials", *(str(each.asked) for each in first.lengths)]
    for statement in found:
        base = statement.base.length if statement.base else None
        yield [bar_words(statement), *(length_words(each, base) for each in statement.lengths)]
        yield ["score % (95 % interval as stopped)", *(_score(each) for each in statement.lengths)]


def _score(each: LengthFound) -> str:
    if not each.n or each.low is None or each.high is None:
        return "–"
    return f"{percent1(each.total / each.n)} ({percent1(each.low)}–{percent1(each.high)})"
