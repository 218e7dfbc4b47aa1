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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum
from pathlib import Path
from typing import Any

from needlework.core.errors import InputError, OneLineParser, refuse
from needlework.core.files import write_whole
from needlework.core.record import SCORED, UNDECIDED, Record
from needlework.haystack_fixtures.tasks.published.leval import own_rule
from needlework.results.files.json_files import read_json
from needlework.results.leval.predictions import SUFFIX, read_predictions
from needlework.results.leval.scores import Rule, TaskScores, averages, lines, main_metric, report_object, score_task
from needlework.results.records.run_folder import read_run_json
from needlework.results.records.samples import by_test
from needlework.results.statistics.panels import Share
from needlework.results.style import one_line
from needlework.scoring.leval.overlap import MissingPackageError
from needlework.scoring.leval.tasks import BY_JUDGES, CLOSED, TASKS, WITH_F1, WITH_ROUGE, LevalTask, own_task

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


def _scored(folder: Path, entry: SubmissionRow) -> list[TaskScores]:
    """The tasks scored from the very files that were written."""
    order = {name: place for place, name in enumerate(TASKS)}
    paths = [path for path in entry.rows if path.startswith(("exam_eval/", "ngram_eval/"))]
    tasks = [(_task(entry, path), path) for path in paths]
    tasks.sort(key=lambda each: order.get(each[0].name, len(order)))
    try:
        return [score_task(read_predictions(folder / "Predictions" / path, task)) for task, path in tasks]
    except MissingPackageError as error:
        raise InputError("RUN", folder, str(error)) from None


def _task(entry: SubmissionRow, path: str) -> LevalTask:
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


def _judged(entry: SubmissionRow, told: Mapping[str, Any], judge: str) -> Table:
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


# Keys and files are those that upstream's README names under "How to Submit" (cd34b05).
FAMILY = "leval_"
# Records of a question's answer; what is skipped, invalid or an error is no answer.
_ANSWERED = frozenset({*SCORED, *UNDECIDED})
_LABEL = re.compile(r"doc(\d+)_q(\d+)(?:_([a-z0-9]+))?")
_OWN = re.compile(r"[a-z0-9_]+")
_TASKS = {name.lower(): name for name in TASKS}
# README: "averaging over 4 datasets"; the figure of the same repository has six.
_FOUR = ("tpo", "quality", "coursera", "gsm100")
_EXAM = (*CLOSED, "topic_retrieval_longchat")
_COMPAT: Rule = "compat"
# Rows that a judge's folder has when it is whole.
FOR_JUDGES = {"llm_gpt4_eval": 96, "human_eval": 85, "llm_turbo_eval": 181}

Row = dict[str, Any]
Table = tuple[Sequence[str], Sequence[str]]


@dataclass(frozen=True, slots=True)
class SubmissionRow:
    """One line of the leaderboard: a model at one length, whole documents or what a retriever found of them.

    `rows`: of each prediction file, by its path below the folder of predictions. `missing`: questions that were asked
    and have no answer, `without` how many of each task. `length`: tokens of prompt and answer.
    """

    name: str
    model: str
    length: int
    retriever: str
    rows: Mapping[str, Sequence[Row]]
    missing: Sequence[str]
    without: Mapping[str, int] = field(default_factory=dict)


def entries(records: Iterable[Record], name: str | None = None) -> tuple[SubmissionRow, ...]:
    """The leaderboard's entries that records hold, first trials of each question alone.

    `name`: the model's name on the leaderboard; with several lengths, retrievers or tests, these are added to it.
    """
    groups: dict[tuple[str, int, str], list[tuple[tuple[int, int], Record]]] = {}
    for test, asked in by_test(record for record in records if record.task.startswith(FAMILY)).items():
        for record in asked:
            label = _LABEL.fullmatch(record.needle)
            if _task_of(record) and label and record.repeat == 0:
                place, arm = (int(label[1]), int(label[2])), "-".join(filter(None, (label[3], test)))
                groups.setdefault((record.model, record.length, arm), []).append((place, record))
    return tuple(
        _entry(_name(key, list(groups), name), key, [record for _, record in sorted(found, key=lambda each: each[0])])
        for key, found in groups.items()
    )


def _task_of(record: Record) -> str:
    """Which of L-Eval's tasks a record is of, or which file of one's own; empty for any other: names of files."""
    name = record.task.removeprefix(FAMILY)
    if not record.task.startswith(FAMILY):
        return ""
    return _TASKS.get(name) or (name if _OWN.fullmatch(name) else "")


def _name(key: tuple[str, int, str], keys: Sequence[tuple[str, int, str]], name: str | None) -> str:
    model, length, retriever = key
    parts = [name or re.sub(r"[^\w.]+", "-", model).strip("-.") or "model"]
    if len({other for _, other, _ in keys}) > 1:
        parts.append(f"len{length}")
    if retriever:
        parts.append(retriever)
    return "-".join(parts)


def _entry(name: str, key: tuple[str, int, str], records: Sequence[Record]) -> SubmissionRow:
    rows: dict[str, list[Row]] = {}
    missing: list[str] = []
    without: Counter[str] = Counter()
    for record in records:
        task = _task_of(record)
        if record.outcome not in _ANSWERED:
            missing.append(f"{record.id} ({record.outcome})")
            without[task] += 1
            continue
        evaluation = str(record.reference.get("evaluation", ""))
        row: Row = {
            "query": str(record.reference.get("question", record.question)),
            "gt": record.expected[0] if record.expected else "",
            "prompt": record.question,
            f"{name}_pred": str(record.response.text),
            "evaluation": evaluation,
        }
        if task not in TASKS and (label := _LABEL.fullmatch(record.needle)):
            row["document"] = int(label[1])
        for path in _paths(name, task, evaluation):
            rows.setdefault(path, []).append(row)
    return SubmissionRow(name, key[0], key[1], key[2], rows, missing, without)


