"""What the statistics of a panel say, in words: one row for each finding, with what its words mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from needlework.haystack_fixtures.grid.cells import depth_label
from needlework.results.statistics.absent import AbsentTwins, Rate
from needlework.results.statistics.depth_effect import DepthEffect
from needlework.results.statistics.effective_length import EffectiveLength
from needlework.results.statistics.paired import Difference
from needlework.results.statistics.summary_rows import PanelStatistics
from needlework.results.statistics.trend import Trend
from needlework.results.style.text import length_labels, one_line, percent, percent1
from needlework.results.tables.comparison import interval_words, p_words, points1

# One sentence each, for the report; docs/statistics.md has them with their sources.
_MEANINGS = {
    "effective length": "The longest length up to which every length passes; 85.6 % is RULER's bar. Undetermined: the"
    " interval of the score at that length has the bar inside.",
    "relative": "The same with a bar of the model's own: a share of the base, which is its score up to 1k tokens or at"
    " the shortest length.",
    "chance to pass": "Share of bootstrap resamples that pass, at each length by itself.",
    "trend": "Area: the mean score over doublings of the length. Half-life: the first length that scores below half of"
    " the base.",
    "depth effect": "A shape is named only where its interval leaves out 0, flat only where a large effect would have"
    " shown; undetermined below ten samples. A sample is one needle in one text, asked at every depth.",
    "ends - middle": "Score at depths up to 10 % and from 90 %, minus that at 40 to 60 %.",
    "primacy": "Score in the first fifth of the depths, minus the rest.",
    "recency": "Score in the last fifth of the depths, minus the rest.",
    "depths alike": "The chance of differences as large as these if all depths were alike.",
    "hallucination rate": "Of questions whose answer is not in the text, those that got one.",
    "needless abstention": "Of questions whose answer is in the text, those that got none.",
    "balanced accuracy": "The mean of the score where the answer is there and of the abstentions where it is not.",
    "right in both twins": "Of questions asked with and without their answer in the text, those right both times.",
    "without a score": "Trials that are in none of these rates.",
    "best and worst depth": "Their scores, and the chance of such a difference if they were alike (exact McNemar,"
    " corrected for picking them and for several panels).",
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
    """Return the rates of a task with absent twins, and what they leave out."""
    rates = (
        ("hallucination rate", twins.hallucination),
        ("needless abstention", twins.needless),
        ("balanced accuracy", twins.balanced),
        ("right in both twins", twins.discriminates),
    )
    rows = [StatisticRow(term, _rate(rate), _MEANINGS[term]) for term, rate in rates]
    left_out = [
        f"{count} {outcome} ({arm})"
        for arm, tally in (("present", twins.present), ("absent", twins.absent))
        for outcome, count in tally.unscored.items()
    ]
    return [*rows, StatisticRow("  without a score", ", ".join(left_out) or "none", _MEANINGS["without a score"])]


def _rate(rate: Rate) -> str:
    if rate.value is None or rate.low is None or rate.high is None:
        return "no score, n = 0"
    return f"{percent1(rate.value)} % (95 % interval {percent1(rate.low)}–{percent1(rate.high)}), n = {rate.n}"


def panel_rows(panel: PanelStatistics) -> list[StatisticRow]:
    """Return what one panel has to tell: effective length, trend, depth effect, where there is any."""
    rows = []
    for meaning, found in (("effective length", panel.absolute), ("relative", panel.relative)):
        rows.append(StatisticRow(f"effective length ({found.bar})", found.words, _MEANINGS[meaning]))
        if found.chances:
            rows.append(StatisticRow("  chance to pass", _chances(found), _MEANINGS["chance to pass"]))
    if panel.trend.area is not None:
        rows.append(StatisticRow("trend", _trend(panel.trend), _MEANINGS["trend"]))
    if panel.depth.samples + panel.depth.incomplete:
        rows += _depth_rows(panel.depth)
    return rows


def _chances(found: EffectiveLength) -> str:
    lengths = sorted(found.chances)
    labels = zip(length_labels(lengths), lengths, strict=True)
    return ", ".join(f"{label} {percent(found.chances[length])} %" for label, length in labels)


def _depth_rows(effect: DepthEffect) -> list[StatisticRow]:
    samples = "1 sample" if effect.samples == 1 else f"{effect.samples} samples"
    incomplete = f", {effect.incomplete} incomplete and left out" if effect.incomplete else ""
    rows = [StatisticRow("depth effect", f"{effect.label} ({samples}{incomplete})", _MEANINGS["depth effect"])]
    contrasts = (("ends - middle", effect.ends_middle), ("primacy", effect.primacy), ("recency", effect.recency))
    for name, found in contrasts:
        if found is not None:
            rows.append(StatisticRow(f"  {name}", _contrast(found), _MEANINGS[name]))
    if effect.test is not None:
        name = "Cochran's Q" if effect.test.name == "cochran" else "Friedman's chi-square"
        rows.append(StatisticRow("  depths alike", f"{name} p {p_words(effect.test.p)}", _MEANINGS["depths alike"]))
    ends = effect.extremes
    if ends is not None and ends.best_score > ends.worst_score:
        text = (
            f"{depth_label(ends.best)} % ({percent1(ends.best_score)}) and"
            f" {depth_label(ends.worst)} % ({percent1(ends.worst_score)}), p (Holm) {p_words(ends.p_adjusted)}"
        )
        rows.append(StatisticRow("  best and worst depth", text, _MEANINGS["best and worst depth"]))
    return rows


def _contrast(found: Difference) -> str:
    ends = interval_words(found)
    return f"{points1(found.mean)} points ({f'95 % interval {ends}' if ends else 'too few samples for an interval'})"


def _trend(found: Trend) -> str:
    parts = [] if found.area is None else [f"area {percent1(found.area)} %"]
    if found.drop is not None:
        parts.append(
            f"{abs(100 * found.drop):.1f} % {'below' if found.drop >= 0 else 'above'} the base at the longest length"
        )
    half = "not reached" if found.half_life is None else length_labels([found.half_life])[0]
    return ", ".join([*parts, f"half-life {half}"])
