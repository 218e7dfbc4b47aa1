"""`needlework plot`: draw heatmaps and curves again, from our files or another system's."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from needlework.core.errors import InputError, OneLineParser, run_command
from needlework.core.record import OWN_DOCUMENTS
from needlework.results.files.read_run import load_panels, read_run
from needlework.results.pictures.draw import COLORS
from needlework.results.pictures.files import BOTH, parse_formats, write_charts, write_combined
from needlework.results.records.manifest import manifest_at
from needlework.results.records.run_folder import MANIFEST
from needlework.results.records.samples import object_of
from needlework.results.report.charts import bar_chart, panel_heatmap
from needlework.results.report.section import BarChart, Chart
from needlework.results.report.sections import section_charts
from needlework.results.statistics.panels import Panel
from needlework.results.statistics.suites.published import TASKS
from needlework.results.style import COLORS as SCALES


def main(argv: Sequence[str]) -> int:
    """Run the command; returns the exit code: 0, or 2 after one line about what was wrong."""
    options = _parser().parse_args(argv)
    draw = _bars if options.bars else _heatmaps
    return run_command("plot", lambda: print(*draw(options), sep="\n"))


def _parser() -> argparse.ArgumentParser:
    parser = OneLineParser(
        prog="needlework plot",
        description="Draw heatmaps from a run folder, its results.json or journal.jsonl, or the result files of"
        " LLMTest_NeedleInAHaystack and OpenCompass (NeedleBench, CDME).",
        epilog="Several files or runs: one heatmap each, and heatmap-combined with all of them side by side.",
        theirs={"path": "give the file itself: needlework plot FILE"},
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="results file or folder")
    parser.add_argument("--title", help="title of the heatmap, or of the combined one (default: model · task · needle)")
    parser.add_argument("--dataset-length", metavar="LABEL", help="label of the data set, `8k`, added to the titles")
    colors = "viridis, for colour-blind eyes too, or red-yellow-green [viridis]"
    parser.add_argument("--colors", choices=tuple(SCALES), default="viridis", help=colors)
    bars = "models side by side instead: bars with 95 %% intervals, a row for each task, L-Eval's averages first"
    parser.add_argument("--bars", action="store_true", help=bars)
    parser.add_argument("--numbers", action="store_true", help="percent in each cell, with interval and n")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where to write (default: beside what is drawn)")
    parser.add_argument("--format", type=parse_formats, default=BOTH, metavar="png,svg,pdf", help="default: png,svg")
    return parser


def _bars(options: argparse.Namespace) -> list[Path]:
    """`bars.png` and `.svg`: every model of all runs in one chart."""
    runs = [(_folder(path).resolve().name, read_run(path).report) for path in options.files]
    models = [model for _, report in runs for model in report.models]
    # A model of several runs is named with its run.
    named = [(run if any(models.count(model) > 1 for model in report.models) else "", report) for run, report in runs]
    chart = bar_chart(named, options.title or "Score by task")
    if len(chart.models) > len(COLORS):
        raise InputError("--bars", len(chart.models), f"that many bars cannot be told apart: at most {len(COLORS)}")
    if not chart.rows:
        raise InputError("FILE", options.files[0], "has no scores: give run folders or results.json")
    return write_charts([chart], options.out or _folder(options.files[0]), options.format)


def _heatmaps(options: argparse.Namespace) -> list[Path]:
    """A heatmap for each panel, the charts of its run's sections, and all heatmaps in one figure."""
    panels = [(path, panel) for path in options.files for panel in load_panels(path)]
    title = options.title if len(panels) == 1 else None
    charts: dict[Path, list[Chart]] = {}
    heatmaps = []
    for path, panel in panels:
        source = _source(path, panel, panels)
        heading = " · ".join(filter(None, (title or panel.name, options.dataset_length, source)))
        in_name = source if options.out or path.is_file() else ""
        heatmap = panel_heatmap(panel, title=heading, colors=options.colors, numbers=options.numbers, source=in_name)
        heatmaps.append(heatmap)
        charts.setdefault(options.out or _folder(path), []).append(heatmap)
    for path in dict.fromkeys(options.files):
        charts[options.out or _folder(path)] += _section_charts(
            path, {panel.task for at, panel in panels if at == path}
        )
    paths = [path for folder, drawn in charts.items() for path in write_charts(drawn, folder, options.format)]
    if len(heatmaps) > 1:
        stem = next(iter(charts)) / "heatmap-combined"
        paths += write_combined(heatmaps, stem, options.format, options.title or "")
    return paths


def _section_charts(path: Path, tasks: set[str]) -> list[Chart]:
    """The charts of own documents, of RULER and of an adaptive run; none of another system's files."""
    is_adaptive = bool(object_of(manifest_at(_folder(path) / MANIFEST).get("options")).get("adaptive"))
    if not is_adaptive and not tasks & {*OWN_DOCUMENTS, *TASKS}:
        return []
    report = read_run(_folder(path) if is_adaptive else path).report
    return [chart for chart in section_charts(report) if not isinstance(chart, BarChart)]


def _folder(path: Path) -> Path:
    return path if path.is_dir() else path.parent


def _source(path: Path, panel: Panel, panels: Sequence[tuple[Path, Panel]]) -> str:
    """Name the folder or file of a panel where another panel has the same name; else empty."""
    namesakes = [other for other, each in panels if each.name == panel.name]
    if len(namesakes) < 2:
        return ""
    folders = {_folder(other).resolve().name for other in namesakes}
    return (_folder(path) if len(folders) == len(namesakes) else path).resolve().name
