"""`needlework compare`: two runs or more, trial by trial."""

import argparse
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

from msgspec.structs import replace

from needlework.core.errors import InputError, OneLineParser, run_command
from needlework.core.files import write_whole
from needlework.core.grid import slug
from needlework.results.compare.collect import Order, collect_runs
from needlework.results.files.json_files import COMPARISON, SCHEMA, comparison_object, json_bytes
from needlework.results.files.read_run import Run
from needlework.results.html.comparison import comparison_html
from needlework.results.pictures.files import BOTH, Format, parse_formats, write_charts
from needlework.results.records.samples import common_window, windows_of
from needlework.results.report.charts import difference_heatmap, score_lines
from needlework.results.report.comparison import (
    PARTS_SHOWN,
    comparison_lines,
    comparison_sentence,
    task_name,
    task_sentence,
)
from needlework.results.report.section import Section
from needlework.results.statistics.comparison import provenance
from needlework.results.statistics.comparison.comparison import Base, ComparedRun, compare_runs
from needlework.results.statistics.run_report import interrupted
from needlework.results.style import first_few, one_line


def main(argv: Sequence[str]) -> int:
    """Run the command; returns the exit code: 0, 1 as `--fail-if` says, or 2 for wrong input."""
    options = _parser().parse_args(argv)
    return run_command("compare", lambda: _compare(options))


def _compare(options: argparse.Namespace) -> int:
    """Print and write the comparison."""
    runs = collect_runs((options.first, options.second, *options.more), options.order, options.labels)
    rows = compare_named(runs, base=options.base)
    _check(rows, prompts=not options.allow_different_prompts, dtypes=not options.allow_different_dtypes)
    print(*comparison_lines(rows), "", sep="\n")
    title = options.title or ", ".join(runs)
    first, *_, last = runs
    folder = options.out or runs[last].folder / f"compared-with-{slug(first)}"
    paths = write_comparison(rows, folder, title=title)
    paths += _write_heatmaps(rows, folder, options.title, options.format)
    if options.json is not None:
        write_whole(options.json, _json_of(rows, title))
        paths.append(options.json)
    print(*paths, sep="\n")
    return int(options.fail_if == "worse" and any(row.is_worse for row in rows))


def _check(rows: Sequence[ComparedRun], *, prompts: bool, dtypes: bool) -> None:
    """Refuse what cannot be compared, or would mislead. Raises `InputError`."""
    manifests = {row.name: row.manifest for row in rows}
    if not any(row.pair for row in rows):
        raise InputError("runs", f"{rows[1].base} and {rows[1].name}", rows[1].why)
    for row in rows:
        if row.pair is None:
            continue
        names = f"{row.base} and {row.name}"
        if prompts and (reworded := len(row.pair.reworded)):
            parts = first_few(row.parts, PARTS_SHOWN, "; ") or "in nothing that is recorded"
            trials = row.pair.whole.n + sum(row.pair.unscored)
            why = f"the prompts of {reworded} of {trials} trials differ ({one_line(parts)})"
            raise InputError("runs", names, f"{why}; --allow-different-prompts compares them all the same")
        if dtypes:
            provenance.check_dtypes("runs", names, manifests[row.base], row.manifest)


def _write_heatmaps(
    rows: Sequence[ComparedRun], folder: Path, title: str | None, formats: Sequence[Format]
) -> list[Path]:
    """Write a heatmap of B - A for each task of each pair."""
    labels = {row.name: row.label for row in rows}
    pairs = [(row, row.pair) for row in rows if row.pair]
    charts = [
        difference_heatmap(
            task,
            [row.name] if len(pairs) > 1 else [],
            f"{title or f'{row.name} - {row.base}'} · {task_name(task.family)}",
            f"A: {labels[row.base]} · B: {row.label} · {task_sentence(task)}",
        )
        for row, pair in pairs
        for task in pair.tasks
    ]
    return write_charts(charts, folder, formats)


