"""Sections of tasks, of gates, of panels, and of questions without an answer."""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from needlework.results.report.charts import task_charts
from needlework.results.report.section import GLOSSARY, Finding, Section, Table, filled_table
from needlework.results.statistics import wording
from needlework.results.statistics.absent import AbsentTwins
from needlework.results.statistics.depth import DepthEffect, Extremes
from needlework.results.statistics.depth_tables import depth_range_words
from needlework.results.statistics.effective_length import Trend
from needlework.results.statistics.tasks import GateRow, Macro, PanelStatistics, TaskScore, selection_words
from needlework.results.style import NONE, counted, length_label, one_line, percent, percent1

# One sentence each, for the report; docs/statistics.md has them with their sources.
_MEANINGS = GLOSSARY["findings"]["panels"]


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


def _twins_findings(twins: AbsentTwins) -> Iterator[Finding]:
    rates = (
        ("hallucination rate", twins.hallucination),
        ("needless abstention", twins.needless),
        ("balanced accuracy", twins.balanced),
        ("right in both twins", twins.discriminates),
    )
    for term, rate in rates:
        if rate.n:
            yield Finding(term, wording.rate_words(rate, rate.n, "one sample: no interval"), _MEANINGS[term])
    arms = (("present", twins.present), ("absent", twins.absent))
    counts = [f"{count} {outcome} ({arm})" for arm, tally in arms for outcome, count in tally.unscored.items()]
    yield Finding("  without a score", ", ".join(counts) or "none", _MEANINGS["without a score"])


def panel_findings(panel: PanelStatistics) -> list[Finding]:
    """Return the findings of one panel: effective length, trend, depth effect, where there is any."""
    findings = [
        Finding(f"effective length ({rule.bar})", rule.words, _MEANINGS[term])
        for term, rule in (("effective length", panel.absolute), ("relative", panel.relative))
        if rule is not None
    ]
    if panel.trend.area.value is not None:
        length = panel.absolute or panel.relative
        scored = ", of the answers with a score" if length is not None and length.undecided else ""
        findings.append(Finding("trend", f"{_trend(panel.trend)}{scored}", _MEANINGS["trend"]))
    effect, ends = panel.depth, panel.depth.extremes
    if effect.samples + effect.left_out:
        findings.append(Finding("depth effect", _depth(effect), _MEANINGS["depth effect"]))
        if ends is not None and ends.best_score > ends.worst_score:
            term = "best and worst depth"
            findings.append(Finding(f"  {term}", extremes_words(ends), _MEANINGS[term]))
    return findings


def _depth(effect: DepthEffect) -> str:
    basis = [counted(effect.samples, "sample"), *["each at one depth"] * effect.binned]
    basis += [f"{effect.left_out} left out"] if effect.left_out else []
    parts = [f"{effect.label} ({', '.join(basis)})"]
    if effect.shape in ("undetermined", "flat") and effect.bound is not None:
        parts.append(f"differences up to {100 * effect.bound:.0f} points are not ruled out")
    p = effect.p if effect.p_adjusted is None else effect.p_adjusted
    return ", ".join([*parts, *([f"p {wording.p_words(p)}"] if p is not None else [])])


def extremes_words(ends: Extremes) -> str:
    """`10 % (95) and 50 % (40), p (Holm) 0.002`: places and scores in percent."""
    best, worst = (
        f"{depth_range_words(span)} ({percent(round(min(1.0, max(0.0, score)), 9))})"
        for span, score in ((ends.best, ends.best_score), (ends.worst, ends.worst_score))
    )
    return f"{best} and {worst}, p (Holm) {wording.p_words(ends.p_adjusted)}"


def _trend(trend: Trend) -> str:
    ends = f" (95 % interval {wording.interval_cell(trend.area)})" if trend.area.low is not None else ""
    parts = [] if trend.area.value is None else [f"area {percent1(trend.area.value)} %{ends}"]
    if trend.drop is not None:
        parts.append(f"{100 * (1 - trend.drop):.1f} % of the base at the longest length")
    half = "not reached" if trend.half_life is None else length_label(trend.half_life)
    return ", ".join([*parts, f"half-life {half}"])


HEAD = (
    *("task", "score %", "95 %", "n", "unscored"),
    *("focused %", "of focused %", "summary %", "of whole %", "chance %", "floor %", "corrected %"),
)
COLUMNS = GLOSSARY["columns"]["tasks"]


def task_sections(rows: Sequence[TaskScore], macros: Sequence[Macro]) -> list[Section]:
    """A row for each task and for each macro score, the model's name first where there are several.

    No section for a run of a single task a model without controls: the rest of the report says it all.
    """
    models = dict.fromkeys(row.model for row in rows)
    if len(rows) == len(models) and not any(row.focused.trials or row.compacted.trials or row.twins for row in rows):
        return []
    cells: list[tuple[str, ...]] = []
    panels: list[tuple[str, str] | None] = []
    for model in models:
        for row in (row for row in rows if row.model == model):
            cells.append((model, *_cells(row)))
            panels.append((row.model, row.task))
        for macro in (each for each in macros if each.model == model):
            cells.append((model, *_macro(macro)))
            panels.append(None)
    table = filled_table("", ("model", *HEAD, "invents %", "abstains %"), cells, 2)
    return [
        Section(
            "Tasks",
            charts=tuple(task_charts(rows)),
            tables=(replace(table, panels=tuple(panels)),),
            notes=tuple(
                f"no macro score of {each.model}: nothing scored for {', '.join(each.missing)}"
                for each in macros
                if each.missing
            ),
            name="tasks",
            meanings=tuple((name, COLUMNS[name]) for name in table.head if name in COLUMNS),
        )
    ]


def gate_sections(rows: Sequence[GateRow], recorded: int) -> list[Section]:
    """The gates' verdicts; none for a run without. `recorded`: the run's trials."""
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
    notes = tuple(filter(None, [selection_words(rows, recorded)]))
    return [Section("Gates", (Table("", head, tuple(cells), names=2),), notes=notes, name="gates")]


def _cells(row: TaskScore) -> tuple[str, ...]:
    twins = row.twins
    return (
        one_line(row.task),
        *wording.score_and_interval(row.overall),
        str(row.overall.n),
        wording.unscored_words(row.overall.unscored),
        f"{wording.number_cell(row.focused.mean)} (n {row.focused.n})" if row.focused.trials else NONE,
        wording.share_cell(row.relative),
        f"{wording.number_cell(row.compacted.mean)} (n {row.compacted.n})" if row.compacted.trials else NONE,
        wording.share_cell(row.after_summary),
        wording.number_cell(row.chance),
        wording.number_cell(row.floor),
        wording.share_cell(row.corrected) if row.chance else NONE,
        wording.number_cell(twins.hallucination.value) if twins else NONE,
        wording.number_cell(twins.needless.value) if twins else NONE,
    )


def _macro(macro: Macro) -> tuple[str, ...]:
    name = f"macro ({macro.families} families, {macro.tasks} tasks)"
    score = wording.score_cells(macro.score, macro.range)
    return (name, *score, "", "", *[NONE] * 6, wording.share_cell(macro.corrected), NONE, NONE)
