"""The heatmap as a way into the list: cells of length and depth, each an address that shows its trials."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from needlework.haystack_fixtures.grid.cells import depth_label
from needlework.results.statistics.panels import Tally, depth_order, tally
from needlework.results.style.palette import color_of, dark, mark_of
from needlework.results.style.text import length_labels, percent
from needlework.results.tables.headline import score_words
from needlework.results.web.browsing.filters import Filter
from needlework.results.web.browsing.parts import part_words
from needlework.results.web.browsing.rows import Row

MOST_ACROSS = 60  # lengths or depths; a larger table is no picture


@dataclass(frozen=True, slots=True)
class GridCell:
    """`look`: class names. `address`: of the filter with this cell alone, or without it where it is `chosen`."""

    look: str
    text: str
    title: str
    address: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class Grid:
    """`rows`: the label of a depth, and a cell for each length; none where nothing was run."""

    lengths: tuple[str, ...]
    rows: tuple[tuple[str, tuple[GridCell | None, ...]], ...]
    overall: str


def grid_of(rows: Iterable[Row], wanted: Filter) -> Grid | None:
    """The heatmap of rows that measure one thing; nothing where there is none, or where it would be too large."""
    cells: dict[tuple[int, float | None], list[Row]] = {}
    for row in rows:
        cells.setdefault((row.record["length"], row.record["depth"]), []).append(row)
    all_rows = [row for found in cells.values() for row in found]
    lengths = sorted({length for length, _ in cells})
    depths = sorted({depth for _, depth in cells}, key=depth_order)
    if not cells or max(len(lengths), len(depths)) > MOST_ACROSS:
        return None
    return Grid(
        length_labels(lengths),
        tuple(
            (
                depth_label(depth),
                tuple(_cell(length, depth, cells.get((length, depth), []), wanted) for length in lengths),
            )
            for depth in depths
        ),
        f"{part_words(all_rows[0])}: {score_words(_tally(all_rows))}",
    )


def colors_css() -> str:
    """A class for each percent of score, `.p0` to `.p100`, in the colours of the pictures."""
    rules = []
    for score in range(101):
        color = color_of(score / 100)
        ink = "#fff" if dark(color) else "#1a1a1a"
        rules.append(f".p{score} {{ background: rgb{color}; color: {ink}; }}")
    return "\n".join(rules)


def _cell(length: int, depth: float | None, rows: Sequence[Row], wanted: Filter) -> GridCell | None:
    if not rows:
        return None
    found = _tally(rows)
    at = (str(length), depth_label(depth))
    chosen = (wanted.length, wanted.depth) == at
    mark = mark_of(found.n, found.counts)
    text = "" if found.mean is None else percent(found.mean)
    unscored = "".join(f", {count} {name}" for name, count in found.unscored.items())
    return GridCell(
        look=f"unscored {mark.outcome}" if mark else f"p{text}",
        text=mark.letter if mark else text,
        title=f"length {length}, depth {at[1]}: {score_words(found)}{unscored}",
        address=wanted.address(length="" if chosen else at[0], depth="" if chosen else at[1]),
        chosen=chosen,
    )


def _tally(rows: Iterable[Row]) -> Tally:
    return tally(row.trial for row in rows)
