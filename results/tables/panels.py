"""Tables of panels and tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from needlework.core.record import Record
from needlework.results.records.samples import refused_below_window
from needlework.results.statistics.absent import AbsentTwins, Rate
from needlework.results.statistics.depth import DepthEffect, Extremes
from needlework.results.statistics.depth_tables import place_words
from needlework.results.statistics.effective_length import EffectiveLength, Trend
from needlework.results.statistics.tasks import Macro, PanelStatistics, Share, TaskScore
from needlework.results.style import folded_table, length_labels, one_line, percent, percent1
from needlework.results.tables.comparison import p_words
from needlework.results.tables.terminal import range_words, score_and_interval

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
_NONE = "–"
_WIDE = 1000  # columns of what is no terminal: a table stays in one piece


def task_columns(rows: Sequence[TaskScore], found: Sequence[Macro]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The head and the rows of the table, one row a task and one for each macro score. Columns that nothing fills are
    left out; where there are several models their name is the first column."""
    several = len({row.model for row in rows}) > 1
    table: list[tuple[str, ...]] = []
    for model in dict.fromkeys(row.model for row in rows):
        own = [row for row in rows if row.model == model]
        table += [(model, *_cells(row)) for row in own]
        table += [(model, *_macro(each)) for each in found if each.model == model]
    head = ("model", *HEAD, *_TWINS)
    always = {1, 2, 3, 4} | ({0} if several else set())
    shown = [
        at for at in range(len(head)) if at in always or (at > 4 and any(row[at] not in (_NONE, "") for row in table))
    ]
    return tuple(head[at] for at in shown), [tuple(row[at] for at in shown) for row in table]


def task_lines(
    rows: Sequence[TaskScore], found: Sequence[Macro], *, ascii_only: bool = False, width: int = _WIDE
) -> list[str]:
    """The table for a terminal of so many columns; nothing for a run of a single task without controls."""
    if len(rows) == len({row.model for row in rows}) and not any(row.focused.trials or row.twins for row in rows):
        return []
    head, table = task_columns(rows, found)
    left = sum(name in ("model", "task") for name in head)
    lines = list(folded_table((head, *table), left, width))
    notes = [f"{name}: {MEANINGS[name]}" for name in head if name in MEANINGS]
    told = [*lines, *notes, *missing_lines(found)]
    return [line.replace("–", "-") for line in told] if ascii_only else told


def missing_lines(found: Sequence[Macro]) -> list[str]:
    """Say why there is no macro score."""
    return [
        f"no macro score of {each.model}: nothing scored for {', '.join(each.missing)}"
        for each in found
        if each.missing
    ]


def _cells(row: TaskScore) -> tuple[str, ...]:
    overall = row.overall
    unscored = ", ".join(f"{count} {name}" for name, count in overall.unscored.items())
    twins = row.twins
    return (
        one_line(row.task),
        *score_and_interval(overall),
        str(overall.n),
        unscored,
        f"{_percent(row.focused.mean)} (n {row.focused.n})" if row.focused.trials else _NONE,
        _share(row.relative),
        _percent(row.chance),
        _percent(row.floor),
        _share(row.corrected) if row.chance else _NONE,
        _percent(twins.hallucination.value) if twins else _NONE,
        _percent(twins.needless.value) if twins else _NONE,
    )


def _macro(each: Macro) -> tuple[str, ...]:
    name = f"macro ({each.families} families, {each.tasks} tasks)"
    score, corrected = each.score, each.corrected
    ends = _NONE if score.low is None or score.high is None else f"{_number(score.low)}–{_number(score.high)}"
    told = _share_value(score), ends
    if each.range is not None:
        scored = _NONE if score.value is None else f"scored {_number(score.value)}"
        told = range_words(each.range), scored if ends == _NONE else f"{scored} ({ends})"
    return (name, *told, "", "", _NONE, _NONE, _NONE, _NONE, _share(corrected), _NONE, _NONE)


def _percent(value: float | None) -> str:
    return _NONE if value is None else percent1(value)


def _number(value: float) -> str:
    """A share in percent that may lie beyond 0 and 100."""
    return percent1(value) if 0 <= value <= 1 else f"{100 * value:.1f}"


def _share_value(share: Share) -> str:
    return _NONE if share.value is None else _number(share.value)


def _share(share: Share) -> str:
    if share.value is None or share.low is None or share.high is None:
        return _share_value(share)
    return f"{_number(share.value)} ({_number(share.low)}–{_number(share.high)})"


_SHOWN = 300  # characters of an example


def unscored_lines(records: Sequence[Record], windows: Mapping[str, int] = MappingProxyType({})) -> list[str]:
    """One line for each reason why trials are invalid or were skipped: how many there are, and the first one's why.

    Errors are told by pytest itself, censored and unclear trials by their answers. `windows`: model -> tokens; what a
    server refused below them is told too.
    """
    found: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        if record.outcome in ("invalid", "skipped"):
            reasons = ", ".join(record.details.invalid)
            found.setdefault((record.outcome, reasons), []).append(record)
    lines = [
        f"{outcome}: {len(those)} {'trial' if len(those) == 1 else 'trials'}: {one_line(those[0].why)[:_SHOWN]}"
        for (outcome, _), those in sorted(found.items())
    ]
    below = [record for record in records if refused_below_window(record, windows)]
    if below:
        length, window = min((record.length, windows[record.model]) for record in below)
        lines.append(
            f"skipped below the window: {len(below)}, from length {length} on, where {window} tokens are told:"
            " the server gives less; these count for --max-errors"
        )
    return lines


def shared_lines(records: Sequence[Record]) -> Iterator[str]:
    """One line for each model whose answers tell that tokens were shared, when they were asked for."""
    for model in dict.fromkeys(record.model for record in records):
        own = [each for each in records if each.model == model]
        tokens = sum(each.prompt.tokens or 0 for each in own)
        shared = sum(each.timing.cached_tokens or 0 for each in own)
        if 0 < shared < tokens:
            yield one_line(
                f"{model}: {tokens:,} prompt tokens, {tokens - shared:,} computed and {shared:,} shared with other "
                f"prompts ({100 * shared / tokens:.0f} % saved)"
            )
