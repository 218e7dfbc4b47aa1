"""L-Eval's published averages, none of them from incomplete tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from needlework.results.leval.task_scores import RULES, Rule, TaskScores, main_metric
from needlework.results.statistics.tasks import Share, weighted_mean
from needlework.scoring.leval.tasks import CLOSED, TASKS, WITH_F1, WITH_ROUGE

_AVERAGES = (
    ("closed average", CLOSED, None),
    ("F1 average", WITH_F1, None),
    ("ROUGE-1 average", WITH_ROUGE, "rouge1"),
    ("ROUGE-2 average", WITH_ROUGE, "rouge2"),
    ("ROUGE-L average", WITH_ROUGE, "rougeL"),
)


@dataclass(frozen=True, slots=True)
class Average:
    """The mean of the scores of some tasks, by each rule; `None` with what is `missing` where one is incomplete.

    `n`: scored questions; `expected`: those that the tasks have.
    """

    name: str
    tasks: int
    scores: Mapping[Rule, Share]
    n: int
    expected: int
    missing: tuple[str, ...]


def averages(scored: Sequence[TaskScores]) -> tuple[Average, ...]:
    """Return the averages of one model's tasks, of each kind that it has a task of."""
    by_name = {each.task.name: each for each in scored}
    return tuple(
        _average(name, tasks, metric, by_name)
        for name, tasks, metric in _AVERAGES
        if any(task in by_name for task in tasks)
    )


def _average(name: str, tasks: Sequence[str], metric: str | None, by_name: Mapping[str, TaskScores]) -> Average:
    there = [by_name[task] for task in tasks if task in by_name]
    missing = tuple(
        f"{task} {len(by_name[task].items) if task in by_name else 0} of {TASKS[task].expected}"
        for task in tasks
        if task not in by_name or not by_name[task].complete
    )
    weights = [1 / len(tasks)] * len(tasks)
    scores = {
        rule: Share(None)
        if missing
        else weighted_mean([each.means[metric or main_metric(each.task)][rule].score for each in there], weights)
        for rule in RULES
    }
    n = sum(len(each.items) for each in there)
    return Average(name, len(tasks), scores, n, sum(TASKS[task].expected for task in tasks), missing)
