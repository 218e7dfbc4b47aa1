"""The table that depth effects are tested on, and the shapes that are looked for in it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from needlework.results.records.samples import grouped
from needlework.results.statistics.intervals import Floats
from needlework.results.statistics.panels import ScoredTrial

_FEW = 100  # samples, below which random depths have five bins, else ten
_BINS_FEW, _BINS = 5, 10


class DepthColumn(Struct, frozen=True):
    """A tested depth, or a bin of random ones: its middle and its ends, percent."""

    depth: float
    low: float
    high: float


class DepthTable(Struct, frozen=True):
    """Scores at depths. If depth did not matter, all orders of scores in a block would be as likely."""

    columns: tuple[DepthColumn, ...]
    values: Floats  # of blocks one after another
    column_of: NDArray[np.intp]  # of each value
    block_of: NDArray[np.intp]
    paired: bool  # a block is one sample, its values are means over lengths; else one length, with single scores
    samples: int  # with a part in it
    left_out: int  # (length, sample) without
    mean: float | None  # of all scores at depths, 0..1; `None` without any
    plain: Floats  # mean of all scores at each column's depths, as tables of depths have it; NaN without any


Block = list[tuple[int, float]]
"""Column and value of each score of a block."""
_Rows = dict[tuple[int, int], dict[float, float]]
"""By length and sample: depth (percent) to mean score."""


def depth_table(trials: Iterable[ScoredTrial]) -> DepthTable:
    """Return the table of one panel's trials; those without a depth or a score have no part in it.

    A sample that is asked at one depth only at every length is of random depths. If any is asked at more, those
    (length, sample) alone are used. Before its lengths are averaged, each row is moved to a mean of zero: where a score
    is missing at a length, that length's own level does not shift the depths that are there.
    """
    scores: dict[tuple[int, int], dict[float, list[float]]] = {}
    by_depth: dict[float, list[float]] = {}
    for trial in trials:
        if trial.depth is not None:
            cell = scores.setdefault((trial.length, trial.sample), {}).setdefault(trial.depth, [])
            if trial.score is not None:
                cell.append(trial.score)
                by_depth.setdefault(trial.depth, []).append(trial.score)
    # A question that is asked over several orders of its documents is one sample: its mean.
    rows = {at: {depth: fmean(scores[at][depth]) for depth in sorted(scores[at]) if scores[at][depth]}
            for at in sorted(scores)}  # fmt: skip
    several = {at: row for at, row in rows.items() if len(row) > 1}
    paired = bool(several) or all(len(row) > 1 for row in scores.values())
    used = several if paired else {at: row for at, row in rows.items() if row}
    columns, blocks = _paired(used) if paired else _binned(used)
    plain: list[list[float]] = [[] for _ in columns]
    for depth, values in by_depth.items():
        column = next((at for at, each in enumerate(columns) if each.low <= depth <= each.high), None)
        if column is not None:
            plain[column] += values
    flat = [(block, column, value) for block, cells in enumerate(blocks) for column, value in cells]
    return DepthTable(
        columns=columns,
        values=np.array([value for _, _, value in flat], dtype=np.float64),
        column_of=np.array([column for _, column, _ in flat], dtype=np.intp),
        block_of=np.array([block for block, _, _ in flat], dtype=np.intp),
        paired=paired,
        samples=len({sample for _, sample in used}),
        left_out=len(rows) - len(used),
        mean=fmean(score for values in by_depth.values() for score in values) if by_depth else None,
        plain=np.array([fmean(values) if values else np.nan for values in plain], dtype=np.float64),
    )


def _paired(rows: _Rows) -> tuple[tuple[DepthColumn, ...], list[Block]]:
    depths = sorted({depth for row in rows.values() for depth in row})
    blocks = []
    for _, of_sample in sorted(grouped(rows.items(), lambda item: item[0][1]).items()):
        centred = [{depth: score - fmean(row.values()) for depth, score in row.items()} for _, row in of_sample]
        cells = [(at, [row[depth] for row in centred if depth in row]) for at, depth in enumerate(depths)]
        blocks.append([(at, fmean(scores)) for at, scores in cells if scores])
    return tuple(DepthColumn(depth, depth, depth) for depth in depths), blocks


def _binned(rows: _Rows) -> tuple[tuple[DepthColumn, ...], list[Block]]:
    trials = [(length, sample, *next(iter(row.items()))) for (length, sample), row in rows.items()]
    depths = sorted({depth for _, _, depth, _ in trials})
    columns = _bins(depths, len(trials))
    bin_of = {depth: next(at for at, each in enumerate(columns) if depth <= each.high or at == len(columns) - 1)
              for depth in depths}  # fmt: skip
    samples = len({sample for _, sample, _, _ in trials})
    if len({(sample, depth) for _, sample, depth, _ in trials}) == samples < len(trials):
        # Asked at one depth at all its lengths, a sample brings its luck to all of them: it counts once.
        return columns, [_levelled(trials, bin_of)]
    by_length = grouped(trials, lambda trial: trial[0])
    return columns, [
        sorted((bin_of[depth], score) for _, _, depth, score in by_length[length]) for length in sorted(by_length)
    ]


def _levelled(trials: Sequence[tuple[int, int, float, float]], bin_of: Mapping[float, int]) -> Block:
    """Bin and mean score (0..1) of each sample and depth, as if all lengths were equally hard."""
    overall = fmean(score for *_, score in trials)
    lengths = grouped(trials, lambda trial: trial[0]).items()
    shift = {length: overall - fmean(score for *_, score in column) for length, column in lengths}
    by_sample: dict[tuple[int, float], list[float]] = {}
    for length, sample, depth, score in trials:
        by_sample.setdefault((sample, depth), []).append(score + shift[length])
    return sorted((bin_of[depth], min(1.0, max(0.0, fmean(scores)))) for (_, depth), scores in by_sample.items())


def _bins(depths: Sequence[float], samples: int) -> tuple[DepthColumn, ...]:
    """A few depths are columns by themselves; many are put into equal bins."""
    count = _BINS_FEW if samples < _FEW else _BINS
    if len(depths) <= count + 1:
        return tuple(DepthColumn(depth, depth, depth) for depth in depths)
    width = 100 / count
    return tuple(DepthColumn((at + 0.5) * width, at * width, (at + 1) * width) for at in range(count))


Shape = Literal[
    "lost in the middle", "primacy", "recency", "falling", "rising", "hole", "uneven",
    "flat", "ceiling", "floor", "undetermined",
]  # fmt: skip
DepthRange = tuple[float, float]

EARLY, LATE = 20.0, 80.0  # percent: the first and the last fifth
FIRST, LAST = 10.0, 90.0  # the ends
MIDDLE = (40.0, 60.0)
_BEGINNING, _ENDING = 35.0, 65.0  # a cut before the one is primacy, after the other a hole at the end
_MIDDLE_SHARE = 2 / 3


class DepthShape(Struct, frozen=True):
    """One shape: its weights over the columns, its name, its low (an uneven one's high) range."""

    weights: tuple[float, ...]
    shape: Shape
    place: DepthRange | None = None


def depth_range_words(span: DepthRange) -> str:
    """`50 %`, or `10..30 %`."""
    low, high = (f"{end:g}" for end in span)
    return f"{low} %" if low == high else f"{low}..{high} %"


def templates(columns: tuple[DepthColumn, ...]) -> tuple[tuple[DepthShape, ...], tuple[DepthShape, ...]]:
    """Return the named shapes and the scanned ones; none twice, none that is the same at every depth."""
    named, scanned = (
        tuple(each for each in shapes if len(set(each.weights)) > 1) for shapes in (_named(columns), _scanned(columns))
    )
    return named, scanned


def _named(columns: Sequence[DepthColumn]) -> Iterator[DepthShape]:
    depths = [column.depth for column in columns]
    if depths[0] <= EARLY:
        yield DepthShape(tuple(float(depth <= EARLY) for depth in depths), "primacy")
    if depths[-1] >= LATE:
        yield DepthShape(tuple(float(depth >= LATE) for depth in depths), "recency")
    if depths[0] <= FIRST and depths[-1] >= LAST:
        yield DepthShape(tuple(float(depth <= FIRST or depth >= LAST) for depth in depths), "lost in the middle")
    yield from _slopes(depths)


def _slopes(depths: Sequence[float]) -> Iterator[DepthShape]:
    yield DepthShape(tuple(abs(depth - 50) for depth in depths), "lost in the middle")
    yield DepthShape(tuple(depths), "rising")
    yield DepthShape(tuple(-depth for depth in depths), "falling")


def _scanned(columns: Sequence[DepthColumn]) -> Iterator[DepthShape]:
    """The scanned shapes: every run of neighbouring depths as a hole, and inside as a peak too."""
    count = len(columns)
    for first in range(count):
        for last in range(first, min(count, count - 1 + first)):
            span = columns[first].low, columns[last].high
            inside = [first <= at <= last for at in range(count)]
            yield DepthShape(tuple(float(not each) for each in inside), _hole(columns, first, last), span)
            if first > 0 and last < count - 1:
                yield DepthShape(tuple(map(float, inside)), "uneven", span)
    yield from _slopes([column.depth for column in columns])


def _hole(columns: Sequence[DepthColumn], first: int, last: int) -> Shape:
    """The name of a hole from column `first` to `last`."""
    if last == len(columns) - 1:
        if columns[first - 1].depth <= _BEGINNING:
            return "primacy"
        return "hole" if columns[first].depth >= _ENDING else "falling"
    if first == 0:
        if columns[last + 1].depth >= _ENDING:
            return "recency"
        return "hole" if columns[last].depth <= _BEGINNING else "rising"
    middle = [at for at, column in enumerate(columns) if MIDDLE[0] <= column.depth <= MIDDLE[1]]
    covered = sum(first <= at <= last for at in middle)
    return "lost in the middle" if middle and covered >= _MIDDLE_SHARE * len(middle) - 1e-9 else "hole"
