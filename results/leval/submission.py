"""`needlework leval-export RUN...`: the folder that L-Eval's leaderboard asks for, from runs of its tasks.

Predictions as L-Eval's own scripts write them, tables with the leaderboard's keys, a template of the metadata. Fields
that a run cannot know are left blank.
"""

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import fsum
from pathlib import Path
from typing import Any

from msgspec import Struct

from needlework.core.errors import InputError, OneLineParser, run_command
from needlework.core.files import write_whole
from needlework.core.record import SCORED, UNDECIDED, Record
from needlework.haystack_fixtures.tasks.published.leval_files import BY_JUDGES, CLOSED, LEVAL_TASKS, WITH_F1, WITH_ROUGE
from needlework.results.files.csv_files import table_text
from needlework.results.files.json_files import json_bytes
from needlework.results.files.read_run import read_run
from needlework.results.leval.predictions import SUFFIX, read_answers
from needlework.results.leval.scores import TaskScores, legend, main_metric, report_object, score_tasks, table_lines
from needlework.results.records.samples import by_test, object_of, windows_of
from needlework.results.style import first_few, natural, one_line
from needlework.scoring.leval.overlap import PUBLISHED

# Keys and files are those that upstream's README names under "How to Submit" (cd34b05).
FAMILY = "leval_"
_SHOWN = 5
_ANSWERED = frozenset({*SCORED, *UNDECIDED})  # what is skipped, invalid or an error is no answer
_OWN_TASK = re.compile(r"[a-z0-9_]+")
_TASKS = {name.lower(): name for name in LEVAL_TASKS}
_FOUR = ("tpo", "quality", "coursera", "gsm100")  # README: "averaging over 4 datasets"; the same repository's figure: 6
_EXAM = (*CLOSED, "topic_retrieval_longchat")

Row = dict[str, Any]


class SubmissionRow(Struct, frozen=True):
    """One line of the leaderboard: a model at one length, on whole documents or retrieved text."""

    name: str
    model: str
    length: int  # tokens of prompt and answer
    retriever: str
    rows: dict[str, list[Row]] = {}  # of each prediction file, by its path below Predictions/
    missing: list[str] = []  # questions that were asked and have no answer


def main(argv: Sequence[str]) -> int:
    """Write the folder; returns the exit code: 0, or 2 after one line about what was wrong."""
    parser = OneLineParser(prog="needlework leval-export", description=__doc__)
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="run folders, of one model or several")
    parser.add_argument("--name", help="the model's name on the leaderboard [the run's]")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="folder to write [RUN/leval]")
    options = parser.parse_args(argv)
    return run_command("leval-export", lambda: _run(options))


def _run(options: argparse.Namespace) -> None:
    runs = [read_run(path) for path in options.runs]
    records = [record for run in runs for record in run.records]
    if options.name is not None and not re.fullmatch(r"\w[\w.-]*", options.name):
        raise InputError("--name", options.name, "is the name of a folder: write letters, digits, dots and hyphens")
    entries = submission_rows(records, options.name)
    if not entries:
        raise InputError("RUN", options.runs[0], "has no answers to tasks of L-Eval (leval_...)")
    if options.name and len({entry.model for entry in entries}) > 1:
        raise InputError("--name", options.name, "the runs are of several models; give it for one at a time")
    twice = next((name for name, count in Counter(entry.name for entry in entries).items() if count > 1), None)
    if twice:
        remedy = f"has two models that would both be called {twice}: give one at a time"
        raise InputError("RUN", options.runs[0], remedy)
    manifests = [run.manifest for run in runs]
    out = options.out or options.runs[0] / "leval"
    for entry in entries:
        print(*_write_entry(out / entry.name, entry, manifests), sep="\n")


