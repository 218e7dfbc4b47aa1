"""A series of runs in words: a row for each run, and its changes."""

from __future__ import annotations

from needlework.results.statistics.board.changes import Change, needed_samples
from needlework.results.statistics.board.series import Point, Series
from needlework.results.style.text import length_labels, percent1
from needlework.results.tables.board import effective_words
from needlework.results.tables.columns import NONE
from needlework.results.tables.comparison import p_words, points1

_MOST = 6  # lengths that have a column of their own


def series_title(series: Series) -> str:
    """`smollm2 · niah: 4 runs of 36 trials of 12 samples`."""
    first = series.points[0].entry
    name = " · ".join(part for part in (series.model, series.task) if part)
    return f"{name}: {len(series.points):,} runs of {first.trials:,} trials of {series.samples:,} samples"


def series_head(series: Series) -> tuple[str, ...]:
    """The columns of a series."""
    lengths = [length for length, *_ in series.points[0].entry.by_length]
    labels = length_labels(lengths) if 1 < len(lengths) <= _MOST else ()
    effective = ["effective length (95 %)"] if len(lengths) > 1 else []
    return ("when", "run", "score % (95 %)", *labels, *effective, "seconds")


def series_row(point: Point) -> tuple[str, ...]:
    """A row in the order of `series_head`."""
    entry = point.entry
    ends = "" if entry.low is None or entry.high is None else f" ({percent1(entry.low)}–{percent1(entry.high)})"
    score = NONE if entry.mean is None else f"{percent1(entry.mean)}{ends}"
    count = len(entry.by_length)
    means = [NONE if mean is None else percent1(mean) for _, _, _, mean, _, _ in entry.by_length]
    seconds = NONE if entry.latency is None else f"{entry.latency[0]:.3g}"
    effective = [effective_words(entry)] if count > 1 else []
    return (point.place, point.who.run, score, *(means if 1 < count <= _MOST else []), *effective, seconds)


def change_words(series: Series, change: Change) -> str:
    """`fell between step 2000 and step 3000, from 92.6 to 55.6 % (-37.0 points; p 0.002, Holm)`."""
    verb = "fell" if change.is_fall else "rose"
    first, last = (series.points[at].place for at in (change.first, change.last))
    likely = "" if change.last - change.first == 1 else f", most likely at {series.points[change.at].place}"
    scores = f"from {percent1(change.before)} to {percent1(change.after)} %"
    points = points1(change.after - change.before)
    return f"{verb} between {first} and {last}{likely}, {scores} ({points} points; p {p_words(change.p)}, Holm)"


def series_lines(series: Series) -> list[str]:
    """What is to be said of its changes."""
    if series.changes:
        return [change_words(series, change) for change in series.changes]
    needed = needed_samples(len(series.points))
    few = f"; {needed} samples are the fewest that could show one" if series.samples < needed else ""
    return [f"no change is shown{few}"]
