"""Tables of leaderboards and histories."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from needlework.core.record import UNDECIDED
from needlework.results.statistics.leaderboard.boards import (
    Board,
    BoardRow,
    BoardSeries,
    Ranks,
    ScoreChange,
    SeriesPoint,
    changes_needed_samples,
    needed_samples,
)
from needlework.results.statistics.leaderboard.entries import BoardEntry
from needlework.results.statistics.panels import Tally
from needlework.results.statistics.wording import p_words, points1, range_words
from needlework.results.style import NONE, counted, length_labels, percent1

_MOST = 6  # lengths that have a column of their own in a terminal
_NAMED = 5  # models of which settings differ
RANK = "rank"
SECONDS = "seconds an answer"
SPENT = ("prompt tokens", "answer tokens", SECONDS, "seconds, slowest 5 %")  # of which less is better


def rank_words(ranks: Ranks) -> str:
    """`1`, or `2–5` where nothing shows which."""
    return str(ranks[0]) if ranks[0] == ranks[1] else f"{ranks[0]}–{ranks[1]}"


def board_title(board: Board) -> str:
    """`niah: 12 trials of 6 samples, 300 to 600 tokens, scored by match@4`."""
    parts = [f"{counted(board.trials, 'trial')} of {counted(board.samples, 'sample')}"]
    if board.lengths:
        first, last = length_labels([board.lengths[0], board.lengths[-1]])
        parts.append(f"{first} tokens" if first == last else f"{first} to {last} tokens")
    if board.scorer:
        parts.append(f"scored by {board.scorer}")
    return f"{board.task}: {', '.join(parts)}"


def board_head(board: Board, *, every_length: bool = False) -> tuple[str, ...]:
    """The columns of a board."""
    return (
        RANK,
        "model",
        "score % (95 %)",
        *(["misses counted"] if board.has_misses else []),
        *_lengths(board, every_length),
        *(["effective length (95 %)"] if len(board.lengths) > 1 else []),
        *(SPENT if board.lengths else []),
    )


def board_row(board: Board, row: BoardRow, *, every_length: bool = False) -> tuple[str, ...]:
    """A row in the order of `board_head`: tokens and seconds are of a trial, on average and in the median."""
    entry = row.entry
    name = f"{row.model_run.name} *" if row.model_run.name in board.differences else row.model_run.name
    cells = [rank_words(row.ranks), with_failed(name, [entry]), score_cell(entry.overall)]
    if board.has_misses:
        cells.append(percent1(entry.counted))
    if not board.lengths:
        return tuple(cells)
    if _lengths(board, every_length):
        cells += length_cells(entry)
    if len(board.lengths) > 1:
        cells.append(entry.effective.between if entry.effective else NONE)
    seconds = [NONE, NONE] if entry.latency is None else [seconds_words(value) for value in entry.latency]
    return (*cells, _tokens(entry.prompt_tokens), _tokens(entry.answer_tokens), *seconds)


def with_failed(name: str, entries: Iterable[BoardEntry]) -> str:
    """`name (8 errors, 2 invalid)`; the name alone where no trial failed."""
    failed = failed_words(entries)
    return f"{name} ({failed})" if failed else name


def failed_words(entries: Iterable[BoardEntry]) -> str:
    """`8 errors, 2 invalid`; empty where no trial failed."""
    counts = [entry.overall.counts for entry in entries]
    errors, invalid = sum(count["error"] for count in counts), sum(count["invalid"] for count in counts)
    return ", ".join([*[counted(errors, "error")] * (errors > 0), *[f"{invalid:,} invalid"] * (invalid > 0)])


def seconds_words(seconds: float) -> str:
    """`2.31`; less than a thousandth, as of answers that no model computed, is `<0.001`."""
    return f"{seconds:.3g}" if seconds >= 0.001 else "<0.001"


def board_notes(board: Board) -> list[str]:
    """What its ranks rest on, and which models were asked with other settings."""
    count = len(board.rows)
    if count < 2:
        return []
    return [*_ties(board, count), *_differences(board)]


def _ties(board: Board, count: int) -> list[str]:
    if all(row.ranks == (1, count) for row in board.rows):
        needed = needed_samples(count)
        few = f"; {needed} samples are the fewest that could show any" if board.samples < needed else ""
        return [f"no difference between these {count} is shown: all are tied{few}"]
    return []


def _differences(board: Board) -> list[str]:
    if not board.differences:
        return []
    models = [f"{name} ({board.differences[name]})" for name in sorted(board.differences)]
    more = [f"and {len(models) - _NAMED} more"] * (len(models) > _NAMED)
    listed = "; ".join([*models[:_NAMED], *more])
    return [f"* asked in another way than the others here, which may be what differs: {listed}"]


def _lengths(board: Board, every_length: bool) -> Sequence[str]:
    return length_labels(board.lengths) if every_length or 1 < len(board.lengths) <= _MOST else ()


def score_cell(of: Tally) -> str:
    """`87.5 (81.0–92.1)`; `50.4–100, scored 100 (97.0–100)` where answers are undecided: all missed to all hit."""
    mean, ends = of.mean, of.interval
    interval = f" ({percent1(max(0.0, ends.low))}–{percent1(min(1.0, ends.high))})" if ends else ""
    scored = NONE if mean is None else f"{percent1(mean)}{interval}"
    if of.range is None:
        return scored
    return range_words(of.range) if mean is None else f"{range_words(of.range)}, scored {scored}"


def length_cells(entry: BoardEntry) -> list[str]:
    """The score at each length; a range where answers are undecided."""
    return [
        range_words(at.range) if at.range is not None else NONE if at.mean is None else percent1(at.mean)
        for at in entry.by_length.values()
    ]


def _tokens(value: float | None) -> str:
    return NONE if value is None else f"{value:,.0f}"


def series_title(series: BoardSeries) -> str:
    """`smollm2 · niah: 4 runs of 36 trials of 12 samples`."""
    return f"{_name(series)}: {size_words(series)}"


def size_words(series: BoardSeries) -> str:
    """`4 runs of 36 trials of 12 samples`."""
    first = series.points[0].entry
    trials, samples = counted(first.overall.trials, "trial"), counted(series.samples, "sample")
    return f"{counted(len(series.points), 'run')} of {trials} of {samples}"


def series_sentence(series: BoardSeries) -> str:
    """The title of its picture: `smollm2 · niah fell by 37.0 points between step 2000 and step 3000`."""
    if not series.changes:
        return f"{_name(series)}: no change is shown"
    if len(series.changes) > 1:
        return f"{_name(series)} changed {len(series.changes)} times"
    (change,) = series.changes
    verb, where = _where(series, change)
    return f"{_name(series)} {verb} by {points1(abs(change.after - change.before)).lstrip('+')} points {where}"


def _name(series: BoardSeries) -> str:
    return " · ".join(part for part in (series.model, series.task) if part)


def _where(series: BoardSeries, change: ScoreChange) -> tuple[str, str]:
    first, last = (series.names[at] for at in (change.first, change.last))
    return "fell" if change.is_fall else "rose", f"between {first} and {last}"


def series_head(series: BoardSeries) -> tuple[str, ...]:
    """The columns of a series."""
    lengths = list(series.points[0].entry.by_length)
    labels = length_labels(lengths) if 1 < len(lengths) <= _MOST else ()
    effective = ["effective length (95 %)"] if len(lengths) > 1 else []
    return ("when", "run", "score % (95 %)", *labels, *effective, SECONDS)


def series_row(point: SeriesPoint) -> tuple[str, ...]:
    """A row in the order of `series_head`."""
    entry = point.entry
    count = len(entry.by_length)
    means = length_cells(entry)
    seconds = NONE if entry.latency is None else seconds_words(entry.latency[0])
    effective = [entry.effective.between] if entry.effective else []
    run = with_failed(point.model_run.run, [entry])
    return (point.place, run, score_cell(entry.overall), *(means if 1 < count <= _MOST else []), *effective, seconds)


def change_words(series: BoardSeries, change: ScoreChange) -> str:
    """`fell between step 2000 and step 3000, from 92.6 to 55.6 % (-37.0 points; p 0.002, Holm)`."""
    likely = "" if change.last - change.first == 1 else f", most likely at {series.names[change.at]}"
    scores = f"from {percent1(change.before)} to {percent1(change.after)} %"
    points = points1(change.after - change.before)
    return f"{' '.join(_where(series, change))}{likely}, {scores} ({points} points; p {p_words(change.p)}, Holm)"


def series_lines(series: BoardSeries) -> list[str]:
    """What is to be said of its changes."""
    undecided = sum(point.entry.overall.counts[name] for point in series.points for name in UNDECIDED)
    as_misses = [f"{counted(undecided, 'undecided answer')}, cut off or unclear, counted as misses"] * (undecided > 0)
    failed = failed_words(point.entry for point in series.points)
    as_misses += [f"{failed}: counted as misses"] * bool(failed)
    if series.changes:
        return [*(change_words(series, change) for change in series.changes), *as_misses]
    needed = changes_needed_samples(len(series.points))
    few = f"; {needed} samples are the fewest that could show one" if series.samples < needed else ""
    return [f"no change is shown{few}", *as_misses]
