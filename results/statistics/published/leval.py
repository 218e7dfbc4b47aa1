"""L-Eval's averages of a run: the closed tasks, F1, ROUGE, and all tasks together, each task weighing the same.

L-Eval (C. An et al., "L-Eval: Instituting Standardized Evaluation for Long Context Language Models", ACL 2024)
publishes the first three over six, six and seven tasks, topic retrieval left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from needlework.results.records.controls import retriever_of
from needlework.results.records.record import Record
from needlework.results.records.tests_of_cells import task_of
from needlework.results.statistics.panels import Tally, Trial, tally, trial_of
from needlework.results.statistics.tasks import Share, weighted_mean
from needlework.scoring.leval.tasks import CLOSED, TASKS, WITH_F1, WITH_ROUGE

_FAMILY = "leval_"
_ROUGE = {"rouge1": "ROUGE-1", "rouge2": "ROUGE-2", "rougeL": "ROUGE-L"}
_NAMES = {name.lower(): name for name in TASKS}


@dataclass(frozen=True, slots=True)
class LevalAverage:
    """The mean of some tasks' means, 0..1; its interval takes tasks as independent.

    `tasks`: those that have a score, `of` those that the published average has; `missing`: the others, and those
    without all of their questions, as `codeU 0 of 90`. `n`: answers with a score, `unscored`: without.
    """

    name: str
    score: Share
    tasks: tuple[str, ...]
    of: int
    missing: tuple[str, ...]
    n: int
    unscored: int


@dataclass(frozen=True, slots=True)
class LevalSummary:
    """A model at one length (tokens), on whole documents or what a `retriever` found of them.

    `rule`: `compat` where all answers were scored as published, `strict` by the rules without their quirks, else
    `mixed`.
    """

    model: str
    length: int
    retriever: str
    rule: str
    averages: tuple[LevalAverage, ...]


def leval_summaries(records: Iterable[Record]) -> tuple[LevalSummary, ...]:
    """The averages of each model, length and retriever that was asked two tasks of L-Eval or more, sorted."""
    groups: dict[tuple[str, int, str], dict[str, list[Record]]] = {}
    for record in records:
        task = task_of(record["task"])
        if task.startswith(_FAMILY):
            name = task.removeprefix(_FAMILY)
            key = (record["model"], record["length"], retriever_of(record) or "")
            groups.setdefault(key, {}).setdefault(_NAMES.get(name, name), []).append(record)
    return tuple(
        LevalSummary(*key, _rule(tasks), tuple(_averages(tasks)))
        for key, tasks in sorted(groups.items())
        if len(tasks) > 1
    )


def leval_object(found: Sequence[LevalSummary]) -> list[dict[str, Any]]:
    """The averages for `results.json`; scores 0..1."""
    return [asdict(each) for each in found]


def _rule(tasks: Mapping[str, Sequence[Record]]) -> str:
    scorers = {record["scorer"] for records in tasks.values() for record in records if record["score"] is not None}
    compat = {scorer.endswith("_compat") for scorer in scorers if scorer.startswith(_FAMILY)}
    if len(compat) != 1 or not all(scorer.startswith(_FAMILY) for scorer in scorers):
        return "mixed"
    return "compat" if compat.pop() else "strict"


def _averages(tasks: Mapping[str, Sequence[Record]]) -> Iterable[LevalAverage]:
    main = {name: tally(map(trial_of, records)) for name, records in tasks.items()}
    for name, published in (("closed average", CLOSED), ("F1 average", WITH_F1)):
        if any(task in main for task in published):
            yield _average(name, main, published)
    if any(task in main for task in WITH_ROUGE):
        for metric, name in _ROUGE.items():
            of = {task: tally(_by(metric, record) for record in tasks[task]) for task in WITH_ROUGE if task in tasks}
            yield _average(f"{name} average", of, WITH_ROUGE)
    yield _average("all tasks", main, tuple(main))


def _by(metric: str, record: Record) -> Trial:
    """The trial with the score of one metric, where its answer was scored by ROUGE."""
    trial = trial_of(record)
    value = record["details"].get("score", {}).get(metric)
    return trial if trial.score is None or not isinstance(value, int | float) else trial._replace(score=float(value))


def _average(name: str, tallies: Mapping[str, Tally], published: Sequence[str]) -> LevalAverage:
    there = [task for task in published if task in tallies and tallies[task].mean is not None]
    missing = []
    for task in published:
        expected = TASKS[task].expected if task in TASKS else 0
        n = tallies[task].n if task in tallies else 0
        if n < expected:
            missing.append(f"{task} {n} of {expected}")
    asked = [tallies[task] for task in published if task in tallies]
    return LevalAverage(
        name=name,
        score=weighted_mean([_share(tallies[task]) for task in there], [1 / len(there)] * len(there))
        if there
        else Share(None),
        tasks=tuple(there),
        of=len(published),
        missing=tuple(missing),
        n=sum(each.n for each in asked),
        unscored=sum(each.trials - each.n for each in asked),
    )


def _share(found: Tally) -> Share:
    interval = found.interval
    return Share(found.mean, interval.low if interval else None, interval.high if interval else None)
