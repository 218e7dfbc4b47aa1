"""The files of a leaderboard: the page, a table for programs, one for READMEs, and a picture of each board."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from needlework.haystack_fixtures.grid.cells import slug
from needlework.haystack_fixtures.writing.whole_files import write_whole
from needlework.results.files.csv_file import safe_cell
from needlework.results.html.board import board_html
from needlework.results.pictures.score_lines import write_score_lines
from needlework.results.statistics.board.boards import Board, Row
from needlework.results.statistics.comparison.several import Against, Scores
from needlework.results.statistics.intervals.score import Interval
from needlework.results.tables.board import board_head, board_notes, board_row, board_title
from needlework.results.tables.markdown import table

DRAWN = 7  # lines that a picture can hold apart
_PLAIN = (
    "task",
    "board",
    "model",
    "run",
    "rank_best",
    "rank_worst",
    "score",
    "low",
    "high",
    "score_with_misses",
    "range_low",
    "range_high",
    "trials",
    "scored",
    "errors",
    "invalid",
    "effective_at_least",
    "effective_by_scores",
    "effective_at_most",
    "prompt_tokens",
    "answer_tokens",
    "latency_median_s",
    "latency_p95_s",
    "asked_otherwise",
)


def write_boards(boards: Sequence[Board], folder: Path, *, title: str, notes: Sequence[str]) -> list[Path]:
    """Write report.html, leaderboard.csv, leaderboard.md and scores-TASK.png and .svg; return their paths."""
    pictures = {number: _picture(board, folder, number, boards) for number, board in enumerate(boards)}
    drawn = [next((path.read_bytes() for path in pictures[at] if path.suffix == ".png"), None) for at in pictures]
    write_whole(folder / "report.html", board_html(boards, drawn, title=title, notes=notes).encode())
    write_whole(folder / "leaderboard.csv", csv_text(boards).encode())
    write_whole(folder / "leaderboard.md", markdown_text(boards, title, notes).encode())
    names = ("report.html", "leaderboard.csv", "leaderboard.md")
    return [*(folder / name for name in names), *(path for number in pictures for path in pictures[number])]


def csv_text(boards: Sequence[Board]) -> str:
    """One row for each model on each board: scores 0..1, lengths in tokens, tokens of a trial, seconds; then the score
    at each length, and its range where answers are undecided: all of them missed, and all hit.
    """
    lengths = sorted({length for board in boards for length in board.lengths})
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    ranges = (f"range_{end}_{length}" for length in lengths for end in ("low", "high"))
    writer.writerow([*_PLAIN, *(f"score_{length}" for length in lengths), *ranges])
    for number, board in enumerate(boards, start=1):
        for row in board.rows:
            writer.writerow([safe_cell(value) for value in _values(number, board, row, lengths)])
    return out.getvalue()


def markdown_text(boards: Sequence[Board], title: str, notes: Sequence[str]) -> str:
    """The boards as tables of Markdown."""
    lines = [f"# {title}", ""]
    for board in boards:
        rows = [board_row(board, row, every_length=True) for row in board.rows]
        lines += [f"## {board_title(board)}", "", *table(board_head(board, every_length=True), rows), ""]
        lines += [line for note in board_notes(board) for line in (note, "")]
    return "\n".join([*lines, *(f"- {note}" for note in notes)]).rstrip() + "\n"


def _values(number: int, board: Board, row: Row, lengths: Sequence[int]) -> list[object]:
    own = [board.task, number, row.who.name, row.who.run, *row.ranks, row.mean, row.low, row.high, row.counted]
    own += row.range or (None, None)
    entry, otherwise = row.entry, board.otherwise.get(row.who.name)
    if entry is None:
        return [*own, *[None] * (len(_PLAIN) - len(own) - 1), otherwise, *[None] * 3 * len(lengths)]
    effective = entry.effective[:3] if entry.effective else (None, None, None)
    means = {length: mean for length, _, _, mean, _, _ in entry.by_length}
    ranges = {each[0]: ends for each, ends in zip(entry.by_length, entry.ranges, strict=True)}
    within = [end for length in lengths for end in ranges.get(length) or (None, None)]
    seconds = entry.latency or (None, None)
    failed = [entry.outcomes.get(outcome, 0) for outcome in ("error", "invalid")]
    told = (entry.trials, entry.n, *failed, *effective, entry.prompt_tokens, entry.answer_tokens, *seconds, otherwise)
    return [*own, *told, *(means.get(length) for length in lengths), *within]


def _picture(board: Board, folder: Path, number: int, boards: Sequence[Board]) -> list[Path]:
    """Score over length of the first models; none where there is one length, or no model to compare."""
    if len(board.lengths) < 2 or len(board.rows) < 2:
        return []
    twice = [each.task for each in boards].count(board.task) > 1
    stem = folder / f"scores-{slug(board.task)}{f'-{number + 1}' if twice else ''}"
    lines = [_line(row) for row in board.rows[:DRAWN]]
    below = "of the answers with a score" if board.has_misses else ""
    more = f", the first {DRAWN} of {len(board.rows)}" if len(board.rows) > DRAWN else ""
    return write_score_lines(lines, stem, title=f"{board.task}: score over length{more}", below=below)


def _line(row: Row) -> Against:
    assert row.entry is not None
    lengths = {
        length: Scores(trials, n, mean, None if low is None or high is None else Interval(low, high, 0))
        for length, trials, n, mean, low, high in row.entry.by_length
    }
    return Against(row.who.name, Scores(row.entry.trials, row.entry.n, row.mean, None), lengths)
