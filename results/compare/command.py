"""`needlework compare A B ...`: runs trial by trial, as a table, a report and heatmaps of the difference."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from needlework.haystack_fixtures.command_line import OneLineParser, refuse
from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.grid.cells import slug
from needlework.haystack_fixtures.writing.whole_files import write_whole
from needlework.results.compare.arrange import ORDERS, arranged, models_of, parse_labels
from needlework.results.compare.several import Several, comparison_text, several, write_several
from needlework.results.files.read_run import Run
from needlework.results.html.comparison import write_comparison_html
from needlework.results.pictures.difference import write_difference_heatmaps
from needlework.results.pictures.heatmap import FORMATS, parse_formats
from needlework.results.records.windows import common_window, windows_of
from needlework.results.statistics.comparison.comparison import Comparison, compare
from needlework.results.statistics.comparison.identity import weights_lines
from needlework.results.statistics.comparison.joining import differing_trial
from needlework.results.statistics.comparison.provenance import check_dtypes, differing_facts, differing_parts
from needlework.results.statistics.run_report import interrupted
from needlework.results.style.text import one_line
from needlework.results.tables.comparison import (
    PARTS_SHOWN,
    comparison_lines,
    differing_lines,
    family_name,
    family_sentence,
)


def main(argv: Sequence[str]) -> int:
    """Run the command; returns the exit code: 0, 1 as `--fail-if` says, or 2 after one line about what was wrong."""
    options = _parser().parse_args(argv)
    try:
        if options.more:
            return int(_compare_several(options) and options.fail_if == "worse")
        comparison = _compare(options)
    except InputError as error:
        return refuse("compare", str(error))
    except BrokenPipeError:
        raise  # whoever read our output has seen enough
    except OSError as error:
        return refuse("compare", InputError("file", error.filename or "output", error.strerror or str(error)))
    return int(options.fail_if in {family.verdict for family in comparison.families})


def _compare_several(options: argparse.Namespace) -> bool:
    """Print and write the comparison of three runs and more; whether one is shown worse than its base."""
    runs = _runs(options)
    found = several(runs, base=options.base)
    print(*found.lines, "", sep="\n")
    title = options.title or ", ".join(runs)
    *_, last = runs.values()
    folder = options.out or last.folder / f"compared-with-{slug(next(iter(runs)))}"
    for path in (*write_several(found, folder, title=title), *_json(options, found, title)):
        print(path)
    return found.is_one_worse


def _runs(options: argparse.Namespace) -> dict[str, Run]:
    return arranged((options.first, options.second, *options.more), options.order, options.labels)


def _json(options: argparse.Namespace, found: Several, title: str) -> list[Path]:
    """Write the file of `--json`, where it is asked for."""
    if options.json is None:
        return []
    write_whole(options.json, comparison_text(found, title).encode())
    return [options.json]


def _compare(options: argparse.Namespace) -> Comparison:
    runs = _runs(options)
    (first_name, first), (second_name, second) = runs.items()
    comparison = compare(first.records, second.records)
    parts = differing_parts(first.manifest or None, second.manifest or None)
    if comparison.prompts_differ:
        a, b = differing_trial(first.records, second.records)
        parts += differing_facts(a, b)
        if not options.allow_different_prompts:
            raise InputError("runs", f"{first_name} and {second_name}", _refusal(comparison, parts))
    if not options.allow_different_dtypes:
        check_dtypes("runs", f"{first_name} and {second_name}", first.manifest, second.manifest)
    a_window, b_window = (common_window(windows_of(run.manifest), run.records) for run in (first, second))
    windows = a_window, b_window
    print(
        f"A: {_label(first_name, first)}\nB: {_label(second_name, second)}",
        "",
        *comparison_lines(comparison, windows),
        sep="\n",
    )
    print(*differing_lines(parts or ["nothing"], "the runs", "in report.html"), sep="\n")
    print(*weights_lines({name: run.manifest for name, run in runs.items()}), "", sep="\n")
    title = options.title or f"{second_name} − {first_name}"
    folder = options.out or second.folder / f"compared-with-{slug(first_name)}"
    write_comparison_html(
        folder / "report.html",
        comparison,
        first.records,
        second.records,
        title=title,
        names=(_label(first_name, first), _label(second_name, second)),
        parts=parts,
        windows=windows,
    )
    print(folder / "report.html")
    for path in write_difference_heatmaps(
        comparison.families,
        folder,
        titles=_titles(comparison, options.title, first_name, second_name),
        subtitles=[
            f"A: {_label(first_name, first)} · B: {_label(second_name, second)} · {family_sentence(family)}"
            for family in comparison.families
        ],
        formats=options.format,
    ):
        print(path)
    for path in _json(options, several(runs), title) if options.json else ():
        print(path)
    return comparison


def _refusal(comparison: Comparison, parts: Sequence[str]) -> str:
    shown = "; ".join(one_line(part) for part in parts[:PARTS_SHOWN]) or "in nothing that manifests or records name"
    more = f"; and {len(parts) - PARTS_SHOWN} more" if len(parts) > PARTS_SHOWN else ""
    total = comparison.pairs + comparison.unscored_first + comparison.unscored_second + comparison.unscored_both
    return (
        f"the prompts of {comparison.prompts_differ} of {total} trials differ ({shown}{more});"
        " --allow-different-prompts compares them all the same"
    )


def _titles(comparison: Comparison, title: str | None, first: str, second: str) -> list[str]:
    """The given title alone where there is one picture, before the family's name where there are several."""
    names = [family_name(family.family) for family in comparison.families]
    if title is not None and len(names) == 1:
        return [title]
    return [f"{title or f'{second} - {first}'} · {name}" for name in names]


