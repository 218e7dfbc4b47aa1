"""Heatmaps, headlines and tables for a terminal and Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap

from needlework.core.grid import depth_label
from needlework.core.record import UNSCORED
from needlework.results.adaptive.survey import LengthStatement
from needlework.results.report.adaptive import answer
from needlework.results.report.panels import headline, scored_of
from needlework.results.statistics.agreement import Agreement
from needlework.results.statistics.effective_length import EffectiveLength
from needlework.results.statistics.panels import Panel, Tally
from needlework.results.statistics.tasks import PanelStatistics
from needlework.results.statistics.wording import ends, percent2, range_words, score_and_interval
from needlework.results.style import (
    MARKS,
    NONE,
    NOT_RUN,
    ColorsName,
    can_encode,
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
)

_CELL = 5  # terminal columns of the narrowest cell: a space, three digits, a glyph or space
PARTLY = "*"  # after a cell whose score leaves trials out
_PLAIN = str.maketrans({"·": "|", "–": "-", "…": "~"})


def terminal_heatmaps(
    panels: Sequence[Panel],
    *,
    color: bool,
    encoding: str | None = "utf-8",
    width: int = 80,
    truecolor: bool = False,
    colors: ColorsName = "viridis",
) -> list[str]:
    """Return the lines of every panel, a blank line between two, none wider than `width` terminal columns.

    `color`: whether the terminal understands ANSI colours (256, or 16 million with `truecolor`); cells then have the
    score's colour behind them, and without it a block before them. `encoding`: of the stream; where it has no blocks,
    the lines are plain ASCII.
    """
    lines: list[str] = []
    for panel in panels:
        lines += [""] * bool(lines) + _panel(
            panel, _StreamStyle(color, truecolor, not can_encode(encoding), colors), width
        )
    return [_encodable(line, encoding or "ascii") for line in lines]


def terminal_grid(
    panel: Panel, *, room: int, color: bool, encoding: str | None, width: int, colors: ColorsName = "viridis"
) -> list[str]:
    """A panel in at most `room` lines: its cells, means and counts; without the cells where these are too many.

    The others as for `terminal_heatmaps`.
    """
    look = _StreamStyle(color, False, not can_encode(encoding), colors)
    whole = _grid(panel, look, width, below=("n",))
    used = _key(panel)
    whole += [look.line(part, width) for part in _broken(used, width)] if used else []
    if len(whole) > room:
        whole = _grid(panel, look, width, depths=False, below=("n",))
    return [_encodable(line, encoding or "ascii") for line in whole] if len(whole) <= room else []


@dataclass(frozen=True, slots=True)
class _StreamStyle:
    """How one stream is written to."""

    color: bool
    truecolor: bool
    ascii_only: bool
    colors: ColorsName

    def line(self, text: str, width: int) -> str:
        """One line of prose."""
        return fit(text.translate(_PLAIN) if self.ascii_only else text, width)

    def cell(self, tally: Tally | None, width: int, partly: bool) -> str:
        """One cell, `width` columns; one more where cells of the panel may be `partly` scored."""
        mark = None if tally is None else mark_of(tally.n, tally.counts)
        if tally is None or tally.mean is None:
            return (mark.letter if mark else NOT_RUN).rjust(width - 1) + " " * (1 + partly)
        number = percent(tally.mean).rjust(width - 1)
        aside = "" if not partly else PARTLY if tally.unscored else " "
        if self.color:
            return f"{self._behind(tally.mean)}{number} \x1b[0m{aside}"
        return f"{number}{' ' if self.ascii_only else score_glyph(tally.mean)}{aside}"

    def _behind(self, score: float) -> str:
        """Escapes for a background in the score's colour and letters that can be read on it."""
        red, green, blue = color = color_of(score, self.colors)
        letters = 97 if dark(color) else 30
        if self.truecolor:
            return f"\x1b[{letters};48;2;{red};{green};{blue}m"
        # xterm's 6x6x6 cube: its levels are 0, 95, 135, 175, 215, 255.
        levels = (0 if part < 48 else max(1, round((part - 55) / 40)) for part in color)
        cube = 16 + sum(level * size for level, size in zip(levels, (36, 6, 1), strict=True))
        return f"\x1b[{letters};48;5;{cube}m"


def _panel(panel: Panel, look: _StreamStyle, width: int) -> list[str]:
    lines = _grid(panel, look, width)
    lines += (look.line(part, width) for part in _broken(headline(panel), width))
    used = _key(panel)
    return [*lines, *(look.line(part, width) for part in _broken(used, width))] if used else lines


