"""Heatmaps, headlines and tables for a terminal and Markdown."""

from collections.abc import Collection, Iterable, Iterator, Sequence

from msgspec import Struct

from needlework.core.grid import depth_label
from needlework.results.report.panels import headline, scored_of
from needlework.results.statistics.agreement import Agreement
from needlework.results.statistics.panels import Panel, Tally
from needlework.results.statistics.wording import interval_cell, percent2, range_words
from needlework.results.style import (
    MARKS,
    NONE,
    NOT_RUN,
    ColorsName,
    broken,
    color_of,
    dark,
    display_width,
    fit,
    folded_table,
    length_labels,
    mark_of,
    one_line,
    percent,
    score_glyph,
)  # fmt: skip

_CELL = 5  # terminal columns of the narrowest cell: a space, three digits, a glyph or space
_PARTLY = "*"  # after a cell whose score leaves trials out


class Screen(Struct, frozen=True):
    """A terminal, `width` columns wide.
    `color`: whether it has 256 ANSI colours; cells then have the score's colour behind them, else a block."""

    width: int = 80
    color: bool = False
    colors: ColorsName = "viridis"

    def cell(self, tally: Tally | None, width: int, partly: bool) -> str:
        """Return one cell, `width` columns; one more where cells of the panel may be `partly` scored."""
        if tally is None or tally.mean is None:
            mark = tally and mark_of(tally.n, tally.counts)
            return (mark.letter if mark else NOT_RUN).rjust(width - 1) + " " * (1 + partly)
        number = percent(tally.mean).rjust(width - 1)
        aside = "" if not partly else _PARTLY if tally.unscored else " "
        if self.color:
            return f"{self._background(tally.mean)}{number} \x1b[0m{aside}"
        return f"{number}{score_glyph(tally.mean)}{aside}"

    def _background(self, score: float) -> str:
        """Return the escapes for a background in the score's colour and letters that can be read on it."""
        color = color_of(score, self.colors)
        # xterm's 6x6x6 cube: its levels are 0, 95, 135, 175, 215, 255.
        levels = (0 if part < 48 else max(1, round((part - 55) / 40)) for part in color)
        cube = 16 + sum(level * size for level, size in zip(levels, (36, 6, 1), strict=True))
        return f"\x1b[{97 if dark(color) else 30};48;5;{cube}m"


def terminal_heatmaps(panels: Sequence[Panel], screen: Screen) -> list[str]:
    """Return the lines of every panel, a blank line between two, none wider than the screen."""
    lines: list[str] = []
    for panel in panels:
        lines += [""] * bool(lines) + _grid(panel, screen, below=("high", "low", "n"))
        lines += [*broken(headline(panel), screen.width), *broken(_legend(panel), screen.width)]
    return [fit(line, screen.width) if "\x1b" not in line else line for line in lines]


def terminal_grid(panel: Panel, screen: Screen, room: int) -> list[str]:
    """Return a panel in at most `room` lines: cells, means and counts; no cells if these are too many."""
    lines = [*_grid(panel, screen, below=("n",)), *broken(_legend(panel), screen.width)]
    if len(lines) > room:
        lines = _grid(panel, screen, depths=False, below=("n",))
    return lines if len(lines) <= room else []


def _grid(panel: Panel, screen: Screen, *, below: Collection[str], depths: bool = True) -> list[str]:
    """Return the panel's name and cells, in blocks of as many lengths as fit; `below`: rows under means."""
    lengths, labels, partly = length_labels(panel.lengths), [depth_label(depth) for depth in panel.depths], panel.partly
    aside = max(display_width(label) for label in ["depth", *labels]) + 1
    ranges = [range_words(column.range, whole=True) if column.range else "" for column in panel.columns]
    if aside + max(map(len, ranges)) + 2 + partly > screen.width:
        ranges = [""] * len(ranges)  # the headline has it
    intervals = [column.interval for column in panel.columns]
    notes = {
        "high": [percent(interval.high) if interval else "" for interval in intervals],
        "low": [percent(interval.low) if interval else "" for interval in intervals],
        "n": [scored_of(column) for column in panel.columns],
    }
    notes = {label: texts for label, texts in notes.items() if label in below and any(texts)}
    # A cell has room for its heading and for what stands below its column, and a space on either side.
    cell = max(_CELL, *(len(text) + 2 for texts in (lengths, ranges, *notes.values()) for text in texts))

    def words(texts: Sequence[str]) -> list[str]:
        return [text.rjust(cell - 1) + " " * (1 + partly) for text in texts]

    def scores(tallies: Sequence[Tally | None]) -> list[str]:
        return [screen.cell(tally, cell, partly) for tally in tallies]

    rows = [("depth" if depths else "tokens", words(lengths))]
    if depths:
        for depth, label in zip(panel.depths, labels, strict=True):
            rows.append((label, scores([panel.cells.get((length, depth)) for length in panel.lengths])))
    rows += [("range", words(ranges))] if any(ranges) else []
    rows += [("mean", scores(panel.columns))] if len(labels) > 1 or not depths else []
    rows += [(label, words(texts)) for label, texts in notes.items()]
    across = max(1, (screen.width - aside) // (cell + partly))
    blocks = [slice(first, first + across) for first in range(0, len(lengths), across)]
    lines = [f"{label:>{aside - 1}} {''.join(cells[block])}".rstrip() for block in blocks for label, cells in rows]
    return [fit(one_line(panel.name), screen.width), *lines]


def _legend(panel: Panel) -> str:
    """Return what the letters of this panel mean; empty when it has none."""
    marks = {mark_of(cell.n, cell.counts) for cell in panel.cells.values()}
    parts = [f"{mark.letter} {mark.outcome}" for mark in MARKS if mark in marks]
    parts += [f"{_PARTLY} some trials without a score"] if panel.partly else []
    return " · ".join([*parts, *([f"{NOT_RUN} not run"] if panel.blank else [])])


def aligned(rows: Sequence[Sequence[str]], names: int) -> Iterator[str]:
    """Columns of one width; the first `names` are names, to the left, the others numbers, to the right."""
    return folded_table(rows, names, 1_000)


def agreement_lines(result: Agreement, rows: str, columns: str) -> Iterator[str]:
    """Agreement and the table of labels; `rows` and `columns` name the raters."""
    kappa = result.kappa
    span = NONE if kappa.low is None or kappa.high is None else f"{kappa.low:.3f} to {kappa.high:.3f}"
    counted = f"({interval_cell(result.agreement)}), {result.n} verdicts on {result.items} items"
    yield f"{rows} and {columns} agree: {percent2(result.agreement.value)} % {counted}"
    yield f"  Cohen's kappa: {NONE if kappa.value is None else f'{kappa.value:.3f}'} ({span})"
    names = [one_line(label) for label in result.labels]
    table = [(name, *map(str, counts)) for name, counts in zip(names, result.table, strict=True)]
    yield from (f"  {line}" for line in aligned([(f"{rows} \\ {columns}", *names), *table], names=1))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table in Markdown."""
    return [_row(head), f"|{'---|' * len(head)}", *map(_row, rows)]


def _row(texts: Sequence[str]) -> str:
    return f"| {' | '.join(one_line(text).replace('|', chr(92) + '|') for text in texts)} |"
