"""L-Eval's averages as clauses."""

from __future__ import annotations

from needlework.results.statistics.in_short.parts import ends_words
from needlework.results.statistics.published.leval import LevalAverage
from needlework.results.statistics.run_report import RunReport
from needlework.results.style.text import percent1

# The tasks' rows have the mean of all, the tables ROUGE-1 and ROUGE-2.
_NOT_SAID = ("all tasks", "ROUGE-1 average", "ROUGE-2 average")


def leval_clauses(report: RunReport, model: str) -> list[str]:
    """The averages on whole documents, where one length was asked: those of kinds of tasks, and what they lack."""
    found = [each for each in report.leval if each.model == model and not each.retriever]
    if len(found) != 1:
        return []
    told = [clause for each in found[0].averages if each.name not in _NOT_SAID and (clause := _clause(each))]
    return [f"scores {told[0]}", *told[1:]] if told else []


def _clause(found: LevalAverage) -> str:
    value, low, high = found.score.value, found.score.low, found.score.high
    if value is None:
        return ""
    ends = f" ({ends_words(low, high)})" if low is not None and high is not None else ""
    of = f" over {len(found.tasks)} of {found.of} tasks" if found.missing else ""
    if any(" 0 of " not in each for each in found.missing):
        of += ", not all of their questions"
    return f"{percent1(min(1.0, max(0.0, value)))} %{ends} in L-Eval's {found.name}{of}"
