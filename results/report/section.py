"""Sections of a report: what one statistic says, as plain text for every renderer."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from needlework.results.report.chart import Chart
from needlework.results.style import NONE, folded_table, one_line

_WIDE = 1000  # columns of what is no terminal: a table stays in one piece
_PLAIN = str.maketrans({"·": "|", "–": "-", "−": "-"})

IntervalBar = tuple[float, float, float]
"""Low end, score and high end, shares of 0..1."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of texts; the first `names` columns are names, the others numbers.

    For the page: `bars`, the interval of each row; `panels`, the model and task of the heatmap that a row links to;
    `links`, the address that a row links to.
    """

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    names: int = 1
    bars: tuple[IntervalBar | None, ...] = ()
    panels: tuple[tuple[str, str] | None, ...] = ()
    links: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """One statistic in words: its `term`, what was computed, and what the term means. A sub-item's term is indented."""

    term: str
    text: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Section:
    """What one statistic says of a run: charts, then tables, then findings, then notes.

    `name`: its id on the page. `meanings`: of column heads, which the page has in its glossary. `brief`: is drawn
    below the first sentence in a terminal; `open`: may stand open on the page.
    """

    title: str
    tables: tuple[Table, ...] = ()
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    name: str = ""
    charts: tuple[Chart, ...] = ()
    meanings: tuple[tuple[str, str], ...] = ()
    brief: bool = False
    open: bool = False


def filled_table(
    caption: str, head: Sequence[str], rows: Sequence[Sequence[str]], names: int, always: Collection[int]
) -> Table:
    """The table without its empty columns; columns in `always` are kept even if empty. `names` counts all columns."""
    shown = [at for at in range(len(head)) if at in always or any(row[at] not in (NONE, "") for row in rows)]
    return Table(
        caption,
        tuple(head[at] for at in shown),
        tuple(tuple(row[at] for at in shown) for row in rows),
        names=sum(at < names for at in shown),
    )


def section_lines(sections: Iterable[Section], *, ascii_only: bool = False, width: int = _WIDE) -> list[str]:
    """The sections for a terminal or Markdown, a blank line between two; tables fold at `width` columns."""
    lines: list[str] = []
    for section in sections:
        lines += [*([""] if lines else []), one_line(section.title), *(f"  {line}" for line in _body(section, width))]
    return [line.translate(_PLAIN) for line in lines] if ascii_only else lines


def _body(section: Section, width: int) -> list[str]:
    lines: list[str] = []
    for table in section.tables:
        lines += [table.caption] if table.caption else []
        lines += folded_table((table.head, *table.rows), table.names, width - 2)
    lines += [f"{finding.term}: {finding.text}" for finding in section.findings]
    lines += [f"{name}: {meaning}" for name, meaning in section.meanings]
    return [*lines, *map(one_line, section.notes)]
