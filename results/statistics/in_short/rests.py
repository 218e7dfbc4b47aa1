"""What a run's sentence rests on: trials, and how many of them are independent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

from needlework.haystack_fixtures.tasks.catalogue import family_of
from needlework.results.records.record import UNSCORED
from needlework.results.records.samples import OWN_DOCUMENTS
from needlework.results.records.tests_of_cells import task_of
from needlework.results.statistics.asked import Asked
from needlework.results.statistics.run_report import RunReport
from needlework.results.style.text import counted


def rests(report: RunReport) -> str:
    """`304 trials of 19 independent questions; 3 without a score (2 invalid, 1 error)`.

    Questions of L-Eval that share a document are one sample: `15 trials of 15 questions on 3 independent documents`.
    """
    trials, counts = len(report.records), Counter([each.trial.outcome for each in report.asked])
    lost = [f"{counts[name]:,} {name}" for name in UNSCORED if counts[name]]
    without = f"; {sum(counts[name] for name in UNSCORED):,} without a score ({', '.join(lost)})" if lost else ""
    # Models, controls and retrievers are asked the same questions: none counts twice.
    tasks = {each.trial.task for each in report.asked}
    leval = {task for task in tasks if family_of(task_of(task)) == "leval"}
    samples = _samples(report.asked, leval)
    of = counted(samples, "independent question")
    if leval == tasks:
        questions = len({(record["task"], *record["needle"].split("_")[:2]) for record in report.records})
        if samples < questions:
            of = f"{counted(questions, 'question')} on {counted(samples, 'independent document')}"
    return f"{counted(trials, 'trial')} of {of}{without}"


def _samples(asked: Iterable[Asked], leval: Collection[str]) -> int:
    """How many samples there are. Tasks on one's own documents share theirs; those of L-Eval are documents."""
    found: dict[tuple[str, str], set[int]] = {}
    for each in asked:
        found.setdefault((each.trial.task, each.trial.needle), set()).add(each.trial.sample)
    shared: dict[tuple[str, str], set[int]] = {}
    for (task, panel), samples in found.items():
        own = task_of(task) in OWN_DOCUMENTS
        shared.setdefault(("" if own else task, "" if own or task in leval else panel), set()).update(samples)
    return sum(map(len, shared.values()))
