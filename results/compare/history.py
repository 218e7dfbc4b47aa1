"""`needlework history RUN...|FOLDER`: changes over nightly runs, or checkpoints of a training."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import asdict, replace

from needlework.core.errors import InputError, OneLineParser, run_command
from needlework.results.compare.collect import collect_models, run_time
from needlework.results.compare.leaderboard import output_folder, show_sections
from needlework.results.files.json_files import fields_of, json_bytes, score_object
from needlework.results.report.boards import change_words, series_sections
from needlework.results.report.section import GLOSSARY
from needlework.results.statistics.leaderboard import BoardSeries, series_of
from needlework.results.style import one_line


def main(argv: Sequence[str]) -> int:
    """Run the command; returns the exit code: 0, 1 as `--fail-if` says, or 2 for wrong input."""
    options = _parser().parse_args(argv)
    return run_command("history", lambda: _history(options))


def _history(options: argparse.Namespace) -> int:
    folder = options.out or output_folder(options.runs, "history")
    runs, left_out = collect_models(options.runs, folder, every_run=True)
    timed = [(run_time(options.order, run.folder.name, [run.model], run.manifest), run) for run in runs if not run.why]
    timed.sort(key=lambda pair: (pair[0][0], pair[1].name))
    series = series_of([replace(run, when=when) for (_, when), run in timed], by_model=options.order == "date")
    if not series:
        remedy = "no two whole runs asked the same cells of one model; checkpoints, of other names, take --order step"
        raise InputError("RUN", ", ".join(map(str, options.runs)), remedy)
    sections, title = series_sections(series), one_line(options.title or "History")
    notes = [one_line(note) for note in left_out]
    content = {"schema": 1, "name": title, "notes": notes, "series": [_object(each) for each in series]}
    further = {"history.json": json_bytes(content)}
    show_sections(sections, folder, further, title=title, lead=GLOSSARY["leads"]["history"], notes=notes)
    return int(options.fail_if == "worse" and any(each.changes and each.changes[-1].is_fall for each in series))


def _object(series: BoardSeries) -> dict[str, object]:
    """A series for programs: scores 0..1."""
    return {
        "task": series.task,
        "model": series.model or None,
        "samples": series.samples,
        "runs": [
            {
                **fields_of(run, "when", "run"),
                **score_object(entry.overall),
                "score_with_misses": entry.counted,
                "scored": entry.overall.n,
            }
            for run, entry in zip(series.runs, series.entries, strict=True)
        ],
        "changes": [{**asdict(each), "words": change_words(series, each)} for each in series.changes],
    }


def _parser() -> argparse.ArgumentParser:
    parser = OneLineParser(
        prog="needlework history",
        description="Nightly runs of one model, or checkpoints of a training, in order: score with intervals, and"
        " between which runs it changed. Writes report.html, history.json and a picture of each series.",
        epilog="A change is told where a test on paired samples shows it; any false one in a series: 5 % at most.",
    )
    add = parser.add_argument
    add("runs", type=Path, nargs="+", metavar="RUN|FOLDER", help="runs, or folders of runs")
    order = "by the date that runs began, each model by itself; or by the step in their names, all as one [date]"
    add("--order", choices=("date", "step"), default="date", help=order)
    add("--fail-if", choices=("worse",), help="exit with code 1 where the last change is a fall")
    add("--title", help="title of the page [History]")
    add("--out", type=Path, metavar="DIR", help="where to write [`history` in the folder of runs]")
    return parser
