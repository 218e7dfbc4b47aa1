"""`needlework compare A B`: two runs trial by trial, as a table, a report and heatmaps of the difference."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from needlework.haystack_fixtures.command_line import OneLineParser, refuse
from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.grid.cells import slug
from needlework.results.compare.several import several, write_several
from needlework.results.files.read_run import Run, read_run
from needlework.results.html.comparison import write_comparison_html
from needlework.results.pictures.difference import write_difference_heatmaps
from needlework.results.pictures.heatmap import FORMATS, parse_formats
from needlework.results.records.windows import common_window, windows_of
from needlework.results.statistics.comparison.comparison import Comparison, compare
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
    """Print and write the comparison of three runs and more; whether one is shown worse than the first."""
    paths = (options.first, options.second, *options.more)
    runs = [_load(path) for path in paths]
    alike = len({run.name for run in runs}) < len(runs)
    names = [str(path) if alike else run.name for path, run in zip(paths, runs, strict=True)]
    if len(set(names)) < len(names):
        raise InputError("runs", ", ".join(names), "one of them is given twice")
    found = several(dict(zip(names, runs, strict=True)))
    print(*found.lines, "", sep="\n")
    folder = options.out or runs[-1].folder / f"compared-with-{slug(runs[0].name)}"
    for path in write_several(found, folder, title=options.title or ", ".join(names)):
        print(path)
    return found.is_one_worse


def _compare(options: argparse.Namespace) -> Comparison:
    first, second = _load(options.first), _load(options.second)
    comparison = compare(first.records, second.records)
    parts = differing_parts(first.manifest or None, second.manifest or None)
    if comparison.prompts_differ:
        a, b = differing_trial(first.records, second.records)
        parts += differing_facts(a, b)
        if not options.allow_different_prompts:
            raise InputError("runs", f"{first.name} and {second.name}", _refusal(comparison, parts))
    if not options.allow_different_dtypes:
        check_dtypes("runs", f"{first.name} and {second.name}", first.manifest, second.manifest)
    a_window, b_window = (common_window(windows_of(run.manifest), run.records) for run in (first, second))
    windows = a_window, b_window
    print(f"A: {_label(first)}\nB: {_label(second)}", "", *comparison_lines(comparison, windows), sep="\n")
    print(*differing_lines(parts or ["nothing"], "the runs", "in report.html"), sep="\n")
    print()
    folder = options.out or second.folder / f"compared-with-{slug(first.name)}"
    write_comparison_html(
        folder / "report.html",
        comparison,
        first.records,
        second.records,
        title=options.title or f"{second.name} − {first.name}",
        names=(_label(first), _label(second)),
        parts=parts,
        windows=windows,
    )
    print(folder / "report.html")
    for path in write_difference_heatmaps(
        comparison.families,
        folder,
        titles=_titles(comparison, options.title, first, second),
        subtitles=[
            f"A: {_label(first)} · B: {_label(second)} · {family_sentence(family)}" for family in comparison.families
        ],
        formats=options.format,
    ):
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


def _titles(comparison: Comparison, title: str | None, first: Run, second: Run) -> list[str]:
    """The given title alone where there is one picture, before the family's name where there are several."""
    names = [family_name(family.family) for family in comparison.families]
    if title is not None and len(names) == 1:
        return [title]
    return [f"{title or f'{second.name} - {first.name}'} · {name}" for name in names]


def _load(path: Path) -> Run:
    run = read_run(path)
    if not run.records:
        raise InputError("run", path, "holds no trials; there is nothing to compare")
    return run


def _label(run: Run) -> str:
    """`run (model)`, and whether it came to its end."""
    models = ", ".join(sorted({record["model"] for record in run.records}))
    early = interrupted(len(run.records), run.planned)
    return one_line(f"{run.name} ({models}){f', {early}' if early else ''}")


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
