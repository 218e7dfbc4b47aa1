"""The score that a published benchmark reports, as clauses: RULER's mean of its tasks, groups of MRCR's needles."""

from __future__ import annotations

from needlework.results.statistics.in_short.lengths import absolute
from needlework.results.statistics.in_short.needlebench import needlebench_clauses
from needlework.results.statistics.in_short.parts import ends_words, range_words, score_clause, tokens
from needlework.results.statistics.in_short.tasks import spread
from needlework.results.statistics.published.field import GRAPHWALKS, LONGBENCH_V2, FieldTable, Group
from needlework.results.statistics.published.ruler import TASKS, RulerTable
from needlework.results.statistics.run_report import RunReport
from needlework.results.style.text import percent1

_LONGBENCH, _CLOSED_BOOK = LONGBENCH_V2
# What readers know a benchmark by, and the rule that its makers score by.
_FIELD = {
    "openai_mrcr": ("OpenAI MRCR", "card", "its data card's rule"),
    "deepmind_mrcr": ("MRCR v2", "deepmind", "DeepMind's rule"),
    GRAPHWALKS: ("GraphWalks", "card", "its data card's rule"),
    _LONGBENCH: ("LongBench v2", "authors", "its authors' rule"),
}
_NO_GROUPS = ("overall", "whole text", "text cut")
_MOST_GROUPS = 4


def published_clauses(report: RunReport, model: str) -> list[str]:
    """What is said first of a run of a published benchmark; none for other runs."""
    return needlebench_clauses(report, model) or ruler_clauses(report, model) or field_clauses(report, model)


def ruler_clauses(report: RunReport, model: str) -> list[str]:
    """`scores 87.5 % (95 % sure: 80.0 to 95.0) at 4k as RULER's mean of 13 tasks`, and its effective length.

    None where the run has other tasks too, or no length at which all have a score.
    """
    found = [each for each in report.ruler if each.model == model]
    asked = {row.task for row in report.tasks if row.model == model}
    if len(found) != 1 or not asked <= set(TASKS):
        return []
    told = []
    for each in found[0].lengths:
        if each.mean is None:
            continue
        ends = f" ({ends_words(each.low, each.high)})" if each.low is not None and each.high is not None else ""
        told.append(f"{percent1(each.mean)} %{ends} at {tokens(each.length)}")
    if not told:
        return []
    rows = [(f"on {row.task}", row.overall) for row in report.tasks if row.model == model]
    mean = f"scores {', '.join(told)} as RULER's mean of {len(TASKS)} tasks"
    return [mean, *_effective(found[0]), *spread(rows, "task by task")]


def _effective(found: RulerTable) -> list[str]:
    """RULER's effective length as its table has it, by the means alone; one length does not tell it."""
    if sum(each.mean is not None for each in found.lengths) < 2:
        return []
    point = found.effective.point
    where = f"up to {tokens(point)} tokens" if point else "at no length"
    return [f"by the means alone it holds {absolute(found.effective.threshold)} {where}"]


def field_clauses(report: RunReport, model: str) -> list[str]:
    """`scores 60.0 % (95 % sure: ...) on OpenAI MRCR (by its data card's rule 72.1 %)`, `n2 80.0 %, n4 40.0 %`."""
    found = {each.task: each for each in report.field if each.model == model}
    asked = {row.task for row in report.tasks if row.model == model}
    known = [each for task, each in found.items() if task in _FIELD]
    if len(known) != 1 or not asked <= set(found):
        return []
    table = known[0]
    score = score_clause(table.groups[0].score)
    if not score:
        return []
    name, whose, rule = _FIELD[table.task]
    theirs = table.groups[0].others.get(whose)
    beside = f" (by {rule} {percent1(theirs)} %)" if theirs is not None else ""
    closed = _brief(found[_CLOSED_BOOK].groups[0]) if _CLOSED_BOOK in found else ""
    without = [f"{closed} without the documents"] if closed else []
    return [f"{score} on {name}{beside}", *without, *_groups(table)]


def _groups(table: FieldTable) -> list[str]:
    """The groups that the makers tell apart first: numbers of needles, kinds of problems, easy and hard."""
    named = [each for each in table.groups if each.name not in _NO_GROUPS and " " not in each.name]
    told = [f"{each.name} {score}" for each in named[:_MOST_GROUPS] if (score := _brief(each))]
    return [", ".join(told)] if len(told) > 1 else []


def _brief(group: Group) -> str:
    if group.score.range is not None and group.score.n:
        return range_words(group.score.range)
    return "" if group.score.mean is None else f"{percent1(group.score.mean)} %"