def _parser() -> argparse.ArgumentParser:
    parser = OneLineParser(
        prog="needlework compare",
        description="Compare runs with the first of them, trial by trial: paired differences with intervals and tests,"
        " the cells that improved and regressed, report.html with both answers side by side, and heatmaps of B - A.",
        epilog="Trials are joined on task, needle, length, depth, repeat and seed.",
    )
    add = parser.add_argument
    add("first", type=Path, metavar="A", help="run folder or results.json: the reference")
    add("second", type=Path, metavar="B", help="run folder or results.json: what is compared with it")
    add("more", type=Path, nargs="*", metavar="C", help="further runs, each compared with A")
    add("--base", choices=get_args(Base), default="first", help="what each is compared with [first]")
    order = "of the runs: as given, by name, by the date they began, by the step in their names [given]"
    add("--order", choices=get_args(Order), default="given", help=order)
    add("--labels", type=_labels, metavar="A,B,...", help="names to show, one for each run as given [folders]")
    add("--json", type=Path, metavar="FILE", help="write comparison.json to this file too")
    add("--allow-different-prompts", action="store_true", help="compare although the runs' prompts were not the same")
    dtypes = "compare one model in two kinds of numbers, fp32 and bf16"
    add("--allow-different-dtypes", action="store_true", help=dtypes)
    add("--fail-if", choices=("worse",), help="exit with code 1 where a run, or a task of it, is shown worse")
    add("--title", help="title of the page and the heatmaps (default: the runs' names)")
    add("--out", type=Path, metavar="DIR", help="where to write (default: compared-with-A, beside B)")
    add("--format", type=parse_formats, default=BOTH, metavar="png,svg,pdf", help="of the heatmaps [png,svg]")
    return parser


def _labels(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(","))


def compare_named(
    runs: Mapping[str, Run | None], why: Mapping[str, str] | None = None, base: Base = "first"
) -> tuple[ComparedRun, ...]:
    """Compare runs, `None` where one has not run, with the first of them, or with the one before.

    `why`: of some that have not run, the reason.
    """
    rows = []
    for row in compare_runs({name: run.records if run else () for name, run in runs.items()}, base):
        run, parts = runs[row.name], list[str]()
        if run is None or not run.records:
            rows.append(replace(row, why=(why or {}).get(row.name) or row.why, label=one_line(row.name)))
            continue
        if row.pair and (base_run := runs[row.base]):
            parts = provenance.differing_parts(base_run.manifest, run.manifest)
            parts += provenance.differing_facts(*row.pair.reworded[0]) if row.pair.reworded else []
        early = interrupted(len(run.records), run.planned)
        rows.append(
            replace(
                row,
                models=tuple(run.models),
                label=one_line(f"{row.name} ({', '.join(run.models)}){f', {early}' if early else ''}"),
                window=common_window(windows_of(run.manifest), run.records),
                parts=tuple(parts),
                manifest=run.manifest,
            )
        )
    return tuple(rows)


def write_comparison(
    rows: Sequence[ComparedRun],
    folder: Path,
    *,
    title: str,
    links: Mapping[str, str] | None = None,
    facts: Mapping[str, Mapping[str, Any]] | None = None,
    further: Sequence[Section] = (),
) -> list[Path]:
    """Write report.html, scores.png and .svg, and comparison.json; return their paths.
    `links`: to each run's report; `facts`: more on each in comparison.json; `further`: sections that stand first."""
    sentence = comparison_sentence(rows).rstrip(".")
    lengths = {row.name: row.lengths for row in rows}
    charts = score_lines(lengths, "scores", sentence or title, title if sentence else "")
    pictures = write_charts([*(chart for section in further for chart in section.charts), *charts], folder)
    write_whole(folder / COMPARISON, _json_of(rows, title, facts))
    write_whole(folder / "report.html", comparison_html(rows, title=title, links=links, further=further).encode())
    return [folder / "report.html", *pictures, folder / COMPARISON]


def _json_of(rows: Sequence[ComparedRun], title: str, facts: Mapping[str, Mapping[str, Any]] | None = None) -> bytes:
    known = {
        row.name: {
            "model": row.models,
            **{name: row.manifest.get(name) for name in ("started", "commit")},
            "window": row.window,
            **(facts or {}).get(row.name, {}),
        }
        for row in rows
    }
    content = {
        "schema": SCHEMA,
        "name": title,
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "same_weights": provenance.weights_lines({row.name: row.manifest for row in rows}),
        "configurations": comparison_object(rows, known),
    }
    return json_bytes(content)
