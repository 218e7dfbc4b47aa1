"""The shapes that a depth effect may have, as templates over depths, and the name of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from needlework.results.statistics.depth.table import Column
from needlework.results.statistics.intervals.clustered import Floats

Shape = Literal[
    "lost in the middle", "primacy", "recency", "falling", "rising", "hole", "uneven",
    "flat", "ceiling", "floor", "undetermined",
]  # fmt: skip
Place = tuple[float, float]

EARLY, LATE = 20.0, 80.0  # percent: the first and the last fifth
FIRST, LAST = 10.0, 90.0  # the ends
MIDDLE = (40.0, 60.0)
_BEGINNING, _ENDING = 35.0, 65.0  # a cut before the one is primacy, after the other a hole at the end
_MIDDLE_SHARE = 2 / 3


@dataclass(frozen=True, slots=True)
class Template:
    """One shape: its weights over the columns, what it is called, where it is low (an uneven one: where it is high)."""

    weights: tuple[float, ...]
    shape: Shape
    place: Place | None = None


def place_words(place: Place) -> str:
    """`50 %`, or `10..30 %`."""
    low, high = (f"{end:g}" for end in place)
    return f"{low} %" if low == high else f"{low}..{high} %"


@lru_cache(maxsize=64)
def templates(columns: tuple[Column, ...]) -> tuple[tuple[Template, ...], tuple[Template, ...]]:
    """Return the named shapes and the scanned ones; none twice, none that is the same at every depth."""
    return tuple(_telling(_named(columns))), tuple(_telling(_scanned(columns)))


def weights_of(found: Sequence[Template]) -> Floats:
    """The weights of templates, (columns, templates)."""
    return np.array([each.weights for each in found], dtype=np.float64).T


def _telling(found: Iterator[Template]) -> Iterator[Template]:
    return (each for each in found if len(set(each.weights)) > 1)


def _named(columns: Sequence[Column]) -> Iterator[Template]:
    depths = [column.depth for column in columns]
    early, late = [depth <= EARLY for depth in depths], [depth >= LATE for depth in depths]
    if any(early):
        yield Template(tuple(map(float, early)), "primacy")
    if any(late):
        yield Template(tuple(map(float, late)), "recency")
    if depths[0] <= FIRST and depths[-1] >= LAST:
        yield Template(tuple(float(depth <= FIRST or depth >= LAST) for depth in depths), "lost in the middle")
    yield from _slopes(depths)


def _slopes(depths: Sequence[float]) -> Iterator[Template]:
    yield Template(tuple(abs(depth - 50) for depth in depths), "lost in the middle")
    yield Template(tuple(depths), "rising")
    yield Template(tuple(-depth for depth in depths), "falling")


def _scanned(columns: Sequence[Column]) -> Iterator[Template]:
    """Every run of neighbouring depths as a hole, and inside the document as a peak too."""
    count = len(columns)
    for first in range(count):
        for last in range(first, count):
            if last - first + 1 == count:
                continue
            place = columns[first].low, columns[last].high
            inside = [first <= at <= last for at in range(count)]
            yield Template(tuple(float(not each) for each in inside), _hole(columns, first, last), place)
            if first > 0 and last < count - 1:
                yield Template(tuple(map(float, inside)), "uneven", place)
    yield from _slopes([column.depth for column in columns])


def _hole(columns: Sequence[Column], first: int, last: int) -> Shape:
    """What a hole from column `first` to `last` is called."""
    if last == len(columns) - 1:
        if columns[first - 1].depth <= _BEGINNING:
            return "primacy"
        return "hole" if columns[first].depth >= _ENDING else "falling"
    if first == 0:
        if columns[last + 1].depth >= _ENDING:
            return "recency"
        return "hole" if columns[last].depth <= _BEGINNING else "rising"
    middle = [at for at, column in enumerate(columns) if MIDDLE[0] <= column.depth <= MIDDLE[1]]
    held = sum(first <= at <= last for at in middle)
    return "lost in the middle" if middle and held >= _MIDDLE_SHARE * len(middle) - 1e-9 else "hole"
