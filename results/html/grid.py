"""A heatmap as the template writes it: a table of cells, each with its class names and texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from needlework.haystack_fixtures.grid.cells import depth_label
from needlework.results.style.text import display_width, length_labels

_ROOM_FOR_N = 12  # columns; in wider grids n is in the tooltip only
# Widest grid of each size of cells; the style sheet has a width for each name.
_SIZES = ((8, "large"), (16, "medium"), (40, "small"))
_LABEL_ROOM = {"large": 9, "medium": 7, "small": 4, "tiny": 0}  # characters of a length that fit across a cell

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CellView:
    """One cell of the heatmap: class names, the number or letter in it, and n where there is room."""

    look: str
    text: str
    n: str = ""


@dataclass(frozen=True, slots=True)
class GridView:
    """A table of cells. `size` and `upright` are class names; `rows`: the label of a depth, and its cells."""

    size: str
    upright: bool
    lengths: tuple[str, ...]
    means: tuple[CellView, ...]
    rows: tuple[tuple[str, tuple[CellView, ...]], ...]


def grid_view(
    lengths: Sequence[int],
    depths: Sequence[float | None],
    means: Sequence[T],
    rows: Sequence[Sequence[T | None]],
    cell: Callable[[T | None, bool], CellView],
    *,
    mean: Callable[[T | None, bool], CellView] | None = None,
) -> GridView:
    """Lay out `rows` (a row for each depth) and the row of `means`; `cell` shows one, with its n or without.

    `mean`: shows one of the means, where that is another way.
    """
    labels = length_labels(lengths)
    size = next((name for widest, name in _SIZES if len(lengths) <= widest), "tiny")
    with_n = len(lengths) <= _ROOM_FOR_N
    return GridView(
        size=size,
        upright=max(display_width(label) for label in labels) > _LABEL_ROOM[size],
        lengths=labels,
        means=tuple((mean or cell)(each, with_n) for each in means),
        rows=tuple(
            (depth_label(depth), tuple(cell(each, with_n) for each in row))
            for depth, row in zip(depths, rows, strict=True)
        ),
    )
