"""What a run's sentence rests on: trials, and how many of them are independent."""

from __future__ import annotations

from collections import Counter

from needlework.haystack_fixtures.tasks.catalogue import family_of
from needlework.results.records.record import UNSCORED, Record
from needlework.results.records.samples import OWN_DOCUMENTS
from needlework.results.records.tests_of_cells import task_of
from needlework.results.statistics.panels import trial_of
from needlework.results.statistics.run_report import RunReport
from needlework.results.style.text import counted


def rests(report: RunReport) -> str:
    """`304 trials of 19 independent questions; 3 without a score (2 invalid, 1 error)`.

    Questions of L-Eval that share a document are one sample: `15 trials of 15 questions on 3 independent documents`.
    """
    trials, counts = len(report.records), Counter(record["outcome"] for record in report.records)
    lost = [f"{counts[name]:,} {name}" for name in UNSCORED if counts[name]]
    without = f"; {sum(counts[name] for name in UNSCORED):,} without a score ({', '.join(lost)})" if lost else ""
    # Models, controls and retrievers are asked the same questions: none counts twice.
    samples = len({_sample(record) for record in report.records})
    of = counted(samples, "independent question")
    if all(_is_leval(task) for task in {record["task"] for record in report.records}):
        questions = len({(record["task"], *record["needle"].split("_")[:2]) for record in report.records})
        if samples < questions:
            of = f"{counted(questions, 'question')} on {counted(samples, 'independent document')}"
    return f"{counted(trials, 'trial')} of {of}{without}"


def _sample(record: Record) -> tuple[str, str, int]:
    trial = trial_of(record)
    if task_of(trial.task) in OWN_DOCUMENTS:
        return "", "", trial.sample
    return trial.task, "" if _is_leval(trial.task) else trial.needle, trial.sample


def _is_leval(task: str) -> bool:
    return family_of(task_of(task)) == "leval"
