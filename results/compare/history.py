"""`needlework history RUN...|FOLDER`: nightly runs of a model, or checkpoints of a training, and where they changed."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from needlework.core.errors import InputError, OneLineParser, run_command
from needlework.core.files import write_whole
from needlework.results.compare.collect import BoardRun, collect, models_of
from needlework.results.compare.leaderboard import place_of
from needlework.results.html.boards import history_html
from needlework.results.pictures.files import write_charts
from needlework.results.records.samples import began, step_of
from needlework.results.report.chart import chart_name
from needlework.results.report.charts import history_chart
from needlework.results.statistics.comparison.provenance import weights_lines
from needlework.results.statistics.leaderboard.boards import BoardSeries, ModelRun, series_of
from needlework.results.style import one_line
from needlework.results.tables.leaderboard import (
    change_words,
    series_head,
    series_lines,
    series_row,
    series_sentence,
    series_title,
    size_words,
)
from needlework.results.tables.terminal import aligned

_SHOWN = 20  # runs of a series in a terminal: the last ones


def main(argv: Sequence[str]) -> int:
    """Run the command; returns the exit code: 0, 1 as `--fail-if` says, or 2 after one line about what was wrong."""
    options = _parser().parse_args(argv)
    return run_command("history", lambda: _history(options))


def _history(options: argparse.Namespace) -> int:
    found = collect(options.runs)
    folder = options.out or place_of(options.runs, "history")
    runs, left_out = models_of(found.runs, folder, newest=False)
    by_name = {run.name: run for run in found.runs}
    whole = [run for run in runs if not run.why]
    series = series_of(_ordered(whole, by_name, options.order), by_model=options.order == "date")
    notes = [*weights_lines({name: run.manifest for name, run in by_name.items()}), *left_out, *found.faults]
    if not series:
        raise InputError(
            "RUN", ", ".join(map(str, options.runs)),
            "no two whole runs asked the same cells of one model; checkpoints, of other names, take --order step",
        )  # fmt: skip
    for each in series:
        rows = [series_head(each), *(series_row(point) for point in each.points[-_SHOWN:])]
        print(one_line(series_title(each)), *aligned(rows, names=2), *map(one_line, series_lines(each)), "", sep="\n")
    if notes:
        print(*map(one_line, notes), "", sep="\n")
    for path in _write(series, folder, title=one_line(options.title or "History"), notes=notes):
        print(path)
    return int(options.fail_if == "worse" and any(each.changes and each.changes[-1].is_fall for each in series))


def _ordered(models: Sequence[ModelRun], runs: dict[str, BoardRun], order: str) -> list[tuple[str, ModelRun]]:
    """Runs in order, each with its place by name."""
    placed = []
    for each in models:
        if order == "step":
            step = step_of([runs[each.run].folder.name, each.model])
            if step is None:
                raise InputError("--order", order, f"no number in {each.run!r} or {each.model!r}; use date")
            placed.append((step, f"step {step:g}" if step < 1e6 else f"step {step:.4g}", each))
        else:
            when = began(runs[each.run].manifest)
            if when is None:
                raise InputError("--order", order, f"{each.run} has no manifest.json that says when it began; use step")
            placed.append((when.timestamp(), f"{when:%Y-%m-%d %H:%M}", each))
    placed.sort(key=lambda item: (item[0], item[2].name))
    return [(place, each) for _, place, each in placed]


def _write(series: Sequence[BoardSeries], folder: Path, *, title: str, notes: Sequence[str]) -> list[Path]:
    """Write report.html, history.json and a picture of each series; return their paths."""
    pictures: list[Path] = []
    drawn = []
    for number, each in enumerate(series, start=1):
        name = chart_name("history", each.task, str(number) if len(series) > 1 else "")
        paths = write_charts([history_chart(each, name, series_sentence(each), size_words(each))], folder)
        drawn.append(next(path.read_bytes() for path in paths if path.suffix == ".png"))
        pictures += paths
    write_whole(folder / "report.html", history_html(series, drawn, title=title, notes=notes).encode())
    content = {"schema": 1, "name": title, "notes": list(notes), "series": [_object(each) for each in series]}
    write_whole(folder / "history.json", (json.dumps(content, ensure_ascii=False, indent=1) + "\n").encode())
    return [folder / "report.html", folder / "history.json", *pictures]


def _object(series: BoardSeries) -> dict[str, object]:
    """A series for programs: scores 0..1."""
    return {
        "task": series.task,
        "model": series.model or None,
        "samples": series.samples,
        "runs": [
            {
                "when": point.place,
                "run": point.model_run.run,
                "score": overall.mean,
                "low": overall.interval.low if overall.interval else None,
                "high": overall.interval.high if overall.interval else None,
                "range": None if overall.range is None else list(overall.range),
                "score_with_misses": point.entry.counted,
                "trials": overall.trials,
                "scored": overall.n,
            }
            for point in series.points
            for overall in [point.entry.overall]
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
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN|FOLDER", help="runs, or folders of runs")
    parser.add_argument(
        "--order",
        choices=("date", "step"),
        default="date",
        help="by the date that runs began, each model by itself; or by the step in their names, all as one [date]",
    )
    parser.add_argument("--fail-if", choices=("worse",), help="exit with code 1 where the last change is a fall")
    parser.add_argument("--title", help="title of the page [History]")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where to write [`history` in the folder of runs]")
    return parser
