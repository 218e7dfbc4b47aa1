"""Heatmaps for the terminal: rows are depths, columns lengths, cells percent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap

from needlework.haystack_fixtures.grid.cells import depth_label
from needlework.results.statistics.panels import Panel, Tally
from needlework.results.style.glyphs import can_encode, score_glyph
from needlework.results.style.palette import MARKS, NOT_RUN, ColorsName, color_of, dark, mark_of
from needlework.results.style.text import display_width, fit, length_labels, one_line, percent
from needlework.results.tables.headline import headline, range_words, scored_of

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
    colors: ColorsName = "safe",
) -> list[str]:
    """Return the lines of every panel, a blank line between two, none wider than `width` terminal columns.

    `color`: whether the terminal understands ANSI colours (256, or 16 million with `truecolor`); cells then have the
    score's colour behind them, and without it a block before them. `encoding`: of the stream; where it has no blocks,
    the lines are plain ASCII.
    """
    lines: list[str] = []
    for panel in panels:
        lines += [""] * bool(lines) + _panel(panel, _Look(color, truecolor, not can_encode(encoding), colors), width)
    return [_encodable(line, encoding or "ascii") for line in lines]


def terminal_grid(
    panel: Panel, *, room: int, color: bool, encoding: str | None, width: int, colors: ColorsName = "safe"
) -> list[str]:
    """A panel in at most `room` lines: its cells, means and counts; without the cells where these are too many.

    The others as for `terminal_heatmaps`.
    """
    look = _Look(color, False, not can_encode(encoding), colors)
    whole = _grid(panel, look, width, below=("n",))
    used = _key(panel)
    whole += [look.line(part, width) for part in _broken(used, width)] if used else []
    if len(whole) > room:
        whole = _grid(panel, look, width, depths=False, below=("n",))
    return [_encodable(line, encoding or "ascii") for line in whole] if len(whole) <= room else []


@dataclass(frozen=True, slots=True)
class _Look:
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


def _panel(panel: Panel, look: _Look, width: int) -> list[str]:
    lines = _grid(panel, look, width)
    lines += (look.line(part, width) for part in _broken(headline(panel), width))
    used = _key(panel)
    return [*lines, *(look.line(part, width) for part in _broken(used, width))] if used else lines


def _grid(
    panel: Panel, look: _Look, width: int, *, depths: bool = True, below: Sequence[str] = ("high", "low", "n")
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
