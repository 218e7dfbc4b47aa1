"""What the statistics of a panel say, in words: one row for each finding, with what its words mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from needlework.results.statistics.absent import AbsentTwins, Rate
from needlework.results.statistics.depth.effect import DepthEffect, Extremes
from needlework.results.statistics.depth.shapes import place_words
from needlework.results.statistics.length.answer import EffectiveLength
from needlework.results.statistics.length.trend import Trend
from needlework.results.statistics.summary_rows import PanelStatistics
from needlework.results.style.text import length_labels, one_line, percent, percent1
from needlework.results.tables.comparison import p_words

# One sentence each, for the report; docs/statistics.md has them with their sources.
_MEANINGS = {
    "effective length": "The longest length up to which every length passes; 85.6 % is RULER's bar. Undetermined: the"
    " interval of the score at that length has the bar inside.",
    "relative": "The same with a bar of the model's own: a share of the base, which is the focused control, else the"
    " score up to 1k tokens or at the shortest length, which are then not judged.",
    "chance to pass": "Share of bootstrap resamples that pass, at each length by itself.",
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


@dataclass(frozen=True, slots=True)
class StatisticRow:
    """One line about a panel: `depth effect`, what was found, and what the words mean."""

    term: str
    text: str
    meaning: str


def statistics_lines(statistics: Sequence[PanelStatistics], twins: Sequence[AbsentTwins] = ()) -> list[str]:
    """Return the lines of every panel, its name and then its rows, and of every task with absent twins."""
    lines: list[str] = []
    for panel in statistics:
        lines.append(one_line(f"{panel.model} · {panel.task} · {panel.needle}"))
        lines += [f"  {row.term}: {row.text}" for row in panel_rows(panel)]
    for each in twins:
        lines.append(twins_name(each))
        lines += [f"  {row.term}: {row.text}" for row in twins_rows(each)]
    return lines


def twins_name(twins: AbsentTwins) -> str:
    """`model · task · answers that are not there`."""
    return one_line(f"{twins.model} · {twins.task} · answers that are not there")


def twins_rows(twins: AbsentTwins) -> list[StatisticRow]:
    """Return the rates of a task with absent twins, and what they leave out.

    Rates over no trial are left out: of questions on documents the present twins are another task's (`doc_position`),
    and the table of the documents has both.
    """
    rates = (
        ("hallucination rate", twins.hallucination),
        ("needless abstention", twins.needless),
        ("balanced accuracy", twins.balanced),
        ("right in both twins", twins.discriminates),
    )
    rows = [StatisticRow(term, _rate(rate), _MEANINGS[term]) for term, rate in rates if rate.n]
    left_out = [
        f"{count} {outcome} ({arm})"
        for arm, tally in (("present", twins.present), ("absent", twins.absent))
        for outcome, count in tally.unscored.items()
    ]
    return [*rows, StatisticRow("  without a score", ", ".join(left_out) or "none", _MEANINGS["without a score"])]


def _rate(rate: Rate) -> str:
    if rate.value is None:
        return "no score"
    ends = "one sample: no interval"
    if rate.low is not None and rate.high is not None:
        ends = f"95 % interval {percent1(rate.low)}–{percent1(rate.high)}"
    return f"{percent1(rate.value)} % ({ends}), n = {rate.n}"


def panel_rows(panel: PanelStatistics) -> list[StatisticRow]:
    """Return what one panel has to tell: effective length, trend, depth effect, where there is any."""
    rows = []
    for meaning, found in (("effective length", panel.absolute), ("relative", panel.relative)):
        if found is None:
            continue
        rows.append(StatisticRow(f"effective length ({found.bar})", found.words, _MEANINGS[meaning]))
        if found.chances:
            rows.append(StatisticRow("  chance to pass", _chances(found), _MEANINGS["chance to pass"]))
    if panel.trend.area is not None:
        rule = panel.absolute or panel.relative
        scored = ", of the answers with a score" if rule is not None and rule.undecided else ""
        rows.append(StatisticRow("trend", f"{_trend(panel.trend)}{scored}", _MEANINGS["trend"]))
    if panel.depth.samples + panel.depth.left_out:
        rows += _depth_rows(panel.depth)
    return rows


def _chances(found: EffectiveLength) -> str:
    lengths = sorted(found.chances)
    labels = zip(length_labels(lengths), lengths, strict=True)
    return ", ".join(f"{label} {percent(found.chances[length])} %" for label, length in labels)


def _depth_rows(effect: DepthEffect) -> list[StatisticRow]:
    told = ["1 sample" if effect.samples == 1 else f"{effect.samples} samples"]
    told += ["each at one depth"] if effect.binned else []
    told += [f"{effect.left_out} left out"] if effect.left_out else []
    parts = [f"{effect.label} ({', '.join(told)})"]
    if effect.shape in ("undetermined", "flat") and effect.bound is not None:
        parts.append(f"differences up to {100 * effect.bound:.0f} points are not ruled out")
    p = effect.p if effect.p_adjusted is None else effect.p_adjusted
    parts += [f"p {p_words(p)}"] if p is not None else []
    rows = [StatisticRow("depth effect", ", ".join(parts), _MEANINGS["depth effect"])]
    ends = effect.extremes
    if ends is not None and ends.best_score > ends.worst_score:
        text = extremes_words(ends)
        rows.append(StatisticRow("  best and worst depth", text, _MEANINGS["best and worst depth"]))
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
