"""Several models of one run in a sentence: their scores, and whether one is best."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from needlework.results.records.tests_of_cells import task_of
from needlework.results.statistics.in_short.parts import ends_words, range_words
from needlework.results.statistics.panels import Range
from needlework.results.statistics.published.ruler import TASKS
from needlework.results.statistics.run_report import RunReport
from needlework.results.style.text import one_line, percent1

_MOST_MODELS = 4  # that one sentence names


@dataclass(frozen=True, slots=True)
class Score:
    """A model's one number, 0..1, with its 95 % interval; `range`: where undecided answers make it one."""

    value: float
    low: float | None
    high: float | None
    range: Range | None


def one_score(report: RunReport, model: str) -> Score | None:
    """A model's one score: a published one, the macro score of families, the score of a single task; else `None`."""
    published = _published(report, model)
    if published is not None:
        return published
    macro = next((each for each in report.macros if each.model == model), None)
    if macro is not None:
        share = macro.score
        return None if share.value is None else Score(share.value, share.low, share.high, macro.range)
    rows = [row for row in report.tasks if row.model == model and task_of(row.task) != "doc_absent"]
    if len(rows) != 1 or rows[0].overall.mean is None:
        return None
    found = rows[0].overall
    low, high = (found.interval.low, found.interval.high) if found.interval else (None, None)
    return Score(found.mean or 0.0, low, high, found.range)


def _published(report: RunReport, model: str) -> Score | None:
    """NeedleBench's overall score, and RULER's mean at one length."""
    for suite in (each for each in report.suites if each.model == model):
        for row in suite.rows:
            if row.name == "Overall" and row.score.value is not None and not row.missing:
                return Score(row.score.value, row.score.low, row.score.high, row.range)
    asked = {row.task for row in report.tasks if row.model == model}
    for table in (each for each in report.ruler if each.model == model and asked <= set(TASKS)):
        if len(table.lengths) == 1 and (mean := table.lengths[0].mean) is not None:
            return Score(mean, table.lengths[0].low, table.lengths[0].high, None)
    return None


def beside_each_other(scores: Mapping[str, Score | None]) -> list[str]:
    """`2 models, scores in percent: a 90.0 (95 % sure: 80.1 to 95.2), b 40.0 (...)`, and `a is best`."""
    words = [f"{one_line(model)} {_short(scores[model])}" for model in [*scores][:_MOST_MODELS]]
    more = [f"and {len(scores) - _MOST_MODELS} more"] if len(scores) > _MOST_MODELS else []
    told = f"{len(scores)} models, scores in percent: {', '.join([*words, *more])}"
    return [told, *([best] if (best := _best(scores)) else [])]


def _short(found: Score | None) -> str:
    if found is None:
        return "no score"
    if found.range is not None:
        return range_words(found.range).removesuffix(" %")
    ends = "" if found.low is None or found.high is None else f" ({ends_words(found.low, found.high)})"
    return f"{percent1(found.value)}{ends}"


def _best(scores: Mapping[str, Score | None]) -> str:
    """Who is best, where one interval lies above all others; models of one run were asked the same questions."""
    ends = {
        model: (found.low, found.high)
        for model, found in scores.items()
        if found is not None and found.low is not None and found.high is not None and found.range is None
    }
    if None in scores.values():
        return ""
    if len(ends) < len(scores):
        return "not all of them have an interval: none is shown to be best"
    best = max(ends, key=lambda model: ends[model][0])
    if all(ends[best][0] > high for model, (_, high) in ends.items() if model != best):
        return f"{one_line(best)} is best"
    return "their intervals overlap: none is shown to be best"
