"""Heatmaps of B - A: blue where B is better, red where it is worse, hatched where a cell has no pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from needlework.results.pictures.grid import Drawn, Grid, Scale, draw
from needlework.results.pictures.heatmap import FORMATS, Format, file_stem, untaken, write_painted
from needlework.results.pictures.layout import Layout, arrange
from needlework.results.pictures.parts import Canvas
from needlework.results.statistics.comparison.comparison import CellDifference, FamilyDifference, GroupDifference
from needlework.results.statistics.panels import depth_order
from needlework.results.style.fonts import Fonts
from needlework.results.style.palette import DIFFERENCES
from needlework.results.tables.comparison import points

_HATCH = "////"
_MISSING = "no pair: not scored in both runs"
_NUMBER = 5.4  # `+100` in mean characters; the sign is a wide one


def write_difference_heatmaps(
    families: Sequence[FamilyDifference],
    folder: Path,
    *,
    titles: Sequence[str],
    subtitles: Sequence[str],
    formats: Sequence[Format] = FORMATS,
) -> list[Path]:
    """Write `difference-{task}-{needle}` (and the model, where runs of several are compared) for each family."""
    paths: list[Path] = []
    taken: set[str] = set()
    for family, title, subtitle in zip(families, titles, subtitles, strict=True):
        model, task, needle = family.family
        stem = untaken(file_stem("difference", task, needle, *([model] if model else [])), taken)
        layout = layout_of(family, title, subtitle)

        def paint(
            canvas: Canvas, _: int, fonts: Fonts, family: FamilyDifference = family, layout: Layout = layout
        ) -> None:
            draw(canvas, _grid_of(family), layout, fonts)

        paths += write_painted([layout], paint, folder / stem, formats=formats)
    return paths


def layout_of(family: FamilyDifference, title: str, subtitle: str) -> Layout:
    """Lay out the picture of one family, with room for a number in each cell."""
    cells = {(cell.length, cell.depth): cell for cell in family.cells}
    lengths, depths = _axes(cells)
    gaps = any(cell is None or cell.difference is None for row in _rows(cells, lengths, depths) for cell in row)
    return arrange(
        lengths,
        depths,
        title,
        subtitle,
        legend=int(gaps),
        cell_notes=[_notes(cell) for cell in family.cells],
        mean_notes=[_notes(column) for column in family.columns.values()],
        characters=_NUMBER,
    )


def _notes(group: GroupDifference) -> tuple[str, ...]:
    """What stands below a difference of several pairs: `-8..+21`, `n=4`, `n=3/4` where a trial has no pair."""
    trials = group.n + group.unscored
    if group.found is None or trials < 2:
        return ()
    low, high = group.found.low, group.found.high
    ends = "" if low is None or high is None else f"{points(low)}..{points(high)}"
    return ends, f"n={group.n}" if not group.unscored else f"n={group.n}/{trials}"


def _grid_of(family: FamilyDifference) -> Grid:
    cells = {(cell.length, cell.depth): cell for cell in family.cells}
    rows = [[_cell(cell) for cell in row] for row in _rows(cells, *_axes(cells))]
    gaps = any(cell.value is None for row in rows for cell in row)
    return Grid(
        rows=rows,
        means=[_cell(column) for column in family.columns.values()],
        # Fixed ends, so that pictures of different comparisons can be laid side by side.
        scale=Scale(DIFFERENCES, -100, 100, "B - A (points)", few=(-100, 0, 100), many=(-100, -50, 0, 50, 100)),
        legend=[(_HATCH, _MISSING)] if gaps else [],
    )


def _cell(group: GroupDifference | None) -> Drawn:
    if group is None or group.difference is None:
        return Drawn(None, hatch=_HATCH)
    return Drawn(100 * group.difference, (points(group.difference), *_notes(group)))


def _axes(
    cells: Mapping[tuple[int, float | None], CellDifference],
) -> tuple[tuple[int, ...], tuple[float | None, ...]]:
    lengths = tuple(sorted({length for length, _ in cells}))
    return lengths, tuple(sorted({depth for _, depth in cells}, key=depth_order))


def _rows(
    cells: Mapping[tuple[int, float | None], CellDifference],
    lengths: Sequence[int],
    depths: Sequence[float | None],
) -> list[list[CellDifference | None]]:
    return [[cells.get((length, depth)) for length in lengths] for depth in depths]