def _grid(
    panel: Panel, look: _StreamStyle, width: int, *, depths: bool = True, below: Sequence[str] = ("high", "low", "n")
) -> list[str]:
    """The panel's name and its cells, in blocks of as many lengths as fit. `below`: what stands below the means."""
    lengths = length_labels(panel.lengths)
    labels = [depth_label(depth) for depth in panel.depths]
    rows_below = [(label, texts) for label, texts in _below(panel) if label in below]
    ranges = [range_words(column.range, whole=True) if column.range else "" for column in panel.columns]
    aside = max(display_width(label) for label in ["depth", *labels]) + 1
    if aside + max(map(len, ranges)) + 2 + panel.partly > width:
        ranges = [""] * len(ranges)  # the headline has it
    # A cell has room for its heading and for what stands below its column, and a space on either side.
    texts = (*lengths, *ranges, *(text for _, texts in rows_below for text in texts))
    cell = max(_CELL, *(len(text) + 2 for text in texts))
    across = max(1, (width - aside) // (cell + panel.partly))
    lines = [look.line(one_line(panel.name), width)]
    for first in range(0, len(lengths), across):
        shown = range(first, min(first + across, len(lengths)))

        def words(label: str, texts: Sequence[str], shown: range = shown) -> str:
            gap = " " * (1 + panel.partly)
            return (label.rjust(aside - 1) + " " + "".join(f"{texts[i]:>{cell - 1}}{gap}" for i in shown)).rstrip()

        def scores(label: str, tallies: Sequence[Tally | None], shown: range = shown) -> str:
            row = (look.cell(tallies[i], cell, panel.partly) for i in shown)
            return (label.rjust(aside - 1) + " " + "".join(row)).rstrip()

        lines.append(words("depth" if depths else "tokens", lengths))
        for depth, label in zip(panel.depths, labels, strict=True) if depths else ():
            lines.append(scores(label, [panel.cells.get((length, depth)) for length in panel.lengths]))
        if any(ranges):
            lines.append(words("range", ranges).translate(_PLAIN if look.ascii_only else {}))
        if len(labels) > 1 or not depths:
            lines.append(scores("mean", panel.columns))
        lines += (words(label, texts) for label, texts in rows_below if any(texts))
    return lines


def _below(panel: Panel) -> list[tuple[str, list[str]]]:
    """What stands below each column of scores: its 95 % interval, and the trials that it counts."""
    ends = [(column.interval.low, column.interval.high) if column.interval else None for column in panel.columns]
    return [
        ("high", [percent(each[1]) if each else "" for each in ends]),
        ("low", [percent(each[0]) if each else "" for each in ends]),
        ("n", [scored_of(column) for column in panel.columns]),
    ]


def _key(panel: Panel) -> str:
    """Say what the letters of this panel mean; empty when it has none."""
    used = {mark.outcome for cell in panel.cells.values() if (mark := mark_of(cell.n, cell.counts))}
    parts = [f"{mark.letter} {mark.outcome}" for mark in MARKS if mark.outcome in used]
    if panel.partly:
        parts.append(f"{PARTLY} some trials without a score")
    if panel.blank:
        parts.append(f"{NOT_RUN} not run")
    return " · ".join(parts)


def _broken(text: str, width: int) -> list[str]:
    """Break at ` · ` into lines of at most `width` columns, and at spaces where that is not enough."""
    lines: list[str] = []
    for part in text.split(" · "):
        if lines and display_width(f"{lines[-1]} · {part}") <= width:
            lines[-1] += f" · {part}"
        else:
            lines += wrap(part, width)
    return lines


def _encodable(line: str, encoding: str) -> str:
    try:
        return line.encode(encoding, "replace").decode(encoding)
    except LookupError:
        return line.encode("ascii", "replace").decode("ascii")


def aligned(rows: Sequence[Sequence[str]], names: int) -> Iterator[str]:
    """Columns of one width; the first `names` are names, to the left, the others numbers, to the right."""
    return folded_table(rows, names, 1_000)


def agreement_lines(found: Agreement, rows: str, columns: str) -> Iterator[str]:
    """How far two agree, and the table of their labels; `rows` and `columns` say whose labels they are."""
    kappa = found.kappa
    span = NONE if kappa.low is None or kappa.high is None else f"{kappa.low:.3f} to {kappa.high:.3f}"
    told = f"{found.n} verdicts on {found.items} items"
    yield f"{rows} and {columns} agree: {percent2(found.agreement.value)} % ({ends(found.agreement)}), {told}"
    yield f"  Cohen's kappa: {NONE if kappa.value is None else f'{kappa.value:.3f}'} ({span})"
    names = [one_line(label) for label in found.labels]
    table = [(name, *map(str, counts)) for name, counts in zip(names, found.table, strict=True)]
    yield from (f"  {line}" for line in aligned([(f"{rows} \\ {columns}", *names), *table], names=1))


_HEAD = ("model · task · needle", "score %", "95 % interval", "n", *UNSCORED, "effective length (95 %)")


def panel_table(
    panels: Sequence[Panel], statistics: Sequence[PanelStatistics], adaptive: Sequence[LengthStatement] = ()
) -> list[str]:
    """Return a row for each panel: its score with interval and n, the trials without a score, how far it reads."""
    found = {(each.model, each.task, each.needle): each for each in statistics}
    walked = {(each.model, each.task, each.needle): answer(each) for each in reversed(adaptive)}
    rows = []
    for panel in panels:
        overall = panel.overall
        counts = (str(overall.counts[name]) for name in UNSCORED)
        statistic = found.get((panel.model, panel.task, panel.needle))
        reads = "–" if statistic is None or statistic.absolute is None else _length(statistic.absolute)
        reads = walked.get((panel.model, panel.task, panel.needle), reads)
        score = ("–", "–") if panel.uneven else score_and_interval(overall)
        rows.append((panel.name, *score, str(overall.n), *counts, reads))
    return table(_HEAD, rows)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table."""
    return [_row(head), f"|{'---|' * len(head)}", *map(_row, rows)]


def _length(found: EffectiveLength) -> str:
    certain = found.status == "at least" or found.longest_tested is None or found.few
    return found.answer if certain else f"{found.answer} ({found.between})"


def _row(texts: Sequence[str]) -> str:
    return f"| {' | '.join(one_line(text).replace('|', chr(92) + '|') for text in texts)} |"
