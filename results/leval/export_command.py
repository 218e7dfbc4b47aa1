"""`needlework leval-export RUN...`: the folder that L-Eval's leaderboard asks for, from runs of its tasks.

Predictions as L-Eval's own scripts write them, tables with the leaderboard's keys, a template of the metadata. Fields
that a run cannot know are left blank.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from needlework.haystack_fixtures.command_line import OneLineParser, refuse
from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.tasks.leval.own import own_rule
from needlework.haystack_fixtures.writing.whole_files import write_whole
from needlework.results.files.json_file import read_json
from needlework.results.leval.averages import averages
from needlework.results.leval.predictions import SUFFIX, read_predictions
from needlework.results.leval.report import lines, report_object
from needlework.results.leval.submission import FOR_JUDGES, Entry, Table, entries, judged_table, metadata, tables
from needlework.results.leval.task_scores import TaskScores, score_task
from needlework.results.records.run_file import read_run_json
from needlework.results.style.text import one_line
from needlework.scoring.leval.tasks import TASKS, Task, own_task
from needlework.scoring.leval.words import MissingPackageError

_SHOWN = 5
_JUDGES = {"gpt4": "--judged-gpt4", "turbo": "--judged-turbo"}


def main(argv: Sequence[str]) -> int:
    """Write the folder; returns the exit code: 0, or 2 after one line about what was wrong."""
    try:
        _run(_parser().parse_args(argv))
    except InputError as error:
        return refuse("leval-export", error)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = OneLineParser(prog="needlework leval-export", description=__doc__)
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="run folders, of one model or several")
    parser.add_argument("--name", help="the model's name on the leaderboard [the run's]")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="folder to write [RUN/leval]")
    for judge, option in _JUDGES.items():
        parser.add_argument(option, type=Path, metavar="FILE", help=f"what `needlework judge --out` wrote of {judge}")
    return parser


def _run(options: argparse.Namespace) -> None:
    records = [record for run in options.runs for record in read_json(_results(run))]
    if options.name is not None and not re.fullmatch(r"\w[\w.-]*", options.name):
        raise InputError("--name", options.name, "is the name of a folder: write letters, digits, dots and hyphens")
    found = entries(records, options.name)
    if not found:
        raise InputError("RUN", options.runs[0], "has no answers to tasks of L-Eval (leval_...)")
    twice = next((name for name, count in Counter(entry.name for entry in found).items() if count > 1), None)
    if options.name is None and twice:
        raise InputError(
            "RUN", options.runs[0], f"has two models that would both be called {twice}: give one at a time"
        )
    if options.name and len({entry.model for entry in found}) > 1:
        raise InputError("--name", options.name, "the runs are of several models; give it for one at a time")
    manifests = [_object(run / "manifest.json", "RUN") for run in options.runs]
    out = options.out or options.runs[0] / "leval"
    judged = {judge: _object(given, option) for judge, option in _JUDGES.items() if (given := _given(options, judge))}
    for entry in found:
        folder = out / entry.name
        for path, rows in entry.rows.items():
            _write(folder / "Predictions" / path, "".join(f"{json.dumps(row)}\n" for row in rows))
        scored = _scored(folder, entry)
        means = averages(scored)
        window, budget = _window(manifests, entry.model), _budget(manifests)
        shown = tables(entry, scored, window, budget)
        shown |= {f"{judge}_evaluator.csv": _judged(entry, told, judge) for judge, told in judged.items()}
        for name, table in shown.items():
            _write(folder / "Results" / name, _csv(table))
        parts = [(entry.name, scored, means)]
        _write(folder / "Results" / "scores.json", json.dumps(report_object(parts), indent=1))
        _write(folder / "metadata.json", json.dumps(metadata(entry, window), indent=1))
        for line in lines(parts, ()):
            print(line)
        for kind, expected in FOR_JUDGES.items():
            count = sum(len(rows) for path, rows in entry.rows.items() if path.startswith(f"{kind}/"))
            if count and count != expected:
                print(f"{kind}: {count} of {expected} rows; run the whole --leval-subset")
        if entry.missing:
            named = ", ".join(entry.missing[:_SHOWN])
            more = f" and {len(entry.missing) - _SHOWN} more" if len(entry.missing) > _SHOWN else ""
            print(one_line(f"without an answer, {len(entry.missing)}: {named}{more}"))
        print(f"written to {folder}; metadata.json has fields to fill in\n")


def _results(run: Path) -> Path:
    path = run / "results.json"
    try:
        there = path.is_file()
    except OSError as error:
        raise InputError("RUN", run, f"cannot be read ({error.strerror})") from None
    if not there:
        raise InputError("RUN", run, "is no folder of a run: it has no results.json")
    return path


def _scored(folder: Path, entry: Entry) -> list[TaskScores]:
    """The tasks scored from the very files that were written."""
    order = {name: place for place, name in enumerate(TASKS)}
    paths = [path for path in entry.rows if path.startswith(("exam_eval/", "ngram_eval/"))]
    tasks = [(_task(entry, path), path) for path in paths]
    tasks.sort(key=lambda each: order.get(each[0].name, len(order)))
    try:
        return [score_task(read_predictions(folder / "Predictions" / path, task)) for task, path in tasks]
    except MissingPackageError as error:
        raise InputError("RUN", folder, str(error)) from None


def _task(entry: Entry, path: str) -> Task:
    """The task of a file that was written; of one's own as many questions as were asked."""
    name = Path(path).name.removesuffix(SUFFIX)
    if name in TASKS:
        return TASKS[name]
    rows = entry.rows[path]
    evaluation = rows[0]["evaluation"]
    rule = own_rule(evaluation, [row["gt"] for row in rows])
    return own_task(name, evaluation, rule, len(rows) + entry.without.get(name, 0))


def _given(options: argparse.Namespace, judge: str) -> Path | None:
    path: Path | None = getattr(options, f"judged_{judge}")
    return path


def _judged(entry: Entry, told: Mapping[str, Any], judge: str) -> Table:
    try:
        return judged_table(entry, told)
    except ValueError as error:
        raise InputError(_JUDGES[judge], entry.name, str(error)) from None
    except (KeyError, TypeError):
        raise InputError(_JUDGES[judge], entry.name, "give a file that `needlework judge --out` wrote") from None


def _object(path: Path, option: str) -> dict[str, Any]:
    try:
        content = read_run_json(path)
    except (OSError, ValueError, RecursionError) as error:
        problem = getattr(error, "strerror", None) or error
        raise InputError(option, path, f"cannot be read ({problem})") from None
    if not isinstance(content, dict):
        raise InputError(option, path, "is no JSON object")
    return content


def _window(manifests: Sequence[Mapping[str, Any]], model: str) -> int | None:
    models = [manifest.get("models") for manifest in manifests]
    told = [each.get(model) for each in models if isinstance(each, dict)]
    windows = [each.get("window") for each in told if isinstance(each, dict)]
    return next((window for window in windows if isinstance(window, int)), None)


def _budget(manifests: Sequence[Mapping[str, Any]]) -> int:
    """Tokens of an answer."""
    suites = [suite for manifest in manifests for suite in manifest.get("suites") or ()]
    budgets = [suite.get("answer_budget") for suite in suites if isinstance(suite, dict)]
    return max((budget for budget in budgets if isinstance(budget, int)), default=0)


def _csv(table: Table) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(table)
    return text.getvalue()


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text.encode("utf-8", "surrogatepass"))
    except OSError as error:
        raise InputError("--out", path, f"cannot be written ({error.strerror or error})") from None