def _paths(name: str, task: str, evaluation: str) -> tuple[str, ...]:
    """Where upstream looks for a row: rows for judges stand in one file a model, GPT-3.5 judges both kinds of them."""
    if evaluation not in BY_JUDGES:
        return (f"{'exam_eval' if evaluation == 'exam' else 'ngram_eval'}/{name}/{task}.pred.jsonl",)
    own = "llm_gpt4_eval" if evaluation == "LLM" else "human_eval"
    return f"{own}/{name}.pred.jsonl", f"llm_turbo_eval/{name}.pred.jsonl"


def tables(entry: SubmissionRow, scored: Sequence[TaskScores], window: int | None, budget: int) -> dict[str, Table]:
    """The leaderboard's tables by file name, a head and one row each; scores by the published rules, in percent.

    What is not complete stays blank. `window`: tokens of the model's context; `budget`: tokens of the answer.
    """
    by_name = {each.task.name: each for each in scored}
    setting = {
        "Max-Ctx": str(window or ""),
        "Tokens": str(entry.length - budget),
        "Ret.": "yes" if entry.retriever else "no",
        "PE": "no",
        "IDD": "",
    }
    found: dict[str, dict[str, str]] = {}
    if any(name in by_name for name in _EXAM):
        found["exact_match.csv"] = (
            {name: _main(by_name, name) for name in _EXAM}
            | {"Avg": _average(by_name, CLOSED), "Avg of 4": _average(by_name, _FOUR)}
            | setting
        )
    if any(name in by_name for name in WITH_F1):
        found["f1.csv"] = (
            {name: _main(by_name, name) for name in WITH_F1}
            | {"F1 avg": _average(by_name, WITH_F1), "Length": _words(entry, WITH_F1)}
            | setting
        )
    if any(name in by_name for name in WITH_ROUGE):
        found["rouge.csv"] = (
            {name: _three(by_name, name) for name in WITH_ROUGE}
            | {"ROUGE avg": _average(by_name, WITH_ROUGE), "Length": _words(entry, WITH_ROUGE)}
            | setting
        )
    own = [each for each in scored if each.task.own]
    if own:
        found["own_tasks.csv"] = {each.task.name: _own(by_name, each.task) for each in own} | setting
    return {file: (("Model", *cells), (entry.name, *cells.values())) for file, cells in found.items()}


def judged_table(entry: SubmissionRow, judged: Mapping[str, Any]) -> Table:
    """The row of a judge's table, from what `needlework judge --out` wrote. Raises `ValueError` for another model's."""
    ours, rival = str(judged["ours"]["model"]), str(judged["rival"]["model"])
    if ours not in (entry.name, entry.model):
        raise ValueError(f"it judged {ours}, and these are answers of {entry.name} (--name, if that is the same)")
    if re.sub(r"[^a-z0-9]", "", rival.lower()).find("turbo16k") < 0:
        raise ValueError(f"it compares with {rival}, and the table's rival is turbo-16k")
    rate = judged["rates"][_COMPAT]
    rows = [row for path, rows in entry.rows.items() if path.startswith("llm_") for row in rows]
    cells = {
        "Model": entry.name,
        "n_wins": str(rate["wins"]),
        "n_draws": str(rate["ties"]),
        "win % vs turbo16k": _percent(rate["of_those_there"]["value"]),
        "Length": _mean_words([row[f"{entry.name}_pred"] for row in rows]),
    }
    return tuple(cells), tuple(cells.values())


def metadata(entry: SubmissionRow, window: int | None) -> dict[str, Any]:
    """The template of what a run cannot know; blank fields are for the person who submits."""
    return {
        "model_name": entry.name,
        "number_of_parameters": "",
        "links": {"paper": "", "blog": "", "github": "", "demo": ""},
        "max_context_tokens": window,
        "in_domain_data": "",
        "asked_as": entry.model,
        "retriever": entry.retriever or "none",
        "length_tokens": entry.length,
        "prompts": "L-Eval's structure in the wording of Needlework",
    }


def _main(by_name: Mapping[str, TaskScores], name: str) -> str:
    return _percent(_value(by_name, name, None))


def _own(by_name: Mapping[str, TaskScores], task: LevalTask) -> str:
    return _three(by_name, task.name) if task.evaluation == "rouge" else _main(by_name, task.name)


def _three(by_name: Mapping[str, TaskScores], name: str) -> str:
    values = [_value(by_name, name, metric) for metric in ("rouge1", "rouge2", "rougeL")]
    return "" if None in values else "/".join(map(_percent, values))


def _average(by_name: Mapping[str, TaskScores], names: Sequence[str]) -> str:
    values = [value for name in names if (value := _value(by_name, name, None)) is not None]
    return _percent(fsum(values) / len(values)) if len(values) == len(names) else ""


def _value(by_name: Mapping[str, TaskScores], name: str, metric: str | None) -> float | None:
    scored = by_name.get(name)
    if scored is None or not scored.means:
        return None
    share: Share = scored.means[metric or main_metric(scored.task)][_COMPAT].score
    return share.value


def _words(entry: SubmissionRow, names: Sequence[str]) -> str:
    files = {f"ngram_eval/{entry.name}/{name}.pred.jsonl" for name in names}
    return _mean_words([row[f"{entry.name}_pred"] for path in files for row in entry.rows.get(path, ())])


def _mean_words(answers: Sequence[str]) -> str:
    return f"{fsum(len(answer.split()) for answer in answers) / len(answers):.1f}" if answers else ""


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.2f}"