def _write_entry(folder: Path, entry: SubmissionRow, manifests: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Write the folder of one entry; yields lines for the terminal. Raises `OSError`."""
    for path, rows in entry.rows.items():
        write_whole(folder / "Predictions" / path, "".join(f"{json.dumps(row)}\n" for row in rows).encode())
    scored = _scored(folder, entry)
    window = next((window for each in manifests if (window := windows_of(each).get(entry.model))), None)
    suites = [object_of(suite) for manifest in manifests for suite in manifest.get("suites") or ()]
    budget = max((size for suite in suites if isinstance(size := suite.get("answer_budget"), int)), default=0)
    for name, table in _tables(entry, scored, window, budget).items():
        write_whole(folder / "Results" / name, table_text(table, [table.values()]).encode())
    write_whole(folder / "Results" / "scores.json", json_bytes(report_object({entry.name: scored})))
    # What a run cannot know is left blank for the person who submits.
    metadata = {
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
    write_whole(folder / "metadata.json", json_bytes(metadata))
    yield from [*table_lines(entry.name, scored), *legend(scored)] if scored else [f"L-Eval, {entry.name}"]
    if entry.missing:
        yield one_line(f"without an answer, {len(entry.missing)}: {first_few(entry.missing, _SHOWN)}")
    yield f"written to {folder}; metadata.json has fields to fill in\n"


def submission_rows(records: Iterable[Record], name: str | None = None) -> list[SubmissionRow]:
    """The leaderboard's lines of some records, first trials of each question alone.

    `name`: the model's name on the leaderboard; with several lengths, retrievers or tests, these are added to it.
    """
    groups: dict[tuple[str, int, str], list[Record]] = {}
    for test, of_test in by_test(record for record in records if record.task.startswith(FAMILY)).items():
        for record in of_test:
            if _task_of(record) and re.fullmatch(r"doc[0-9]+_q[0-9]+", record.item) and record.repeat == 0:
                arm = "-".join(filter(None, (record.arm, test)))
                groups.setdefault((record.model, record.length, arm), []).append(record)
    lengths = {length for _, length, _ in groups}
    entries = []
    for (model, length, retriever), of_entry in groups.items():
        parts = [name or re.sub(r"[^\w.]+", "-", model).strip("-.") or "model"]
        parts += [f"len{length}"] * (len(lengths) > 1) + [retriever] * bool(retriever)
        entry = SubmissionRow("-".join(parts), model, length, retriever)
        for record in sorted(of_entry, key=lambda record: natural(record.item)):
            _add(entry, record)
        entries.append(entry)
    return entries


def _task_of(record: Record) -> str:
    """A record's task of L-Eval, or file of the user's own, as a file name; empty for any other."""
    name = record.task.removeprefix(FAMILY)
    return _TASKS.get(name) or (name if _OWN_TASK.fullmatch(name) else "")


def _add(entry: SubmissionRow, record: Record) -> None:
    """Add a record to the prediction files in which upstream looks for it.

    Rows for judges are in one file for each model; GPT-3.5 judges both kinds of them.
    """
    task, evaluation = _task_of(record), str(record.reference.get("evaluation", ""))
    if record.outcome not in _ANSWERED:
        entry.missing.append(f"{record.id} ({record.outcome})")
        return
    row: Row = {
        "query": str(record.reference.get("question", record.question)),
        "gt": record.expected[0] if record.expected else "",
        "prompt": record.question,
        f"{entry.name}_pred": str(record.response.text),
        "evaluation": evaluation,
    }
    if task not in LEVAL_TASKS:
        row["document"] = int(record.item.removeprefix("doc").partition("_")[0])
    paths = [f"{'exam_eval' if evaluation == 'exam' else 'ngram_eval'}/{entry.name}/{task}{SUFFIX}"]
    if evaluation in BY_JUDGES:
        kinds = ("llm_gpt4_eval" if evaluation == "LLM" else "human_eval", "llm_turbo_eval")
        paths = [f"{kind}/{entry.name}{SUFFIX}" for kind in kinds]
    for path in paths:
        entry.rows.setdefault(path, []).append(row)


def _scored(folder: Path, entry: SubmissionRow) -> list[TaskScores]:
    """L-Eval's tasks scored from the very files that were written."""
    for_rules = [path for path in entry.rows if path.startswith(("exam_eval/", "ngram_eval/"))]
    tasks = {path: LEVAL_TASKS.get(Path(path).name.removesuffix(SUFFIX)) for path in for_rules}
    files = ((task, folder / "Predictions" / path) for path, task in tasks.items() if task)
    return score_tasks((task, read_answers(path, task=task)) for task, path in files)


def _tables(
    entry: SubmissionRow, scored: Sequence[TaskScores], window: int | None, budget: int
) -> dict[str, dict[str, str]]:
    """The leaderboard's tables by file name; scores by the published rules, in percent.

    What is not complete stays blank. `window`: tokens of the model's context; `budget`: tokens of the answer.
    """
    cells: dict[str, str] = {}
    numbers: dict[str, float | None] = {}
    for scores in scored:
        task, means = scores.task, scores.means
        values = {metric: by_rule["compat"].score.value for metric, by_rule in means.items() if "compat" in by_rule}
        metrics = PUBLISHED if task.evaluation == "rouge" else (main_metric(task),)
        cells[task.name] = "/".join(_percent(values[metric]) for metric in metrics) if means else ""
        numbers[task.name] = values.get(main_metric(task))

    def average(names: Sequence[str]) -> str:
        values = [value for name in names if (value := numbers.get(name)) is not None]
        return _percent(fsum(values) / len(values)) if len(values) == len(names) else ""

    def length(names: Sequence[str]) -> str:
        """The mean length of the answers in words; empty without answers."""
        rows = (row for name in names for row in entry.rows.get(f"ngram_eval/{entry.name}/{name}{SUFFIX}", ()))
        lengths = [len(row[f"{entry.name}_pred"].split()) for row in rows]
        return f"{fsum(lengths) / len(lengths):.1f}" if lengths else ""

    columns = {
        "exact_match.csv": (_EXAM, {"Avg": average(CLOSED), "Avg of 4": average(_FOUR)}),
        "f1.csv": (WITH_F1, {"F1 avg": average(WITH_F1), "Length": length(WITH_F1)}),
        "rouge.csv": (WITH_ROUGE, {"ROUGE avg": average(WITH_ROUGE), "Length": length(WITH_ROUGE)}),
    }
    setting = {
        "Max-Ctx": str(window or ""),
        "Tokens": str(entry.length - budget),
        "Ret.": "yes" if entry.retriever else "no",
        "PE": "no",
        "IDD": "",
    }
    return {
        file: {"Model": entry.name} | {name: cells.get(name, "") for name in names} | further | setting
        for file, (names, further) in columns.items()
        if any(name in cells for name in names)
    }


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.2f}"
