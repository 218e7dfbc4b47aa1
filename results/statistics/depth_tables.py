"""Rows of the depth effect."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import fsum
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from needlework.results.statistics.intervals import Floats
from needlework.results.statistics.panels import ScoredTrial

_FEW = 100  # samples, below which random depths have five bins, else ten
_BINS_FEW, _BINS = 5, 10


@dataclass(frozen=True, slots=True)
class DepthColumn:
    """A tested depth, or a bin of random ones: its middle and its ends, percent."""

    depth: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class DepthTable:
    """Scores at depths. If depth did not matter, any order of the scores within a block would be as likely.

    `paired`: a block is one sample, asked at several depths: `values` are its mean scores over lengths. Else each
    sample was asked at one depth, a block is one length, and `values` are single scores. `column_of`, `block_of`: of
    each value, blocks one after another. `samples`: those with a part in it; `left_out`: (length, sample) without.
    `mean`: of all scores at depths, 0..1; `None` without any. `plain`: the mean of all scores at the depths of each
    column, as tables of depths have it; NaN without any.
    """

    columns: tuple[DepthColumn, ...]
    values: Floats
    column_of: NDArray[np.intp]
    block_of: NDArray[np.intp]
    paired: bool
    samples: int
    left_out: int
    mean: float | None
    plain: Floats


Row = dict[float, float]  # depth (percent) to mean score


def depth_table(trials: Iterable[ScoredTrial]) -> DepthTable:
    """Return the table of one panel's trials; those without a depth or a score have no part in it.

    A sample that is asked at one depth only at every length is of random depths. If any is asked at more, those
    (length, sample) alone are used. Before its lengths are averaged, each row is moved to a mean of zero: where a score
    is missing at a length, that length's own level does not shift the depths that are there.
    """
    rows: dict[tuple[int, int], dict[float, list[float]]] = {}
    for trial in trials:
        if trial.depth is not None:
            scores = rows.setdefault((trial.length, trial.sample), {}).setdefault(trial.depth, [])
            scores += [] if trial.score is None else [trial.score]
    # A question that is asked over several orders of its documents is one sample: its mean.
    means = {at: _means(rows[at]) for at in sorted(rows)}
    by_depth: dict[float, list[float]] = {}
    for row in rows.values():
        for depth, scores in row.items():
            by_depth.setdefault(depth, []).extend(scores)
    every = [score for depth in sorted(by_depth) for score in by_depth[depth]]
    mean = fsum(every) / len(every) if every else None
    several = {at: row for at, row in means.items() if len(row) > 1}
    if several or all(len(row) > 1 for row in rows.values()):
        found = _paired(several, len(means) - len(several), mean)
    else:
        found = _binned({at: row for at, row in means.items() if row}, sum(not row for row in means.values()), mean)
    return replace(found, plain=_plain(found.columns, by_depth))


def _plain(columns: Sequence[DepthColumn], by_depth: Mapping[float, Sequence[float]]) -> Floats:
    scores: list[list[float]] = [[] for _ in columns]
    for depth, own in by_depth.items():
        at = next((at for at, column in enumerate(columns) if column.low <= depth <= column.high), None)
        if at is not None:
            scores[at] += own
    return np.array([fsum(own) / len(own) if own else np.nan for own in scores], dtype=np.float64)


def _means(row: dict[float, list[float]]) -> Row:
    depths = sorted(row.items()) if len(row) > 1 else row.items()
    return {depth: fsum(scores) / len(scores) for depth, scores in depths if scores}


def _paired(rows: dict[tuple[int, int], Row], left_out: int, mean: float | None) -> DepthTable:
    depths = sorted({depth for row in rows.values() for depth in row})
    blocks = []
    for sample in sorted({sample for _, sample in rows}):
        own = [row for (_, each), row in rows.items() if each == sample]
        centred = [{depth: score - fsum(row.values()) / len(row) for depth, score in row.items()} for row in own]
        found = [(at, [row[depth] for row in centred if depth in row]) for at, depth in enumerate(depths)]
        blocks.append([(at, fsum(scores) / len(scores)) for at, scores in found if scores])
    columns = tuple(DepthColumn(depth, depth, depth) for depth in depths)
    return _table(columns, blocks, paired=True, samples=len(blocks), left_out=left_out, mean=mean)


def _binned(rows: dict[tuple[int, int], Row], left_out: int, mean: float | None) -> DepthTable:
    found = [(length, sample, *next(iter(row.items()))) for (length, sample), row in rows.items()]
    depths = sorted({depth for _, _, depth, _ in found})
    columns = _bins(depths, len(found))
    bin_of = {depth: _bin(columns, depth) for depth in depths}
    samples = len({sample for _, sample, *_ in found})
    if len({(sample, depth) for _, sample, depth, _ in found}) == samples < len(found):
        # Asked at one depth at all its lengths, a sample brings its luck to all of them: it counts once.
        blocks = [_levelled(found, bin_of)]
    else:
        blocks = [
            sorted((bin_of[depth], score) for each, _, depth, score in found if each == length)
            for length in sorted({length for length, *_ in found})
        ]
    return _table(columns, blocks, paired=False, samples=samples, left_out=left_out, mean=mean)


def _levelled(rows: Sequence[tuple[int, int, float, float]], bin_of: Mapping[float, int]) -> list[tuple[int, float]]:
    """The bin of each sample and depth, and its mean score (0..1) over the lengths, as if these were equally hard."""
    by_length: dict[int, list[float]] = {}
    for length, _, _, score in rows:
        by_length.setdefault(length, []).append(score)
    overall = fsum(score for *_, score in rows) / len(rows)
    shift = {length: overall - fsum(scores) / len(scores) for length, scores in by_length.items()}
    by_sample: dict[tuple[int, float], list[float]] = {}
    for length, sample, depth, score in rows:
        by_sample.setdefault((sample, depth), []).append(score + shift[length])
    means = {at: min(1.0, max(0.0, fsum(scores) / len(scores))) for at, scores in by_sample.items()}
    return sorted((bin_of[depth], mean) for (_, depth), mean in means.items())


def _bins(depths: Sequence[float], samples: int) -> tuple[DepthColumn, ...]:
    """A few depths are columns by themselves; many are put into equal bins."""
    count = _BINS_FEW if samples < _FEW else _BINS
    if len(depths) <= count + 1:
        return tuple(DepthColumn(depth, depth, depth) for depth in depths)
    width = 100 / count
    return tuple(DepthColumn((at + 0.5) * width, at * width, (at + 1) * width) for at in range(count))


def _bin(columns: Sequence[DepthColumn], depth: float) -> int:
    return next(at for at, column in enumerate(columns) if depth <= column.high or at == len(columns) - 1)


def _table(
    columns: tuple[DepthColumn, ...],
    blocks: Sequence[Sequence[tuple[int, float]]],
    *,
    paired: bool,
    samples: int,
    left_out: int,
    mean: float | None,
) -> DepthTable:
    flat = [(block, at, value) for block, own in enumerate(blocks) for at, value in own]
    return DepthTable(
        columns=columns,
        values=np.array([value for _, _, value in flat], dtype=np.float64),
        column_of=np.array([at for _, at, _ in flat], dtype=np.intp),
        block_of=np.array([block for block, _, _ in flat], dtype=np.intp),
        paired=paired,
        samples=samples,
        left_out=left_out,
        mean=mean,
        plain=np.full(len(columns), np.nan),
    )


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
class DepthShape:
    """One shape: its weights over the columns, what it is called, where it is low (an uneven one: where it is high)."""

    weights: tuple[float, ...]
    shape: Shape
    place: Place | None = None


def place_words(place: Place) -> str:
    """`50 %`, or `10..30 %`."""
    low, high = (f"{end:g}" for end in place)
    return f"{low} %" if low == high else f"{low}..{high} %"


@lru_cache(maxsize=64)
def templates(columns: tuple[DepthColumn, ...]) -> tuple[tuple[DepthShape, ...], tuple[DepthShape, ...]]:
    """Return the named shapes and the scanned ones; none twice, none that is the same at every depth."""
    return tuple(_telling(_named(columns))), tuple(_telling(_scanned(columns)))


def weights_of(found: Sequence[DepthShape]) -> Floats:
    """The weights of templates, (columns, templates)."""
    return np.array([each.weights for each in found], dtype=np.float64).T


def _telling(found: Iterator[DepthShape]) -> Iterator[DepthShape]:
    return (each for each in found if len(set(each.weights)) > 1)


def _named(columns: Sequence[DepthColumn]) -> Iterator[DepthShape]:
    depths = [column.depth for column in columns]
    early, late = [depth <= EARLY for depth in depths], [depth >= LATE for depth in depths]
    if any(early):
        yield DepthShape(tuple(map(float, early)), "primacy")
    if any(late):
        yield DepthShape(tuple(map(float, late)), "recency")
    if depths[0] <= FIRST and depths[-1] >= LAST:
        yield DepthShape(tuple(float(depth <= FIRST or depth >= LAST) for depth in depths), "lost in the middle")
    yield from _slopes(depths)


def _slopes(depths: Sequence[float]) -> Iterator[DepthShape]:
    yield DepthShape(tuple(abs(depth - 50) for depth in depths), "lost in the middle")
    yield DepthShape(tuple(depths), "rising")
    yield DepthShape(tuple(-depth for depth in depths), "falling")


def _scanned(columns: Sequence[DepthColumn]) -> Iterator[DepthShape]:
    """Every run of neighbouring depths as a hole, and inside the document as a peak too."""
    count = len(columns)
    for first in range(count):
        for last in range(first, count):
            if last - first + 1 == count:
                continue
            place = columns[first].low, columns[last].high
            inside = [first <= at <= last for at in range(count)]
            yield DepthShape(tuple(float(not each) for each in inside), _hole(columns, first, last), place)
            if first > 0 and last < count - 1:
                yield DepthShape(tuple(map(float, inside)), "uneven", place)
    yield from _slopes([column.depth for column in columns])


def _hole(columns: Sequence[DepthColumn], first: int, last: int) -> Shape:
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
