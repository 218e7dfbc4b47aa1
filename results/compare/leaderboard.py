"""`needlework leaderboard`: models beside each other, ranked."""

import argparse
from collections.abc import Mapping, Sequence
from os.path import commonpath
from pathlib import Path

from needlework.core.errors import InputError, OneLineParser, run_command
from needlework.core.files import write_whole
from needlework.results.compare.collect import collect_models
from needlework.results.files.csv_files import table_text
from needlework.results.files.json_files import fields_of, share_object
from needlework.results.html.comparison import sections_html
from needlework.results.pictures.files import write_charts
from needlework.results.report.boards import board_sections
from needlework.results.report.section import GLOSSARY, Section, section_lines
from needlework.results.statistics.leaderboard import Board, ModelRun, Ranks, boards_of
from needlework.results.style import one_line
from needlework.results.tables.terminal import table


def main(argv: Sequence[str]) -> int:
    """Run the command; returns the exit code: 0, or 2 after one line about what was wrong."""
    options = _parser().parse_args(argv)
    return run_command("leaderboard", lambda: _leaderboard(options))


def output_folder(runs: Sequence[Path], name: str) -> Path:
    """The folder to write to by default: beside the runs, or in the folder of runs."""
    if len(runs) == 1:
        return runs[0] / name if runs[0].is_dir() else runs[0].parent / name
    return Path(commonpath([path.resolve().parent for path in runs])) / name


def _leaderboard(options: argparse.Namespace) -> None:
    folder = options.out or output_folder(options.runs, "leaderboard")
    runs, left_out = collect_models(options.runs, folder, every_run=options.every_run)
    boards = boards_of(runs)
    tasks = [board.task for board in boards]
    several = [
        f"{task} was asked in {tasks.count(task)} ways (other cells, texts, prompts or scorers), which are ranked apart"
        for task in dict.fromkeys(tasks)
        if tasks.count(task) > 1
    ]
    notes = [one_line(note) for note in (*several, *left_out)]
    if not boards:
        raise InputError("RUN", ", ".join(map(str, options.runs)), "; ".join(notes) or "no run has trials")
    sections, title = board_sections(boards), one_line(options.title or "Leaderboard")
    markdown = _markdown(sections, title, notes)
    further = {"leaderboard.csv": csv_text(boards).encode(), "leaderboard.md": markdown.encode()}
    show_sections(sections, folder, further, title=title, lead=GLOSSARY["leads"]["leaderboard"], notes=notes)


def show_sections(
    sections: Sequence[Section],
    folder: Path,
    further: Mapping[str, bytes],
    *,
    title: str,
    lead: str,
    notes: Sequence[str],
) -> None:
    """Print sections, and write them as report.html with their pictures; `further`: other files by name."""
    print(*section_lines(sections), "", *notes, *[""] * bool(notes), sep="\n")
    files = {"report.html": sections_html(sections, title=title, lead=lead, notes=notes).encode(), **further}
    for name, content in files.items():
        write_whole(folder / name, content)
    pictures = write_charts([chart for section in sections for chart in section.charts], folder)
    print(*(folder / name for name in files), *pictures, sep="\n")


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


def _markdown(sections: Sequence[Section], title: str, notes: Sequence[str]) -> str:
    lines = [f"# {title}", ""]
    for section in sections:
        lines += [f"## {section.title}", ""]
        lines += [line for each in section.tables for line in (*table(each.head, each.rows), "")]
        lines += [line for note in section.notes for line in (note, "")]
    return "\n".join([*lines, *(f"- {note}" for note in notes)]).rstrip() + "\n"


def csv_text(boards: Sequence[Board]) -> str:
    """One row for each model on each board: scores 0..1, lengths in tokens, tokens of a trial, seconds.
    Then the score at each length; its range where answers are undecided: all of them missed, and all hit."""
    lengths = sorted({length for board in boards for length in board.first.by_length})
    numbered = [(number, board, *row) for number, board in enumerate(boards, start=1) for row in board.rows]
    rows = [_csv_row(*row, lengths) for row in numbered]
    return table_text(rows[0], (row.values() for row in rows))


def _csv_row(number: int, board: Board, run: ModelRun, ranks: Ranks, lengths: Sequence[int]) -> dict[str, object]:
    entry = run.entries[board.task]
    overall, effective, columns = entry.overall, entry.effective, entry.by_length
    ends, latency = overall.range or (None, None), entry.latency
    row: dict[str, object] = {
        "task": board.task,
        "board": number,
        "model": run.name,
        "run": run.run,
        "rank_best": ranks[0],
        "rank_worst": ranks[1],
        **share_object(overall.share),
        "score_with_misses": entry.counted,
        "range_low": ends[0],
        "range_high": ends[1],
        "trials": overall.trials,
        "scored": overall.n,
        "errors": overall.counts["error"],
        "invalid": overall.counts["invalid"],
        "area": entry.area.value,
        "area_low": entry.area.low,
        "area_high": entry.area.high,
        "effective_at_least": effective and effective.conservative,
        "effective_by_scores": effective and effective.point,
        "effective_at_most": effective and effective.optimistic,
        **fields_of(entry, "prompt_tokens", "answer_tokens"),
        "latency_median_s": latency and latency.median,
        "latency_p95_s": latency and latency.p95,
        "dollars": entry.dollars,
        "asked_otherwise": board.differences.get(run.name),
    }
    row |= {f"score_{length}": columns[length].mean if length in columns else None for length in lengths}
    for length in lengths:
        low, high = (length in columns and columns[length].range) or (None, None)
        row |= {f"range_low_{length}": low, f"range_high_{length}": high}
    return row
