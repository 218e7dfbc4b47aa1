"""`needlework plot`: draw heatmaps and curves again, from our files or another system's."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from needlework.core.errors import InputError, OneLineParser, refuse
from needlework.core.labels import OWN_DOCUMENTS
from needlework.results.files.read_run import load_panels, manifest_at, read_run
from needlework.results.pictures.draw import COLORS
from needlework.results.pictures.files import BOTH, parse_formats, write_charts, write_combined
from needlework.results.records.run_folder import MANIFEST
from needlework.results.report.chart import BarChart, Chart
from needlework.results.report.charts import bar_models, bar_rows, panel_heatmap
from needlework.results.report.sections import section_charts
from needlework.results.statistics.panels import Panel
from needlework.results.statistics.suites.ruler import TASKS
from needlework.results.style import COLORS as SCALES


def main(argv: Sequence[str]) -> int:
    """Run the command; returns the exit code: 0, or 2 after one line about what was wrong."""
    try:
        for path in _plot(_parser().parse_args(argv)):
            print(path)
    except InputError as error:
        return refuse("plot", str(error))
    except BrokenPipeError:
        raise  # whoever read our output has seen enough
    except OSError as error:
        return refuse("plot", InputError("file", error.filename or "output", error.strerror or str(error)))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = OneLineParser(
        prog="needlework plot",
        description="Draw heatmaps from results.json, results.csv, journal.jsonl, a run folder, or the result files of"
        " LLMTest_NeedleInAHaystack and OpenCompass (NeedleBench, CDME).",
        epilog="Several files or runs: one heatmap each, and heatmap-combined with all of them side by side.",
        theirs={"path": "give the file itself: needlework plot FILE"},
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="results file or folder")
    parser.add_argument("--title", help="title of the heatmap, or of the combined one (default: model · task · needle)")
    parser.add_argument("--dataset-length", metavar="LABEL", help="label of the data set, `8k`, added to the titles")
    parser.add_argument(
        "--colors",
        choices=tuple(SCALES),
        default="viridis",
        metavar="{viridis,red-yellow-green}",
        help="viridis, for colour-blind eyes too, or red-yellow-green [viridis]",
    )
    parser.add_argument(
        "--bars",
        action="store_true",
        help="models side by side instead: bars with 95 %% intervals, a row for each task, L-Eval's averages first",
    )
    parser.add_argument("--numbers", action="store_true", help="percent in each cell, with interval and n")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where to write (default: beside what is drawn)")
    parser.add_argument("--format", type=parse_formats, default=BOTH, metavar="png,svg,pdf", help="default: png,svg")
    return parser


def _bars(options: argparse.Namespace) -> list[Path]:
    """`bars.png` and `.svg`: every model of all runs in one chart."""
    runs = [(_folder(path).resolve().name, read_run(path).report) for path in options.files]
    models = [model for _, report in runs for model in report.models]
    # A model of several runs is told by the run's name.
    named = [(run if any(models.count(model) > 1 for model in report.models) else "", report) for run, report in runs]
    rows, shown = bar_rows(named), bar_models(named)
    if len(shown) > len(COLORS):
        raise InputError("--bars", len(shown), f"that many bars cannot be told apart: at most {len(COLORS)}")
    if not rows:
        raise InputError("FILE", options.files[0], "has no scores: give run folders or results.json")
    chart = BarChart("bars", options.title or "Score by task", rows, shown)
    return write_charts([chart], options.out or _folder(options.files[0]), options.format)


def _plot(options: argparse.Namespace) -> list[Path]:
    if options.bars:
        return _bars(options)
    panels = [(path, panel) for path in options.files for panel in load_panels(path)]
    title = options.title if len(panels) == 1 else None
    charts: dict[Path, list[Chart]] = {}
    heatmaps = []
    for (path, panel), source in zip(panels, _sources(panels), strict=True):
        heading = " · ".join(filter(None, (title or panel.name, options.dataset_length, source)))
        in_name = source if options.out or path.is_file() else ""
        heatmap = panel_heatmap(panel, title=heading, colors=options.colors, numbers=options.numbers, source=in_name)
        heatmaps.append(heatmap)
        charts.setdefault(options.out or _folder(path), []).append(heatmap)
    for path in dict.fromkeys(options.files):
        if path.suffix.lower() != ".csv":  # it has scores, and no questions
            charts.setdefault(options.out or _folder(path), []).extend(_section_charts(path))
    paths = [path for folder, each in charts.items() for path in write_charts(each, folder, options.format)]
    if len(heatmaps) > 1:
        stem = next(iter(charts)) / "heatmap-combined"
        paths += write_combined(heatmaps, stem, options.format, options.title or "")
    return paths


def _section_charts(path: Path) -> list[Chart]:
    """The charts of own documents, of RULER and of an adaptive run; none of another system's files."""
    asked = manifest_at(_folder(path) / MANIFEST).get("options")
    is_adaptive = isinstance(asked, dict) and bool(asked.get("adaptive"))
    if not is_adaptive and not {panel.task for panel in load_panels(path)} & {*OWN_DOCUMENTS, *TASKS}:
        return []
    report = read_run(_folder(path) if is_adaptive else path).report
    return [chart for chart in section_charts(report) if not isinstance(chart, BarChart)]


def _folder(path: Path) -> Path:
    return path if path.is_dir() else path.parent


def _sources(found: Sequence[tuple[Path, Panel]]) -> list[str]:
    """Where each panel comes from, in a word; empty where no other panel has its name."""
    sources = []
    for path, panel in found:
        namesakes = [other for other, each in found if each.name == panel.name]
        folders = {_folder(other).resolve().name for other in namesakes}
        told = _folder(path) if len(folders) == len(namesakes) else path
        sources.append(told.resolve().name if len(namesakes) > 1 else "")
    return sources
