"""The score that a published suite reports, as a clause: RULER's mean of its tasks, NeedleBench's overall."""

from __future__ import annotations

from needlework.results.statistics.in_short.parts import ends_words, tokens
from needlework.results.statistics.published.ruler import TASKS
from needlework.results.statistics.run_report import RunReport
from needlework.results.style.text import percent1


def ruler_clauses(report: RunReport, model: str) -> list[str]:
    """`scores 87.5 % (95 % sure: 80.0 to 95.0) at 4k as RULER's mean of 13 tasks`; none where a task has no score."""
    found = [each for each in report.ruler if each.model == model]
    if len(found) != 1:
        return []
    told: list[str] = []
    for each in found[0].lengths:
        if each.mean is None:
            continue
        ends = f" ({ends_words(each.low, each.high)})" if each.low is not None and each.high is not None else ""
        told.append(f"{percent1(each.mean)} %{ends} at {tokens(each.length)}")
    return [f"scores {', '.join(told)} as RULER's mean of {len(TASKS)} tasks"] if told else []
