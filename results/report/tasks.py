"""Sections of tasks, of gates, of panels, and of questions without an answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from needlework.results.report.charts import task_charts
from needlework.results.report.section import Finding, IntervalBar, Section, Table, filled_table
from needlework.results.statistics.absent import AbsentTwins, Rate
from needlework.results.statistics.depth import DepthEffect, Extremes
from needlework.results.statistics.depth_tables import place_words
from needlework.results.statistics.effective_length import Trend
from needlework.results.statistics.panels import Share
from needlework.results.statistics.tasks import GateRow, Macro, PanelStatistics, TaskScore, selection_words
from needlework.results.statistics.wording import p_words, percent1_cell, range_words, score_and_interval
from needlework.results.style import NONE, length_labels, one_line, percent, percent1

# One sentence each, for the report; docs/statistics.md has them with their sources.
_MEANINGS = {
    "effective length": "The longest length up to which every length passes; 85.6 % is RULER's bar. Undetermined: the"
    " interval of the score at that length has the bar inside.",
    "relative": "The same with a bar of the model's own: a share of the base, which is the focused control, else the"
    " score up to 1k tokens or at the shortest length, which are then not judged.",
    "trend": "Area: the mean score over doublings of the length. Half-life: the first length that scores below half of"
    " the base.",
    "depth effect": "A shape is named only where depths as different would be seen in at most 5 % of runs if all were"
    " alike (permutations within samples, all shapes together), flat only where no fifth of the document may differ by"
    " 10 points from the rest. A sample is one needle in one text.",
    "hallucination rate": "Of questions whose answer is not in the text, those that got one.",
    "needless abstention": "Of questions whose answer is in the text, those that got none.",
    "balanced accuracy": "The mean of the score where the answer is there and of the abstentions where it is not.",
    "right in both twins": "Of questions asked with and without their answer in the text, those right both times.",
    "without a score": "Trials that are in none of these rates.",
    "best and worst depth": "Their scores, and the chance of two depths as far apart if all were alike (the same"
    " permutations, corrected for several panels).",
}


def panel_sections(statistics: Sequence[PanelStatistics]) -> list[Section]:
    """A section for each panel: effective length, trend, depth effect."""
    return [
        Section(f"{each.model} · {each.task} · {each.needle}", findings=tuple(panel_findings(each)))
        for each in statistics
    ]


def twins_sections(twins: Sequence[AbsentTwins]) -> list[Section]:
    """A section for each task with absent twins: its rates, and what they leave out.

    Rates over no trial are left out: of questions on documents the present twins are another task's (`doc_position`),
    and the section of the documents has both.
    """
    return [
        Section(f"{each.model} · {each.task} · answers that are not there", findings=tuple(_twins_findings(each)))
        for each in twins
    ]


def _twins_findings(twins: AbsentTwins) -> list[Finding]:
    rates = (
        ("hallucination rate", twins.hallucination),
        ("needless abstention", twins.needless),
        ("balanced accuracy", twins.balanced),
        ("right in both twins", twins.discriminates),
    )
    rows = [Finding(term, _rate(rate), _MEANINGS[term]) for term, rate in rates if rate.n]
    left_out = [
        f"{count} {outcome} ({arm})"
        for arm, tally in (("present", twins.present), ("absent", twins.absent))
        for outcome, count in tally.unscored.items()
    ]
    return [*rows, Finding("  without a score", ", ".join(left_out) or "none", _MEANINGS["without a score"])]


def _rate(rate: Rate) -> str:
    if rate.value is None:
        return "no score"
    ends = "one sample: no interval"
    if rate.low is not None and rate.high is not None:
        ends = f"95 % interval {percent1(rate.low)}–{percent1(rate.high)}"
    return f"{percent1(rate.value)} % ({ends}), n = {rate.n}"


def panel_findings(panel: PanelStatistics) -> list[Finding]:
    """Return what one panel has to tell: effective length, trend, depth effect, where there is any."""
    rows = []
    for meaning, found in (("effective length", panel.absolute), ("relative", panel.relative)):
        if found is None:
            continue
        rows.append(Finding(f"effective length ({found.bar})", found.words, _MEANINGS[meaning]))
    if panel.trend.area is not None:
        rule = panel.absolute or panel.relative
        scored = ", of the answers with a score" if rule is not None and rule.undecided else ""
        rows.append(Finding("trend", f"{_trend(panel.trend)}{scored}", _MEANINGS["trend"]))
    if panel.depth.samples + panel.depth.left_out:
        rows += _depth_rows(panel.depth)
    return rows


def _depth_rows(effect: DepthEffect) -> list[Finding]:
    told = ["1 sample" if effect.samples == 1 else f"{effect.samples} samples"]
    told += ["each at one depth"] if effect.binned else []
    told += [f"{effect.left_out} left out"] if effect.left_out else []
    parts = [f"{effect.label} ({', '.join(told)})"]
    if effect.shape in ("undetermined", "flat") and effect.bound is not None:
        parts.append(f"differences up to {100 * effect.bound:.0f} points are not ruled out")
    p = effect.p if effect.p_adjusted is None else effect.p_adjusted
    parts += [f"p {p_words(p)}"] if p is not None else []
    rows = [Finding("depth effect", ", ".join(parts), _MEANINGS["depth effect"])]
    ends = effect.extremes
    if ends is not None and ends.best_score > ends.worst_score:
        text = extremes_words(ends)
        rows.append(Finding("  best and worst depth", text, _MEANINGS["best and worst depth"]))
    return rows


def extremes_words(ends: Extremes) -> str:
    """`10 % (95) and 50 % (40), p (Holm) 0.002`: places and scores in percent."""
    best, worst = (
        f"{place_words(place)} ({percent(round(min(1.0, max(0.0, score)), 9))})"
        for place, score in ((ends.best, ends.best_score), (ends.worst, ends.worst_score))
    )
    return f"{best} and {worst}, p (Holm) {p_words(ends.p_adjusted)}"


def _trend(found: Trend) -> str:
    parts = [] if found.area is None else [f"area {percent1(found.area)} %"]
    if found.drop is not None:
        parts.append(
            f"{abs(100 * found.drop):.1f} % {'below' if found.drop >= 0 else 'above'} the base at the longest length"
        )
    half = "not reached" if found.half_life is None else length_labels([found.half_life])[0]
    return ", ".join([*parts, f"half-life {half}"])


HEAD = (
    "task",
    "score %",
    "95 %",
    "n",
    "unscored",
    "focused %",
    "of focused %",
    "chance %",
    "floor %",
    "corrected %",
)
MEANINGS = {
    "focused %": "the same questions where the text is nothing but what the answer rests on",
    "of focused %": "the score as a share of the focused one",
    "chance %": "what guessing among the allowed answers scores",
    "floor %": "what the best answer that is always the same scores",
    "corrected %": "the score with chance at 0 and a full score at 100",
    "invents %": "of questions whose answer is not in the text, those that got one",
    "abstains %": "of questions whose answer is in the text, those that got none",
}
_TWINS = ("invents %", "abstains %")


def task_sections(rows: Sequence[TaskScore], found: Sequence[Macro]) -> list[Section]:
    """A row for each task and for each macro score, the model's name first where there are several.

    No section for a run of a single task a model without controls: the rest of the report says it all.
    """
    if len(rows) == len({row.model for row in rows}) and not any(row.focused.trials or row.twins for row in rows):
        return []
    cells: list[tuple[str, ...]] = []
    bars: list[IntervalBar | None] = []
    panels: list[tuple[str, str] | None] = []
    for model in dict.fromkeys(row.model for row in rows):
        for row in (row for row in rows if row.model == model):
            interval = row.overall.interval
            cells.append((model, *_cells(row)))
            bars.append(_bar(interval.low if interval else None, row.overall.mean, interval.high if interval else None))
            panels.append((row.model, row.task))
        for macro in (each for each in found if each.model == model):
            cells.append((model, *_macro(macro)))
            bars.append(_bar(macro.score.low, macro.score.value, macro.score.high))
            panels.append(None)
    head: tuple[str, ...] = ("model", *HEAD, *_TWINS)
    names = 2
    if len({row.model for row in rows}) == 1:
        head, names, cells = head[1:], 1, [row[1:] for row in cells]
    table = filled_table("", head, cells, names, range(names + 3))
    return [
        Section(
            "Tasks",
            charts=tuple(task_charts(rows, found)),
            tables=(replace(table, bars=tuple(bars), panels=tuple(panels)),),
            notes=tuple(_missing_notes(found)),
            name="tasks",
            meanings=tuple((name, MEANINGS[name]) for name in table.head if name in MEANINGS),
        )
    ]


def gate_sections(rows: Sequence[GateRow], recorded: int) -> list[Section]:
    """What the gates decided; none for a run without. `recorded`: the run's trials."""
    if not rows:
        return []
    cells = [
        (
            row.gate,
            row.group,
            row.verdict,
            NONE if row.value is None else f"{row.value:.3f}",
            NONE if row.low is None or row.high is None else f"{row.low:.3f}–{row.high:.3f} ({row.level:.4g} %)",
            str(row.n),
            row.remark,
        )
        for row in rows
    ]
    head = ("gate", "cells", "verdict", "value", "interval", "n", "")
    selection = selection_words(rows, recorded)
    notes = (selection,) if selection else ()
    return [Section("Gates", (Table("", head, tuple(cells), names=2),), notes=notes, name="gates")]


