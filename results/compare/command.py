"""`needlework compare`: two runs or more, trial by trial."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from needlework.core.errors import InputError, OneLineParser, run_command
from needlework.core.files import write_whole
from needlework.core.grid import slug
from needlework.results.files.json_files import COMPARISON, SCHEMA, comparison_object, escaped
from needlework.results.files.read_run import Run, read_run
from needlework.results.html.comparison import comparison_html, comparison_sentence
from needlework.results.pictures.files import BOTH, Format, parse_formats, write_charts
from needlework.results.records.samples import began, common_window, step_of, windows_of
from needlework.results.report.charts import difference_heatmap, score_lines
from needlework.results.statistics.comparison.comparison import Comparison
from needlework.results.statistics.comparison.many_runs import Base, ComparedRun, compare_runs
from needlework.results.statistics.comparison.provenance import (
    check_dtypes,
    differing_facts,
    differing_parts,
    weights_lines,
)
from needlework.results.statistics.run_report import interrupted
from needlework.results.style import one_line
from needlework.results.tables.comparison import (
    PARTS_SHOWN,
    comparison_lines,
    differing_lines,
    pair_lines,
    task_name,
    task_sentence,
)

Order = Literal["given", "name", "date", "step"]
ORDERS: tuple[Order, ...] = ("given", "name", "date", "step")


def main(argv: Sequence[str]) -> int:
    """Run the command; returns the exit code: 0, 1 as `--fail-if` says, or 2 after one line about what was wrong."""
    options = _parser().parse_args(argv)
    return run_command("compare", lambda: _compare(options))


def _compare(options: argparse.Namespace) -> int:
    """Print and write the comparison."""
    runs = arranged((options.first, options.second, *options.more), options.order, options.labels)
    comparison = compare_named(runs, base=options.base)
    _check(comparison, prompts=not options.allow_different_prompts, dtypes=not options.allow_different_dtypes)
    print(*comparison.lines, "", sep="\n")
    title = options.title or ", ".join(runs)
    first, *_, last = runs
    folder = options.out or runs[last].folder / f"compared-with-{slug(first)}"
    paths = write_comparison(comparison, folder, title=title)
    paths += _write_heatmaps(comparison, folder, options.title, options.format)
    if options.json is not None:
        write_whole(options.json, comparison_text(comparison, title).encode())
        paths.append(options.json)
    print(*paths, sep="\n")
    return int(options.fail_if == "worse" and comparison.is_one_worse)


def _check(comparison: RunsComparison, *, prompts: bool, dtypes: bool) -> None:
    """Refuse what cannot be compared, or would mislead. Raises `InputError`."""
    if not any(row.pair for row in comparison.rows):
        _, row, *_ = comparison.rows
        raise InputError("runs", f"{row.base} and {row.name}", row.why)
    for row in comparison.rows:
        if row.pair is None:
            continue
        names = f"{row.base} and {row.name}"
        if prompts and row.pair.prompts_differ:
            raise InputError("runs", names, _refusal(row.pair, comparison.parts[row.name]))
        if dtypes:
            check_dtypes("runs", names, comparison.manifest(row.base), comparison.manifest(row.name))


def _refusal(pair: Comparison, parts: Sequence[str]) -> str:
    shown = "; ".join(one_line(part) for part in parts[:PARTS_SHOWN]) or "in nothing that manifests or records name"
    more = f"; and {len(parts) - PARTS_SHOWN} more" if len(parts) > PARTS_SHOWN else ""
    return (
        f"the prompts of {pair.prompts_differ} of {pair.pairs + sum(pair.unscored)} trials differ ({shown}{more});"
        " --allow-different-prompts compares them all the same"
    )


def _write_heatmaps(
    comparison: RunsComparison, folder: Path, title: str | None, formats: Sequence[Format]
) -> list[Path]:
    """Write a heatmap of B - A for each task of each pair; the title alone where there is one picture."""
    pairs = [(row, row.pair) for row in comparison.rows if row.pair]
    charts = []
    for row, pair in pairs:
        labels = f"A: {comparison.label(row.base)} · B: {comparison.label(row.name)}"
        heading = title or f"{row.name} - {row.base}"
        alone = title is not None and len(pairs) == len(pair.tasks) == 1
        name = [row.name] if len(pairs) > 1 else []
        for task in pair.tasks:
            subject = heading if alone else f"{heading} · {task_name(task.family)}"
            charts.append(difference_heatmap(task, name, subject, f"{labels} · {task_sentence(task)}"))
    return write_charts(charts, folder, formats)


def _parser() -> argparse.ArgumentParser:
    parser = OneLineParser(
        prog="needlework compare",
        description="Compare runs with the first of them, trial by trial: paired differences with intervals and tests,"
        " the cells that improved and regressed, report.html with both answers side by side, and heatmaps of B - A.",
        epilog="Trials are joined on task, needle, length, depth, repeat and seed.",
    )
    parser.add_argument("first", type=Path, metavar="A", help="run folder or results.json: the reference")
    parser.add_argument("second", type=Path, metavar="B", help="run folder or results.json: what is compared with it")
    parser.add_argument("more", type=Path, nargs="*", metavar="C", help="further runs, each compared with A")
    parser.add_argument(
        "--base", choices=("first", "previous"), default="first", help="what each is compared with [first]"
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
    parser.add_argument("--json", type=Path, metavar="FILE", help="write comparison.json to this file too")
    parser.add_argument(
        "--allow-different-prompts", action="store_true", help="compare although the runs' prompts were not the same"
    )
    parser.add_argument(
        "--allow-different-dtypes", action="store_true", help="compare one model in two kinds of numbers, fp32 and bf16"
    )
    parser.add_argument(
        "--fail-if", choices=("worse",), help="exit with code 1 where a run, or a task of it, is shown worse"
    )
    parser.add_argument("--title", help="title of the page and the heatmaps (default: the runs' names)")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where to write (default: compared-with-A, beside B)")
    parser.add_argument(
        "--format", type=parse_formats, default=BOTH, metavar="png,svg,pdf", help="of the heatmaps [png,svg]"
    )
    return parser


@dataclass(frozen=True)
class RunsComparison:
    """Runs by the names they are shown by, `None` where one has not run, and a row of the comparison for each."""

    runs: Mapping[str, Run | None]
    rows: tuple[ComparedRun, ...]

    @property
    def is_one_worse(self) -> bool:
        """Whether any run, or a task of it, is shown worse than its base."""
        return any(row.is_worse for row in self.rows)

    @property
    def windows(self) -> dict[str, int | None]:
        """The window of each run in tokens, where it is known."""
        return {
            name: common_window(windows_of(run.manifest), run.records) if run and run.records else None
            for name, run in self.runs.items()
        }

    @property
    def parts(self) -> dict[str, list[str]]:
        """What differs of each compared run from its base."""
        parts = {}
        for row in self.rows:
            if row.pair is not None:
                parts[row.name] = differing_parts(self.manifest(row.base), self.manifest(row.name))
                parts[row.name] += differing_facts(*row.pair.reworded) if row.pair.reworded else []
        return parts

    @property
    def same_weights(self) -> list[str]:
        """Which runs have the same weights under different names, and the other way round."""
        return weights_lines({name: run.manifest for name, run in self.runs.items() if run is not None})

    @property
    def lines(self) -> list[str]:
        """What a terminal has of it: all runs in one table, and the details of a pair that is the only one."""
        lines, parts = comparison_lines(self.rows, self.windows), self.parts
        for row in self.rows:
            if row.pair is not None and len(parts) == 1:
                lines += ["", f"A: {self.label(row.base)}", f"B: {self.label(row.name)}", *pair_lines(row.pair)]
                lines += differing_lines(parts[row.name] or ["nothing"], "the runs", "in report.html")
        return [*lines, *self.same_weights]

    def manifest(self, name: str) -> Mapping[str, Any] | None:
        """The manifest of a run; `None` where it has none."""
        run = self.runs[name]
        return (run.manifest or None) if run else None

    def label(self, name: str) -> str:
        """`run (model)`, and whether it came to its end."""
        run = self.runs[name]
        if run is None:
            return one_line(name)
        early = interrupted(len(run.records), run.planned)
        return one_line(f"{name} ({', '.join(models_of(run))}){f', {early}' if early else ''}")


def compare_named(
    runs: Mapping[str, Run | None], why: Mapping[str, str] | None = None, base: Base = "first"
) -> RunsComparison:
    """Compare runs with the first of them, or with the one before. `why`: of some that have not run, the reason."""
    rows = compare_runs({name: run.records if run else () for name, run in runs.items()}, base)
    reasons = why or {}
    return RunsComparison(
        runs, tuple(row if row.scores.trials else replace(row, why=reasons.get(row.name) or row.why) for row in rows)
    )


def write_comparison(
    comparison: RunsComparison,
    folder: Path,
    *,
    title: str,
    links: Mapping[str, str] | None = None,
    facts: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[Path]:
    """Write report.html, scores.png and .svg, and comparison.json; return their paths. `links`: to each run's report;
    `facts`: what else comparison.json says of each.
    """
    sentence = comparison_sentence(comparison.rows).rstrip(".")
    charts = score_lines(comparison.rows, "scores", sentence or title, title if sentence else "")
    pictures = write_charts(charts, folder)
    page = comparison_html(
        comparison.rows,
        title=title,
        labels={name: comparison.label(name) for name in comparison.runs},
        windows=comparison.windows,
        parts=comparison.parts,
        links=links,
        picture=next((path.read_bytes() for path in pictures if path.suffix == ".png"), None),
        notes=comparison.same_weights,
    )
    write_whole(folder / COMPARISON, comparison_text(comparison, title, facts).encode())
    write_whole(folder / "report.html", page.encode())
    return [folder / "report.html", *pictures, folder / COMPARISON]


def comparison_text(
    comparison: RunsComparison, title: str, facts: Mapping[str, Mapping[str, Any]] | None = None
) -> str:
    """The text of comparison.json; `facts` as of `write_comparison`."""
    windows, more = comparison.windows, facts or {}
    known = {
        name: {**_facts(run), "window": windows[name], **more.get(name, {})} for name, run in comparison.runs.items()
    }
    content = {
        "schema": SCHEMA,
        "name": title,
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "same_weights": comparison.same_weights,
        "configurations": comparison_object(comparison.rows, known),
    }
    return escaped(json.dumps(content, ensure_ascii=False, indent=1)) + "\n"


def _facts(run: Run | None) -> dict[str, Any]:
    manifest = run.manifest if run else {}
    return {
        "model": models_of(run) if run else [],
        "started": manifest.get("started"),
        "commit": manifest.get("commit"),
    }


def arranged(paths: Sequence[Path], order: Order = "given", labels: Sequence[str] | None = None) -> dict[str, Run]:
    """Read runs, and return them by name: the label given, else the folder's name, else the path. Raises `InputError`.

    `labels`: one for each path, in the order of the paths.
    """
    runs = [_read(path) for path in paths]
    names = list(labels) if labels else [run.name for run in runs]
    if not labels and len(set(names)) < len(names):
        names = [str(path) for path in paths]
    if len(names) != len(runs):
        raise InputError("--labels", ",".join(names), f"give one for each of the {len(runs)} runs")
    if not labels and len(names) == 2 and names[0] == names[1]:
        names[1] += " (again)"  # a run against itself differs in nothing: a check of the command
    if len(set(names)) < len(names):
        option, what = ("--labels", "one label") if labels else ("runs", "one of them")
        raise InputError(option, ", ".join(names), f"{what} is given twice")
    ranked = sorted(zip(names, runs, strict=True), key=lambda pair: _rank(order, *pair))
    return dict(ranked)


def parse_labels(text: str) -> tuple[str, ...]:
    """`base,KV q8_0`: the labels, without space around them."""
    return tuple(part.strip() for part in text.split(","))


def models_of(run: Run) -> list[str]:
    """The models that a run asked, sorted."""
    return sorted({record.model for record in run.records})


def _read(path: Path) -> Run:
    run = read_run(path)
    if not run.records:
        raise InputError("run", path, "holds no trials; there is nothing to compare")
    return run


def _rank(order: Order, name: str, run: Run) -> tuple[float, str]:
    """Sort key of a run; runs of equal keys stay as they were given."""
    if order == "given":
        return 0.0, ""
    if order == "name":
        return 0.0, name
    if order == "date":
        when = began(run.manifest)
        if when is None:
            raise InputError("--order", order, f"{name} has no manifest.json that says when it began; use step or name")
        return when.timestamp(), ""
    step = step_of([name, *models_of(run)])
    if step is None:
        raise InputError("--order", order, f"no number in {name!r} or in its model's name; use date or name")
    return step, ""
