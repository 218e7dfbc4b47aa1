"""Sections of a report: tables, notes and charts of one statistic, as data for every renderer."""

import tomllib
from collections.abc import Iterable, Sequence
from importlib.resources import files
from math import log2
from typing import Any, NamedTuple

from msgspec import Struct

from needlework.core.grid import slug
from needlework.results.style import NONE, WIDE, UnscoredMark, display_width, folded_table, one_line

GLOSSARY: dict[str, Any] = tomllib.loads(files(__package__).joinpath("glossary.toml").read_text(encoding="utf-8"))


def chart_name(kind: str, *parts: str) -> str:
    """The name of a chart's file: `kind` and the parts, each safe for every file system."""
    return "-".join([kind, *(slug(part) for part in parts if part)])


class PanelCell(NamedTuple):
    """A cell of a panel, for links from a chart to trials; the depth "mean" is the whole column."""

    model: str
    task: str
    needle: str
    length: int
    depth: float | str | None


class ChartPoint(Struct, frozen=True):
    """A score in percent at `x`, with the ends of its 95 % interval; `None` without scored trials.
    `label` names `x`."""

    x: float
    label: str
    score: float | None
    low: float | None
    high: float | None
    n: int
    cell: PanelCell | None = None


class ChartLine(Struct, frozen=True):
    """A series of points; `is_joined`: whether a line joins them."""

    name: str
    points: tuple[ChartPoint, ...]
    is_joined: bool = True


class ChartSpan(Struct, frozen=True):
    """A part of the x axis in which scores changed."""

    first: float
    last: float
    is_fall: bool


class LineChart(Struct, frozen=True):
    """Scores over length, depth or time.
    `name`: of its file; `across`: title of the x axis; `ends`: of that axis, where they are not those of the points;
    `right`: further values, with an axis of their own in pictures."""

    name: str
    title: str
    across: str
    lines: tuple[ChartLine, ...]
    subtitle: str = ""
    ends: tuple[float, float] | None = None
    spans: tuple[ChartSpan, ...] = ()
    right: ChartLine | None = None

    def shares(self, xs: Sequence[float]) -> list[float]:
        """Positions on the axis, 0..1; of lengths by logarithm, as they are powers of two."""
        known = sorted({point.x for line in self.lines for point in line.points})
        first, last = self.ends or ((known[0], known[-1]) if known else (0.0, 1.0))
        scale = log2 if self.ends is None and first > 0 else float
        low, high = scale(first), scale(last)
        return [0.5 if high == low else (scale(x) - low) / (high - low) for x in xs]

    def ticks(self, columns: int) -> list[tuple[float, str]]:
        """Position and label of each tick that fits on an axis `columns` characters wide; always the last one."""
        labels = {point.x: point.label for line in self.lines for point in line.points}
        shares = self.shares(list(labels))
        ticks: list[tuple[float, str]] = []
        for share, label in sorted(zip(shares, labels.values(), strict=True), reverse=True):
            room = (display_width(label) + display_width(ticks[-1][1])) / 2 + 1 if ticks else 0
            if not ticks or (ticks[-1][0] - share) * columns >= room:
                ticks.append((share, label))
        return ticks[::-1]


class ChartBar(Struct, frozen=True):
    """A model's score in one row, in percent. `chance`: of guessing.
    `limits`: the score with undecided answers as misses and as hits; `focused`: on the answer's own text alone."""

    model: str
    score: float | None
    low: float | None
    high: float | None
    n: int
    text: str
    limits: tuple[float, float] | None = None
    focused: float | None = None
    chance: float | None = None


class BarRow(Struct, frozen=True):
    """A task, or an average of several, with the bars of those models that have it."""

    name: str
    bars: tuple[ChartBar, ...]


class BarChart(Struct, frozen=True):
    """Scores by task, a bar for each model."""

    name: str
    title: str
    rows: tuple[BarRow, ...]
    models: tuple[str, ...]
    subtitle: str = ""


class HeatmapCell(Struct, frozen=True):
    """One cell. `value`: its place on the colour scale, 0..1. `text`: its number; `mark`: why unscored.
    `notes`: lines below, the last is its n; `is_partial`: whether trials without a score are left out."""

    value: float | None = None
    text: str = ""
    notes: tuple[str, ...] = ()
    mark: UnscoredMark | None = None
    is_partial: bool = False


class ColorScale(Struct, frozen=True):
    """Colours from `low` to `high`; no bar is drawn without a `label`."""

    colors: tuple[str, ...]
    low: int = 0
    high: int = 100
    label: str = ""


class Heatmap(Struct, frozen=True):
    """Cells by length and depth. `numbers`: whether the cells of pictures have theirs.
    `rows`: one for each depth, `None` for a cell that never ran; `summaries`: rows above them, such as the mean."""

    name: str
    title: str
    lengths: tuple[str, ...]
    depths: tuple[str, ...]
    rows: tuple[tuple[HeatmapCell | None, ...], ...]
    summaries: tuple[tuple[str, tuple[HeatmapCell, ...]], ...]
    scale: ColorScale
    subtitle: str = ""
    numbers: bool = True

    @property
    def marks(self) -> tuple[UnscoredMark, ...]:
        """The marks of cells without a score."""
        return tuple(dict.fromkeys(cell.mark for row in self.rows for cell in row if cell and cell.mark))

    @property
    def is_partial(self) -> bool:
        """Whether some cell leaves trials out."""
        return any(cell.is_partial for row in self.rows for cell in row if cell)

    @property
    def has_blanks(self) -> bool:
        """Whether some cell never ran."""
        return any(cell is None for row in self.rows for cell in row)


Chart = LineChart | BarChart | Heatmap


class Table(Struct, frozen=True):
    """A table of texts; the first `names` columns are names, the others numbers.

    For the page: `panels`, the model and task of the heatmap that a row links to; `links`, the address of each row.
    """

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    names: int = 1
    panels: tuple[tuple[str, str] | None, ...] = ()
    links: tuple[str, ...] = ()


class Finding(Struct, frozen=True):
    """One statistic in words: its `term`, value, and meaning. A sub-item's term is indented."""

    term: str
    text: str
    meaning: str


class Section(Struct, frozen=True):
    """The charts, tables, findings and notes of one statistic of a run.

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


def filled_table(caption: str, head: Sequence[str], rows: Sequence[Sequence[str]], names: int) -> Table:
    """The table without empty columns of numbers, and without the model's if there is one model."""
    one_model = names > 1 and head[0] == "model" and len({row[0] for row in rows}) < 2
    shown = [
        at for at in range(int(one_model), len(head)) if at < names or any(row[at] not in (NONE, "") for row in rows)
    ]
    return Table(
        caption,
        tuple(head[at] for at in shown),
        tuple(tuple(row[at] for at in shown) for row in rows),
        names=sum(at < names for at in shown),
    )


def section_lines(sections: Iterable[Section], *, width: int = WIDE) -> list[str]:
    """The sections for a terminal or Markdown, a blank line between two; tables fold at `width` columns."""
    lines: list[str] = []
    for section in sections:
        lines += [*([""] if lines else []), one_line(section.title), *(f"  {line}" for line in _body(section, width))]
    return lines


def _body(section: Section, width: int) -> list[str]:
    lines: list[str] = []
    for table in section.tables:
        lines += [table.caption] if table.caption else []
        lines += folded_table((table.head, *table.rows), table.names, width - 2)
    lines += [f"{finding.term}: {finding.text}" for finding in section.findings]
    lines += [f"{name}: {meaning}" for name, meaning in section.meanings]
    return [*lines, *map(one_line, section.notes)]
