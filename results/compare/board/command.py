"""`needlework leaderboard RUN...|FOLDER`: models beside each other, ranked where they were asked the same."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from os.path import commonpath
from pathlib import Path

from needlework.haystack_fixtures.command_line import OneLineParser, refuse
from needlework.haystack_fixtures.errors import InputError
from needlework.results.compare.board.candidates import candidates_of
from needlework.results.compare.board.collect import collect
from needlework.results.compare.board.files import write_boards
from needlework.results.statistics.board.boards import Board, boards_of
from needlework.results.statistics.comparison.identity import weights_lines
from needlework.results.style.text import one_line
from needlework.results.tables.board import board_head, board_notes, board_row, board_title
from needlework.results.tables.columns import aligned

_SHOWN = 20  # rows of a board in a terminal


def main(argv: Sequence[str]) -> int:
    """Run the command; returns the exit code: 0, or 2 after one line about what was wrong."""
    options = _parser().parse_args(argv)
    try:
        _leaderboard(options)
    except InputError as error:
        return refuse("leaderboard", error)
    except BrokenPipeError:
        raise  # whoever read our output has seen enough
    except OSError as error:
        return refuse("leaderboard", InputError("file", error.filename or "output", error.strerror or str(error)))
    return 0


def place_of(runs: Sequence[Path], name: str) -> Path:
    """The folder to write to where none was given: beside the runs, or in the folder of runs."""
    if len(runs) == 1:
        return runs[0] / name if runs[0].is_dir() else runs[0].parent / name
    return Path(commonpath([path.resolve().parent for path in runs])) / name


def _leaderboard(options: argparse.Namespace) -> None:
    found = collect(options.runs)
    folder = options.out or place_of(options.runs, "leaderboard")
    newest = found.from_folder and not options.every_run
    candidates, left_out = candidates_of(found.runs, folder, newest=newest)
    boards = boards_of(candidates)
    shown = {each.run for each in candidates}
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
