"""Faults of a run by reason, the run to do next, and the samples that the scores rest on."""

import re
from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from needlework.core.record import OWN_DOCUMENTS, UNSCORED, Record
from needlework.haystack_fixtures.tasks.catalogue import PUBLISHED_TASKS, family_of
from needlework.haystack_fixtures.tasks.published.leval import FAMILY as LEVAL
from needlework.results.records.samples import grouped, task_of
from needlework.results.statistics.run_report import RunReport
from needlework.results.style import counted, fit, one_line

FAULTS = ("error", "invalid")
_LONGEST = 240  # columns of a reason
_NUMBERS = re.compile(r"\d+(?:\.\d+)?")

_WIDE = 0.05  # half the width of an interval; above it, more trials are advised
# Families with a fixed list of questions: a further repeat asks the same ones.
_FIXED = {LEVAL, *(family_of(task.name) for task in PUBLISHED_TASKS)}
_MANY = 0.05  # share of answers that were cut off, above which more room is advised
_LASTING = ("client", "oom")  # kinds of errors that the same request would meet again


class FaultCount(Struct, frozen=True):
    """Trials that failed for the same reason."""

    outcome: str  # `error` or `invalid`
    reason: str
    count: int
    trials: int  # of the run
    id: str  # of the first

    @property
    def text(self) -> str:
        """`19 of 19: the judge's reply cannot be read`."""
        return f"{self.count:,} of {self.trials:,}: {self.reason}"


def faults_of(records: Sequence[Record]) -> tuple[FaultCount, ...]:
    """Return the faults of a run, the most frequent first; reasons that differ in numbers are one."""
    failed = [(record.outcome, reason_of(record), record.id) for record in records if record.outcome in FAULTS]
    faults = list[FaultCount]()
    for (outcome, _), trials in grouped(failed, lambda fault: (fault[0], _NUMBERS.sub("0", fault[1]))).items():
        reason = Counter(reason for _, reason, _ in trials).most_common(1)[0][0]
        faults.append(FaultCount(outcome, reason, len(trials), len(records), trials[0][2]))
    return tuple(sorted(faults, key=lambda fault: (-fault.count, fault.outcome, fault.reason)))


def reason_of(record: Record) -> str:
    """The reason why a trial has no score, in a line: the error's message, or the invalidity."""
    error = record.error if record.outcome == "error" else None
    message = error and (error.message or error.kind)
    return fit(one_line(str(message or record.why or f"{record.outcome}, without a reason")), _LONGEST, "…")


def next_run(report: RunReport) -> str:
    """Advice on the run to do next: the rest of one that ended early, failed trials, more room for answers, or more
    repeats; empty without any."""
    name = report.facts.name if report.facts else ""
    if report.interrupted:
        return rest_words(name)
    if again := retry_words(report.records, name):
        return again
    reasons = [record.response.finish_reason for record in report.records if record.outcome == "censored"]
    if len(reasons) > _MANY * len(report.records) and "unfinished" not in reasons:
        return "more room for the answers: --answer-budget, and --thinking-budget for one that reasons first"
    wide = any(
        row.overall.interval is None or row.overall.interval.high - row.overall.interval.low > 2 * _WIDE
        for row in report.tasks
        if task_of(row.task) not in OWN_DOCUMENTS and family_of(task_of(row.task)) not in _FIXED
    )
    # A limit would cut off further repeats; an adaptive run has asked each length as often as it took.
    if not wide or report.adaptive or (report.facts and report.facts.option("limit") is not None):
        return ""
    repeats = 4 * (1 + max(record.repeat for record in report.records))
    return f"the same command with --repeats {repeats} (for intervals half as wide)"


def rest_words(name: str = "") -> str:
    """Advice for a run that ended early. `name`: its run name, empty if unknown."""
    return f"{_same_command(name)} asks the rest"


def retry_words(records: Sequence[Record], name: str = "") -> str:
    """Advice for failed trials; empty if none failed, or each would fail again."""
    count = sum(map(_can_be_retried, records))
    return f"{_same_command(name)} asks the {counted(count, 'failed trial')} again" if count else ""


def _can_be_retried(record: Record) -> bool:
    if record.outcome == "error":
        return record.error is None or record.error.kind not in _LASTING
    return record.outcome == "invalid" and "uncalibrated" in record.details.invalid


def _same_command(name: str) -> str:
    return f"the same command{f' with --run-name {name}' if name else ''}"


def basis_of(report: RunReport) -> str:
    """A run's trials and samples: `304 trials of 19 independent questions; 1 without a score (1 error)`.

    Questions of L-Eval that share a document are one sample.
    """
    counts = Counter(record.outcome for record in report.records)
    lost = [f"{counts[name]:,} {name}" for name in UNSCORED if counts[name]]
    without = f"; {sum(counts[name] for name in UNSCORED):,} without a score ({', '.join(lost)})" if lost else ""
    # A question of several models, controls or retrievers counts once. Tasks on the user's own documents share their
    # samples; a sample of L-Eval is a document.
    samples = set[object]()
    tasks = {record.task for record in report.records}
    leval = {task for task in tasks if family_of(task) == LEVAL}
    for record in report.records:
        panel = "" if record.task in leval else record.panel
        task_panel = () if record.task in OWN_DOCUMENTS else (record.task_label, panel)
        samples.add((*task_panel, record.sample_number))
    what = "independent document" if leval and leval == tasks else "independent question"
    return f"{counted(len(report.records), 'trial')} of {counted(len(samples), what)}{without}"
