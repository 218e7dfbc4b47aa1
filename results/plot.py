"""`needlework plot`: draw heatmaps and curves again, from our files or another system's."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from needlework.core.errors import InputError, OneLineParser, refuse
from needlework.core.labels import OWN_DOCUMENTS
from needlework.results.files.read_run import load_panels, manifest_at, read_run
from needlework.results.pictures.documents import write_asked_charts, write_document_charts
from needlework.results.pictures.heatmap import FORMATS, parse_formats, write_figure, write_heatmaps
from needlework.results.pictures.models import MOST_MODELS, bar_rows, models_of, write_model_bars
from needlework.results.pictures.parts import Style
from needlework.results.records.run_folder import MANIFEST
from needlework.results.statistics.panels import Panel


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
        "--colors", choices=("safe", "field"), default="safe", help="safe for colour blindness, or red-yellow-green"
    )
    parser.add_argument(
        "--bars",
        action="store_true",
        help="models side by side instead: bars with 95 %% intervals, a row for each task, L-Eval's averages first",
    )
    parser.add_argument("--numbers", action="store_true", help="percent in each cell, with interval and n")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where to write (default: beside what is drawn)")
    parser.add_argument("--format", type=parse_formats, default=FORMATS, metavar="png,svg", help="default: both")
    return parser


def _bars(options: argparse.Namespace) -> list[Path]:
    """`bars.png` and `.svg`: every model of all runs in one chart."""
    runs = [(_folder(path).resolve().name, read_run(path).report) for path in options.files]
    models = [model for _, report in runs for model in report.models]
    # A model that stands in several runs is told by the run's name.
    named = [(run if any(models.count(model) > 1 for model in report.models) else "", report) for run, report in runs]
    rows, shown = bar_rows(named), models_of(named)
    if len(shown) > MOST_MODELS:
        raise InputError("--bars", len(shown), f"that many bars cannot be told apart: at most {MOST_MODELS}")
    if not rows:
        raise InputError("FILE", options.files[0], "has no scores: give run folders or results.json")
    return write_model_bars(
        rows, shown, (options.out or _folder(options.files[0])) / "bars", options.format, options.title or ""
    )


def _plot(options: argparse.Namespace) -> list[Path]:
    if options.bars:
        return _bars(options)
    found = [(path, panel) for path in options.files for panel in load_panels(path)]
    panels = [panel for _, panel in found]
    several = len(panels) > 1
    sources = _sources(found)
    given = options.title if not several else None
    titles = [
        _title(panel, source, options.dataset_length, given) for panel, source in zip(panels, sources, strict=True)
    ]
    style = Style(colors=options.colors, numbers=options.numbers)
    paths: list[Path] = []
    places = [options.out or _folder(path) for path, _ in found]
    for place in dict.fromkeys(places):
        here = [number for number, each in enumerate(places) if each == place]
        drawn, named = [panels[number] for number in here], [titles[number] for number in here]
        names = [panel.name for panel in drawn]
        told = [sources[number] if names.count(panels[number].name) > 1 else "" for number in here]
        paths += write_heatmaps(drawn, place, style=style, formats=options.format, titles=named, sources=told)
    for path in dict.fromkeys(path for path, panel in found if panel.task in OWN_DOCUMENTS):
        if path.suffix.lower() != ".csv":  # it has scores, and no questions
            paths += write_document_charts(
                read_run(path).report.documents, options.out or _folder(path), options.format
            )
    for folder in dict.fromkeys(_folder(path) for path in options.files):
        asked = manifest_at(folder / MANIFEST).get("options")
        if isinstance(asked, dict) and asked.get("adaptive"):
            paths += write_asked_charts(read_run(folder).report.adaptive, options.out or folder, options.format)
    if several:
        stem = places[0] / "heatmap-combined"
        heading = options.title or ""
        paths += write_figure(panels, titles, stem, style=style, formats=options.format, heading=heading)
    return paths


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


def _title(panel: Panel, source: str, length: str | None, title: str | None) -> str:
    return " · ".join(filter(None, (title or panel.name, length, source)))
