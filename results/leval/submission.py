"""What L-Eval's leaderboard asks for, from the records of runs: prediction files, and tables with all of its keys.

Keys and files are those that upstream's README names under "How to Submit" (cd34b05).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum
from typing import Any

from needlework.results.leval.task_scores import Rule, TaskScores, main_metric
from needlework.results.records.record import SCORED, UNDECIDED, Record
from needlework.results.records.tests_of_cells import by_test
from needlework.results.statistics.tasks import Share
from needlework.scoring.leval.tasks import BY_JUDGES, CLOSED, TASKS, WITH_F1, WITH_ROUGE, Task

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
class Entry:
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


def entries(records: Iterable[Record], name: str | None = None) -> tuple[Entry, ...]:
    """The leaderboard's entries that records hold, first trials of each question alone.

    `name`: the model's name on the leaderboard; with several lengths, retrievers or tests, these are added to it.
    """
    groups: dict[tuple[str, int, str], list[tuple[tuple[int, int], Record]]] = {}
    for test, asked in by_test(record for record in records if record["task"].startswith(FAMILY)).items():
        for record in asked:
            label = _LABEL.fullmatch(record["needle"])
            if _task_of(record) and label and record["repeat"] == 0:
                place, arm = (int(label[1]), int(label[2])), "-".join(filter(None, (label[3], test)))
                groups.setdefault((record["model"], record["length"], arm), []).append((place, record))
    return tuple(
        _entry(_name(key, list(groups), name), key, [record for _, record in sorted(found, key=lambda each: each[0])])
        for key, found in groups.items()
    )


def _task_of(record: Record) -> str:
    """Which of L-Eval's tasks a record is of, or which file of one's own; empty for any other: names of files."""
    name = record["task"].removeprefix(FAMILY)
    if not record["task"].startswith(FAMILY):
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


def _entry(name: str, key: tuple[str, int, str], records: Sequence[Record]) -> Entry:
    rows: dict[str, list[Row]] = {}
    missing: list[str] = []
    without: Counter[str] = Counter()
    for record in records:
        task = _task_of(record)
        if record["outcome"] not in _ANSWERED:
            missing.append(f"{record['id']} ({record['outcome']})")
            without[task] += 1
            continue
        evaluation = str(record["reference"].get("evaluation", ""))
        row: Row = {
            "query": str(record["reference"].get("question", record["question"])),
            "gt": record["expected"][0] if record["expected"] else "",
            "prompt": record["question"],
            f"{name}_pred": str(record["response"].get("text", "")),
            "evaluation": evaluation,
        }
        if task not in TASKS and (label := _LABEL.fullmatch(record["needle"])):
            row["document"] = int(label[1])
        for path in _paths(name, task, evaluation):
            rows.setdefault(path, []).append(row)
    return Entry(name, key[0], key[1], key[2], rows, missing, without)


def _paths(name: str, task: str, evaluation: str) -> tuple[str, ...]:
    """Where upstream looks for a row: rows for judges stand in one file a model, GPT-3.5 judges both kinds of them."""
    if evaluation not in BY_JUDGES:
        return (f"{'exam_eval' if evaluation == 'exam' else 'ngram_eval'}/{name}/{task}.pred.jsonl",)
    own = "llm_gpt4_eval" if evaluation == "LLM" else "human_eval"
    return f"{own}/{name}.pred.jsonl", f"llm_turbo_eval/{name}.pred.jsonl"


def tables(entry: Entry, scored: Sequence[TaskScores], window: int | None, budget: int) -> dict[str, Table]:
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


def judged_table(entry: Entry, judged: Mapping[str, Any]) -> Table:
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


def metadata(entry: Entry, window: int | None) -> dict[str, Any]:
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


def _own(by_name: Mapping[str, TaskScores], task: Task) -> str:
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


def _words(entry: Entry, names: Sequence[str]) -> str:
    files = {f"ngram_eval/{entry.name}/{name}.pred.jsonl" for name in names}
    return _mean_words([row[f"{entry.name}_pred"] for path in files for row in entry.rows.get(path, ())])


def _mean_words(answers: Sequence[str]) -> str:
    return f"{fsum(len(answer.split()) for answer in answers) / len(answers):.1f}" if answers else ""


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.2f}"
