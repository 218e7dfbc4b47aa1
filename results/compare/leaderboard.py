"""`needlework leaderboard`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from os.path import commonpath
from pathlib import Path

from needlework.core.errors import InputError, OneLineParser, run_command
from needlework.core.files import write_whole
from needlework.results.compare.collect import collect, models_of
from needlework.results.files.csv_files import table_text
from needlework.results.html.boards import board_html
from needlework.results.pictures.files import write_charts
from needlework.results.report.chart import chart_name
from needlework.results.report.charts import score_lines
from needlework.results.statistics.comparison.many_runs import ComparedRun
from needlework.results.statistics.comparison.provenance import weights_lines
from needlework.results.statistics.leaderboard.boards import Board, BoardRow, boards_of
from needlework.results.style import one_line
from needlework.results.tables.leaderboard import board_head, board_notes, board_row, board_title
from needlework.results.tables.terminal import aligned, table

_SHOWN = 20  # rows of a board in a terminal


def main(argv: Sequence[str]) -> int:
    """Run the command; returns the exit code: 0, or 2 after one line about what was wrong."""
    options = _parser().parse_args(argv)
    return run_command("leaderboard", lambda: _leaderboard(options))


def place_of(runs: Sequence[Path], name: str) -> Path:
    """The folder to write to where none was given: beside the runs, or in the folder of runs."""
    if len(runs) == 1:
        return runs[0] / name if runs[0].is_dir() else runs[0].parent / name
    return Path(commonpath([path.resolve().parent for path in runs])) / name


def _leaderboard(options: argparse.Namespace) -> int:
    found = collect(options.runs)
    folder = options.out or place_of(options.runs, "leaderboard")
    newest = found.from_folder and not options.every_run
    runs, left_out = models_of(found.runs, folder, newest=newest)
    boards = boards_of(runs)
    shown = {each.run for each in runs}
    same = weights_lines({run.name: run.manifest for run in found.runs if run.name in shown})
    notes = [*same, *_apart(boards), *left_out, *found.faults]
    if not boards:
        raise InputError("RUN", ", ".join(map(str, options.runs)), "; ".join(notes) or "no run has trials")
    for board in boards:
        print(*_lines(board), "", sep="\n")
    if notes:
        print(*map(one_line, notes), "", sep="\n")
    title = options.title or "Leaderboard"
    for path in write_boards(boards, folder, title=one_line(title), notes=notes):
        print(path)
    return 0


def _lines(board: Board) -> list[str]:
    rows = [board_row(board, row) for row in board.rows[:_SHOWN]]
    more = [f"and {len(board.rows) - _SHOWN:,} more, in report.html"] * (len(board.rows) > _SHOWN)
    return [one_line(board_title(board)), *aligned([board_head(board), *rows], names=2), *more, *board_notes(board)]


def _apart(boards: Sequence[Board]) -> list[str]:
    """Tasks that not all models were asked alike: told, as their boards cannot be read together."""
    tasks = [board.task for board in boards]
    return [
        f"{task} was asked in {tasks.count(task)} ways (other cells, texts, prompts or scorers), which are ranked apart"
        for task in dict.fromkeys(tasks)
        if tasks.count(task) > 1
    ]


def _parser() -> argparse.ArgumentParser:
    parser = OneLineParser(
        prog="needlework leaderboard",
        description="Models beside each other, grouped by task: score over length with intervals, effective length,"
        " tokens and seconds, and ranks that say no more than paired tests do. Writes report.html, leaderboard.csv,"
        " leaderboard.md and pictures.",
        epilog="Only runs that asked the same cells are ranked together. Of a FOLDER the newest run of each model and"
        " its options stands for it.",
    )
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN|FOLDER", help="runs, or folders of runs")
    parser.add_argument("--every-run", action="store_true", help="of a folder show the older runs of a model too")
    parser.add_argument("--title", help="title of the page [Leaderboard]")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where to write [`leaderboard` in the folder of runs]")
    return parser


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
    ranges = (f"range_{end}_{length}" for length in lengths for end in ("low", "high"))
    head = [*_PLAIN, *(f"score_{length}" for length in lengths), *ranges]
    return table_text(
        head, (_values(at, board, row, lengths) for at, board in enumerate(boards, start=1) for row in board.rows)
    )


def markdown_text(boards: Sequence[Board], title: str, notes: Sequence[str]) -> str:
    """The boards as tables of Markdown."""
    lines = [f"# {title}", ""]
    for board in boards:
        rows = [board_row(board, row, every_length=True) for row in board.rows]
        lines += [f"## {board_title(board)}", "", *table(board_head(board, every_length=True), rows), ""]
        lines += [line for note in board_notes(board) for line in (note, "")]
    return "\n".join([*lines, *(f"- {note}" for note in notes)]).rstrip() + "\n"


def _values(number: int, board: Board, row: BoardRow, lengths: Sequence[int]) -> list[object]:
    entry, overall, effective = row.entry, row.entry.overall, row.entry.effective
    score = overall.share
    values = [board.task, number, row.model_run.name, row.model_run.run, *row.ranks, score.value, score.low, score.high]
    values += [entry.counted, *(overall.range or (None, None))]
    values += [overall.trials, overall.n, overall.counts["error"], overall.counts["invalid"]]
    values += [effective.conservative, effective.point, effective.optimistic] if effective else [None] * 3
    values += [entry.prompt_tokens, entry.answer_tokens, *(entry.latency or (None, None))]
    columns = [entry.by_length.get(length) for length in lengths]
    ranges = [end for column in columns for end in (column and column.range) or (None, None)]
    means = [column.mean if column else None for column in columns]
    return [*values, board.differences.get(row.model_run.name), *means, *ranges]


def _picture(board: Board, folder: Path, number: int, boards: Sequence[Board]) -> list[Path]:
    """Score over length of the first models; none where there is one length, or no model to compare."""
    if len(board.lengths) < 2 or len(board.rows) < 2:
        return []
    twice = [each.task for each in boards].count(board.task) > 1
    name = chart_name("scores", board.task, str(number + 1) if twice else "")
    lines = [_line(row) for row in board.rows[:DRAWN]]
    below = "of the answers with a score" if board.has_misses else ""
    more = f", the first {DRAWN} of {len(board.rows)}" if len(board.rows) > DRAWN else ""
    return write_charts(score_lines(lines, name, f"{board.task}: score over length{more}", below), folder)


def _line(row: BoardRow) -> ComparedRun:
    return ComparedRun(row.model_run.name, row.entry.overall, row.entry.by_length)
