"""`needlework compare`: two runs, or several."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from needlework.core.errors import InputError, OneLineParser, refuse
from needlework.core.files import write_whole
from needlework.core.grid import slug
from needlework.results.files.json_files import COMPARISON, SCHEMA, several_object
from needlework.results.files.read_run import Run, read_run
from needlework.results.html.boards import several_html
from needlework.results.html.comparison import several_sentence, write_comparison_html
from needlework.results.pictures.comparison import write_difference_heatmaps, write_score_lines
from needlework.results.pictures.heatmap import FORMATS, parse_formats
from needlework.results.records.samples import began, common_window, step_of, windows_of
from needlework.results.statistics.comparison.comparison import Comparison, compare
from needlework.results.statistics.comparison.joining import differing_trial, weights_lines
from needlework.results.statistics.comparison.many_runs import Against, Base, compare_several
from needlework.results.statistics.comparison.provenance import check_dtypes, differing_facts, differing_parts
from needlework.results.statistics.run_report import interrupted
from needlework.results.style import one_line
from needlework.results.tables.comparison import (
    PARTS_SHOWN,
    comparison_lines,
    differing_lines,
    family_name,
    family_sentence,
    several_lines,
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


@dataclass(frozen=True)
class Several:
    """Runs by the names they are shown by; `None`: it has not run. `found`: each against its base."""

    runs: Mapping[str, Run | None]
    found: tuple[Against, ...]
    windows: Mapping[str, int | None]

    @property
    def lines(self) -> list[str]:
        """What a terminal has of it."""
        return [*several_lines(self.found, self.windows), *self.same_weights]

    @property
    def same_weights(self) -> list[str]:
        """Which runs have the same weights under different names, and the other way round."""
        return weights_lines({name: run.manifest for name, run in self.runs.items() if run is not None})

    @property
    def is_one_worse(self) -> bool:
        """Whether any is shown worse than its base."""
        return any(each.verdict == "worse" for each in self.found)


def several(runs: Mapping[str, Run | None], why: Mapping[str, str] | None = None, base: Base = "first") -> Several:
    """Compare runs with the first of them, or with the one before. `why`: of some that have not run, the reason."""
    reasons = why or {}
    found = tuple(
        each if each.scores.trials else replace(each, why=reasons.get(each.name) or each.why)
        for each in compare_several({name: run.records if run else () for name, run in runs.items()}, base)
    )
    windows = {
        name: common_window(windows_of(run.manifest), run.records) if run and run.records else None
        for name, run in runs.items()
    }
    return Several(runs, found, windows)


def write_several(
    found: Several,
    folder: Path,
    *,
    title: str,
    links: Mapping[str, str] | None = None,
    facts: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[Path]:
    """Write report.html, scores.png and .svg, and comparison.json; return their paths. `links`: to each run's report;
    `facts`: what else comparison.json says of each.
    """
    told = several_sentence(found.found).rstrip(".")
    pictures = write_score_lines(found.found, folder / "scores", title=told or title, below=title if told else "")
    picture = next((path.read_bytes() for path in pictures if path.suffix == ".png"), None)
    parts = _parts(found)
    page = several_html(
        found.found,
        title=title,
        windows=found.windows,
        parts=parts,
        links=links or {},
        picture=picture,
        notes=found.same_weights,
    )
    write_whole(folder / COMPARISON, comparison_text(found, title, facts).encode())
    write_whole(folder / "report.html", page.encode())
    return [folder / "report.html", *pictures, folder / COMPARISON]


def comparison_text(found: Several, title: str, facts: Mapping[str, Mapping[str, Any]] | None = None) -> str:
    """The text of comparison.json; `facts` as of `write_several`."""
    told = {name: {**_facts(found, name), **(facts or {}).get(name, {})} for name in found.runs}
    summary = {
        "schema": SCHEMA,
        "name": title,
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "same_weights": found.same_weights,
        "configurations": several_object(found.found, told),
    }
    return json.dumps(summary, ensure_ascii=False, indent=1) + "\n"


def _parts(found: Several) -> dict[str, Sequence[str]]:
    """What differs of each run from its base; of none whose base is not there."""
    parts: dict[str, Sequence[str]] = {}
    for each in found.found:
        run, base = found.runs[each.name], found.runs.get(each.base)
        if run is not None and base is not None:
            parts[each.name] = differing_parts(base.manifest or None, run.manifest or None)
    return parts


def _facts(found: Several, name: str) -> dict[str, Any]:
    run = found.runs[name]
    manifest = run.manifest if run else {}
    return {
        "model": sorted({record.model for record in run.records}) if run else [],
        "window": found.windows.get(name),
        "started": manifest.get("started"),
        "commit": manifest.get("commit"),
    }


Order = Literal["given", "name", "date", "step"]
ORDERS: tuple[Order, ...] = ("given", "name", "date", "step")


def arranged(paths: Sequence[Path], order: Order = "given", labels: Sequence[str] | None = None) -> dict[str, Run]:
    """Read runs, and return them by name: the label given, else the folder's name, else the path. Raises `InputError`.

    `labels`: one for each path, in the order of the paths.
    """
    runs = [_read(path) for path in paths]
    names = list(labels) if labels else _names(paths, runs)
    if len(names) != len(runs):
        raise InputError("--labels", ",".join(names), f"give one for each of the {len(runs)} runs")
    if not labels and len(names) == 2 and names[0] == names[1]:
        names[1] += " (again)"  # a run against itself differs in nothing: a check of the command
    if len(set(names)) < len(names):
        option, what = ("--labels", "one label") if labels else ("runs", "one of them")
        raise InputError(option, ", ".join(names), f"{what} is given twice")
    ranked = sorted(zip(names, runs, strict=True), key=lambda pair: _place(order, *pair))
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


def _names(paths: Iterable[Path], runs: Sequence[Run]) -> list[str]:
    alike = len({run.name for run in runs}) < len(runs)
    return [str(path) if alike else run.name for path, run in zip(paths, runs, strict=True)]


def _place(order: Order, name: str, run: Run) -> tuple[float, str]:
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