def _label(name: str, run: Run) -> str:
    """`run (model)`, and whether it came to its end."""
    models = ", ".join(models_of(run))
    early = interrupted(len(run.records), run.planned)
    return one_line(f"{name} ({models}){f', {early}' if early else ''}")


def _parser() -> argparse.ArgumentParser:
    parser = OneLineParser(
        prog="needlework compare",
        description="Compare two runs trial by trial: paired differences with intervals and tests, the cells that"
        " improved and regressed, report.html with both answers side by side, and heatmaps of B - A.",
        epilog="Trials are joined on task, needle, length, depth, repeat and seed.",
    )
    parser.add_argument("first", type=Path, metavar="A", help="run folder or results.json: the reference")
    parser.add_argument("second", type=Path, metavar="B", help="run folder or results.json: what is compared with it")
    parser.add_argument(
        "more", type=Path, nargs="*", metavar="C", help="further runs: each is compared with A, in a line of its own"
    )
    parser.add_argument(
        "--base", choices=("first", "previous"), default="first", help="what each of several is compared with [first]"
    )
    parser.add_argument(
        "--order",
        choices=ORDERS,
        default="given",
        help="of the runs: as given, by name, by the date they began, by the step in their names [given]",
    )
    parser.add_argument(
        "--labels", type=parse_labels, metavar="A,B,...", help="names to show, one for each run as given [folders]"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write scores, differences and verdicts to this file")
    parser.add_argument(
        "--allow-different-prompts", action="store_true", help="compare although the runs' prompts were not the same"
    )
    parser.add_argument(
        "--allow-different-dtypes", action="store_true", help="compare one model in two kinds of numbers, fp32 and bf16"
    )
    parser.add_argument("--fail-if", choices=("worse",), help="exit with code 1 where a row's verdict is this one")
    parser.add_argument("--title", help="title of the page and the heatmaps (default: B - A, task and needle)")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where to write (default: compared-with-A, beside B)")
    parser.add_argument("--format", type=parse_formats, default=FORMATS, metavar="png,svg", help="default: both")
    return parser
