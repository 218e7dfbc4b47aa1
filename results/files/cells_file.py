"""`cells.csv`: one row for each cell, its score beside everything that the score counts and leaves out."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from pathlib import Path

from needlework.haystack_fixtures.grid.cells import depth_label
from needlework.haystack_fixtures.writing.whole_files import write_whole
from needlework.results.files.csv_file import safe_cell
from needlework.results.statistics.intervals.score import METHOD
from needlework.results.statistics.panels import OUTCOMES, Panel

_RANGE = ("score_if_undecided_missed", "score_if_undecided_hit")
COLUMNS = (
    "model",
    "task",
    "needle",
    "length",
    "depth",
    "score",
    "low",
    "high",
    "interval",
    "n",
    "trials",
    *OUTCOMES,
    *_RANGE,
)


def write_cells(path: Path, panels: Iterable[Panel]) -> None:
    """Write `path` atomically, UTF-8."""
    write_whole(path, cells_text(panels).encode("utf-8"))


def cells_text(panels: Iterable[Panel]) -> str:
    """Return the text of `cells.csv`: lengths in tokens, depths in percent, scores and ends of the interval in 0..1.

    `n` trials have a score, of all `trials`; then the trials of every outcome, and where some are
    undecided what the score would be if all of them were misses, or hits. Cells that never ran have no row.
    """
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for panel in panels:
        writer.writerows([safe_cell(value) for value in row] for row in _rows(panel))
    return out.getvalue()


def _rows(panel: Panel) -> Iterator[tuple[object, ...]]:
    for (length, depth), cell in panel.cells.items():
        interval = cell.interval
        ends = (None, None, None) if interval is None else (interval.low, interval.high, METHOD)
        place = (panel.model, panel.task, panel.needle, length, depth_label(depth))
        yield (
            *place,
            cell.mean,
            *ends,
            cell.n,
            cell.trials,
            *(cell.counts[name] for name in OUTCOMES),
            *(cell.range or (None, None)),
        )