def _missing_notes(found: Sequence[Macro]) -> list[str]:
    return [
        f"no macro score of {each.model}: nothing scored for {', '.join(each.missing)}"
        for each in found
        if each.missing
    ]


def _bar(low: float | None, mean: float | None, high: float | None) -> IntervalBar | None:
    if low is None or mean is None or high is None:
        return None
    first, middle, last = (min(1.0, max(0.0, each)) for each in (low, mean, high))
    return first, middle, last


def _cells(row: TaskScore) -> tuple[str, ...]:
    overall = row.overall
    unscored = ", ".join(f"{count} {name}" for name, count in overall.unscored.items())
    twins = row.twins
    return (
        one_line(row.task),
        *score_and_interval(overall),
        str(overall.n),
        unscored,
        f"{percent1_cell(row.focused.mean)} (n {row.focused.n})" if row.focused.trials else NONE,
        _share(row.relative),
        percent1_cell(row.chance),
        percent1_cell(row.floor),
        _share(row.corrected) if row.chance else NONE,
        percent1_cell(twins.hallucination.value) if twins else NONE,
        percent1_cell(twins.needless.value) if twins else NONE,
    )


def _macro(each: Macro) -> tuple[str, ...]:
    name = f"macro ({each.families} families, {each.tasks} tasks)"
    score, corrected = each.score, each.corrected
    ends = NONE if score.low is None or score.high is None else f"{_number(score.low)}–{_number(score.high)}"
    told = _share_value(score), ends
    if each.range is not None:
        scored = NONE if score.value is None else f"scored {_number(score.value)}"
        told = range_words(each.range), scored if ends == NONE else f"{scored} ({ends})"
    return (name, *told, "", "", NONE, NONE, NONE, NONE, _share(corrected), NONE, NONE)


def _number(value: float) -> str:
    """A share in percent that may lie beyond 0 and 100."""
    return percent1(value) if 0 <= value <= 1 else f"{100 * value:.1f}"


def _share_value(share: Share) -> str:
    return NONE if share.value is None else _number(share.value)


def _share(share: Share) -> str:
    if share.value is None or share.low is None or share.high is None:
        return _share_value(share)
    return f"{_number(share.value)} ({_number(share.low)}–{_number(share.high)})"
