"""A series of runs in words: a row for each run, and its changes."""

from __future__ import annotations

from needlework.results.statistics.board.changes import Change, needed_samples
from needlework.results.statistics.board.series import Point, Series
from needlework.results.style.text import counted, length_labels, percent1
from needlework.results.tables.board import (
    SECONDS,
    effective_words,
    failed_words,
    length_cells,
    score_cell,
    seconds_words,
    with_failed,
)
from needlework.results.tables.columns import NONE
from needlework.results.tables.comparison import p_words, points1

_MOST = 6  # lengths that have a column of their own


def series_title(series: Series) -> str:
    """`smollm2 · niah: 4 runs of 36 trials of 12 samples`."""
    return f"{_name(series)}: {size_words(series)}"


def size_words(series: Series) -> str:
    """`4 runs of 36 trials of 12 samples`."""
    first = series.points[0].entry
    trials, samples = counted(first.trials, "trial"), counted(series.samples, "sample")
    return f"{counted(len(series.points), 'run')} of {trials} of {samples}"


def series_sentence(series: Series) -> str:
    """The title of its picture: `smollm2 · niah fell by 37.0 points between step 2000 and step 3000`."""
    if not series.changes:
        return f"{_name(series)}: no change is shown"
    if len(series.changes) > 1:
        return f"{_name(series)} changed {len(series.changes)} times"
    (change,) = series.changes
    verb, where = _where(series, change)
    return f"{_name(series)} {verb} by {points1(abs(change.after - change.before)).lstrip('+')} points {where}"


def _name(series: Series) -> str:
    return " · ".join(part for part in (series.model, series.task) if part)


def _where(series: Series, change: Change) -> tuple[str, str]:
    first, last = (series.names[at] for at in (change.first, change.last))
    return "fell" if change.is_fall else "rose", f"between {first} and {last}"


def series_head(series: Series) -> tuple[str, ...]:
    """The columns of a series."""
    lengths = [length for length, *_ in series.points[0].entry.by_length]
    labels = length_labels(lengths) if 1 < len(lengths) <= _MOST else ()
    effective = ["effective length (95 %)"] if len(lengths) > 1 else []
    return ("when", "run", "score % (95 %)", *labels, *effective, SECONDS)


def series_row(point: Point) -> tuple[str, ...]:
    """A row in the order of `series_head`."""
    entry = point.entry
    count = len(entry.by_length)
    means = length_cells(entry)
    seconds = NONE if entry.latency is None else seconds_words(entry.latency[0])
    effective = [effective_words(entry)] if count > 1 else []
    run = with_failed(point.who.run, [entry])
    return (point.place, run, score_cell(entry), *(means if 1 < count <= _MOST else []), *effective, seconds)


def change_words(series: Series, change: Change) -> str:
    """`fell between step 2000 and step 3000, from 92.6 to 55.6 % (-37.0 points; p 0.002, Holm)`."""
    likely = "" if change.last - change.first == 1 else f", most likely at {series.names[change.at]}"
    scores = f"from {percent1(change.before)} to {percent1(change.after)} %"
    points = points1(change.after - change.before)
    return f"{' '.join(_where(series, change))}{likely}, {scores} ({points} points; p {p_words(change.p)}, Holm)"


def series_lines(series: Series) -> list[str]:
    """What is to be said of its changes."""
    undecided = sum(int(point.entry.undecided.sum()) for point in series.points)
    as_misses = [f"{counted(undecided, 'undecided answer')}, cut off or unclear, counted as misses"] * (undecided > 0)
    failed = failed_words(point.entry for point in series.points)
    as_misses += [f"{failed}: counted as misses where another run answered"] * bool(failed)
    if series.changes:
        return [*(change_words(series, change) for change in series.changes), *as_misses]
    needed = needed_samples(len(series.points))
    few = f"; {needed} samples are the fewest that could show one" if series.samples < needed else ""
    return [f"no change is shown{few}", *as_misses]
