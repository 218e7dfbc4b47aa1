"""A board in words: one row for each model, for terminals, Markdown and the page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from needlework.results.statistics.board.boards import Board, Row
from needlework.results.statistics.board.entry import Entry
from needlework.results.statistics.board.ranks import Ranks, needed_samples
from needlework.results.style.text import counted, length_labels, percent1
from needlework.results.tables.columns import NONE
from needlework.results.tables.headline import range_words

_MOST = 6  # lengths that have a column of their own in a terminal
_TOLD = 5  # models that were asked otherwise
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


def board_row(board: Board, row: Row, *, every_length: bool = False) -> tuple[str, ...]:
    """A row in the order of `board_head`: tokens and seconds are of a trial, on average and in the median."""
    entry = row.entry
    name = f"{row.who.name} *" if row.who.name in board.otherwise else row.who.name
    named = with_failed(name, row.who.entries.values() if entry is None else [entry])
    cells = [rank_words(row.ranks), named, score_cell(row)]
    if board.has_misses:
        cells.append(percent1(row.counted))
    if entry is None:
        return tuple(cells)
    if _lengths(board, every_length):
        cells += length_cells(entry)
    if len(board.lengths) > 1:
        cells.append(effective_words(entry))
    seconds = [NONE, NONE] if entry.latency is None else [seconds_words(value) for value in entry.latency]
    return (*cells, _tokens(entry.prompt_tokens), _tokens(entry.answer_tokens), *seconds)


def with_failed(name: str, entries: Iterable[Entry]) -> str:
    """`name (8 errors, 2 invalid)`; the name alone where no trial failed."""
    failed = failed_words(entries)
    return f"{name} ({failed})" if failed else name


def failed_words(entries: Iterable[Entry]) -> str:
    """`8 errors, 2 invalid`; empty where no trial failed."""
    told = [entry.outcomes for entry in entries]
    errors, invalid = (sum(outcomes.get(name, 0) for outcomes in told) for name in ("error", "invalid"))
    return ", ".join([*[counted(errors, "error")] * (errors > 0), *[f"{invalid:,} invalid"] * (invalid > 0)])


def seconds_words(seconds: float) -> str:
    """`2.31`; less than a thousandth, as of answers that no model computed, is `<0.001`."""
    return f"{seconds:.3g}" if seconds >= 0.001 else "<0.001"


def effective_words(entry: Entry) -> str:
    """The 95 % interval of the effective length: `300 to 600 or more`, `none to 300`."""
    if entry.effective is None:
        return NONE
    low, _, high, _ = entry.effective
    first, last = ("none" if each is None else length_labels([each])[0] for each in (low, high))
    more = " or more" if high is not None and high == entry.by_length[-1][0] else ""
    return f"{last}{more}" if first == last else f"{first} to {last}{more}"


def board_notes(board: Board) -> list[str]:
    """What its ranks rest on, and who was asked otherwise."""
    count = len(board.rows)
    if count < 2:
        return []
    return [*_ties(board, count), *_otherwise(board)]


def _ties(board: Board, count: int) -> list[str]:
    if all(row.ranks == (1, count) for row in board.rows):
        needed = needed_samples(count)
        few = f"; {needed} samples are the fewest that could show any" if board.samples < needed else ""
        return [f"no difference between these {count} is shown: all are tied{few}"]
    return []


def _otherwise(board: Board) -> list[str]:
    if not board.otherwise:
        return []
    told = [f"{name} ({board.otherwise[name]})" for name in sorted(board.otherwise)]
    more = [f"and {len(told) - _TOLD} more"] * (len(told) > _TOLD)
    listed = "; ".join([*told[:_TOLD], *more])
    return [f"* asked in another way than the others here, which may be what differs: {listed}"]


def _lengths(board: Board, every_length: bool) -> Sequence[str]:
    return length_labels(board.lengths) if every_length or 1 < len(board.lengths) <= _MOST else ()


def score_cell(of: Row | Entry) -> str:
    """`87.5 (81.0–92.1)`; `50.4–100, scored 100 (97.0–100)` where answers are undecided: all missed to all hit."""
    mean, low, high = of.mean, of.low, of.high
    ends = "" if low is None or high is None else f" ({percent1(max(0.0, low))}–{percent1(min(1.0, high))})"
    scored = NONE if mean is None else f"{percent1(mean)}{ends}"
    if of.range is None:
        return scored
    return range_words(of.range) if mean is None else f"{range_words(of.range)}, scored {scored}"


def length_cells(entry: Entry) -> list[str]:
    """The score at each length; a range where answers are undecided."""
    means = (mean for _, _, _, mean, _, _ in entry.by_length)
    return [
        range_words(ends) if ends is not None else NONE if mean is None else percent1(mean)
        for mean, ends in zip(means, entry.ranges, strict=True)
    ]


def _tokens(value: float | None) -> str:
    return NONE if value is None else f"{value:,.0f}"
