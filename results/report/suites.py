"""Sections of published suites and data sets, and of latency."""

from __future__ import annotations

from collections.abc import Sequence

from needlework.results.report.charts import ruler_charts
from needlework.results.report.section import Finding, Section, Table, filled_table
from needlework.results.statistics.run_facts import LatencyRow, Times
from needlework.results.statistics.suites.data_sets import MRCR, DataSetGroup, FieldTable, LevalSummary
from needlework.results.statistics.suites.needlebench import HELD, NeedleBench, NeedleBenchRow, Reach
from needlework.results.statistics.suites.ruler import TASKS, RulerTable
from needlework.results.statistics.wording import ends, percent1_cell, percent2, range_words, score_and_interval
from needlework.results.style import NONE, length_labels, one_line, percent, percent1

_UNREAD = {"graphwalks": "no list"}


def data_set_sections(found: Sequence[FieldTable]) -> list[Section]:
    """A section for each data set and model: a row for each group of its rows."""
    return [
        Section(
            f"{each.model} · {each.task} · {each.groups[0].score.trials:,} answers",
            tables=(_data_set_table(each),),
            notes=tuple(each.notes),
            brief=True,
            open=True,
        )
        for each in found
    ]


def _data_set_table(found: FieldTable) -> Table:
    whose = list(dict.fromkeys(who for group in found.groups for who in group.others))
    mrcr = found.task in MRCR
    missing = "no string" if mrcr else _UNREAD.get(found.task, "no letter")
    head = ["group", "score %", "95 %", "n", "chance %", "corrected %", *(f"{who} %" for who in whose)]
    head += ["noise %", missing, *(["another piece"] if mrcr else []), "unscored"]
    caption = "score: ours; the other columns: what each published rule gives the same answers"
    if any(each.noise for each in found.groups):
        caption += "; noise: what it gives for any piece of the ask"
    return filled_table(caption, head, [_cells(group, whose, mrcr=mrcr) for group in found.groups], 1, range(4))


def _cells(group: DataSetGroup, whose: Sequence[str], *, mrcr: bool) -> list[str]:
    unscored = ", ".join(f"{count} {name}" for name, count in group.score.unscored.items())
    shares = [NONE if who not in group.others else percent1(group.others[who]) for who in whose]
    corrected = group.corrected.value
    return [
        one_line(group.name),
        *score_and_interval(group.score),
        str(group.score.n),
        percent1(group.chance) if group.chance else NONE,
        NONE if corrected is None or not group.chance else _signed(corrected),
        *shares,
        NONE if group.noise is None else percent1(group.noise),
        str(group.unread),
        *([str(group.another)] if mrcr else []),
        unscored,
    ]


def _signed(share: float) -> str:
    """A share in percent that may lie below 0."""
    return percent1(share) if 0 <= share <= 1 else f"{100 * share:.1f}"


_SHOWN = 3
_RULES = {
    "strict": "scored by the rules without L-Eval's quirks; needlework leval-export RUN gives the published ones too",
    "compat": "scored as L-Eval's own code does",
    "mixed": "scored by several kinds of rules: not comparable with L-Eval's tables",
}


def leval_sections(found: Sequence[LevalSummary]) -> list[Section]:
    """A section for each model, length and retriever; none for a run with fewer than two tasks of L-Eval."""
    return [
        Section(
            " · ".join(filter(None, ("L-Eval", each.model, length_labels([each.length])[0], each.retriever))),
            tables=(_leval_table(each),),
            notes=tuple(_leval_notes(each)),
            brief=True,
            open=True,
        )
        for each in found
    ]


def _leval_table(found: LevalSummary) -> Table:
    rows = [
        (
            each.name,
            percent2(each.score.value),
            ends(each.score),
            f"{len(each.tasks)} of {each.of}",
            str(each.n),
            str(each.unscored) if each.unscored else NONE,
        )
        for each in found.averages
    ]
    head = ("average", "score %", "95 %", "tasks", "n", "unscored")
    return filled_table("each task weighs the same", head, rows, 1, range(5))


def _leval_notes(found: LevalSummary) -> list[str]:
    """By which rule, and which averages are not the published ones because something is missing."""
    lacking: dict[tuple[str, ...], list[str]] = {}
    for each in found.averages:
        if each.missing and each.name != "all tasks":
            lacking.setdefault(each.missing, []).append(each.name.removesuffix(" average"))
    return [_RULES[found.rule], *(_lacking(", ".join(names), missing) for missing, names in lacking.items())]


def _lacking(names: str, missing: Sequence[str]) -> str:
    more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
    return f"{names}: not the published average, without {', '.join(missing[:_SHOWN])}{more}"


_NEEDLEBENCH_SHOWN = 3  # reasons for a missing score, of what may be one for each data set
_MEANINGS = {
    "Overall": "The weighted mean of S-RT, M-RT and M-RS: {weights}.",
    "S-RT": "One needle: found or not.",
    "M-RT": "One needle at each depth, all asked for at once: the share that is found.",
    "M-RS": "Two to five statements make a chain: is its end named? The mean over both languages and all numbers.",
    "ATC": "Statements of kinship without a haystack, each of them needed: the mean over numbers of statements.",
    "by needles": "The same with every number of statements weighted by itself: long chains count more.",
    "max needles": f"The longest chain before the first that scores below {percent(HELD)} %.",
}


def needlebench_sections(found: Sequence[NeedleBench]) -> list[Section]:
    """A section for each model: what each row of the published summary tells; none for a run of another preset."""
    return [
        Section(_needlebench_title(each), findings=tuple(_needlebench_findings(each)), brief=True) for each in found
    ]


def _needlebench_title(found: NeedleBench) -> str:
    changed = f" (not as published: {', '.join(found.design.changed)})" if found.design.changed else ""
    return f"{found.model} · {found.design.preset}{changed}"


def _needlebench_findings(found: NeedleBench) -> list[Finding]:
    rows = [Finding(_term(row.name), _text(row), _meaning(row.name, found)) for row in found.rows]
    return rows + [Finding(reach.name, _reach(reach), _MEANINGS["max needles"]) for reach in found.reaches]


def _term(name: str) -> str:
    """Rows that are part of another one are indented."""
    return name if name in ("Overall", "S-RT", "M-RT", "M-RS") else f"  {name}"


def _meaning(name: str, found: NeedleBench) -> str:
    if name == "Overall":
        weights = {"v1": "0.4, 0.3 and 0.3", "v2": "a third each"}[found.design.version]
        return _MEANINGS[name].format(weights=weights)
    if name.endswith(" by needles"):
        return _MEANINGS["by needles"]
    if name in _MEANINGS:
        return _MEANINGS[name]
    return _MEANINGS["ATC"] if name.startswith("ATC-") and name.count("-") == 1 else ""


def _text(row: NeedleBenchRow) -> str:
    if row.missing:
        more = f" and {len(row.missing) - _NEEDLEBENCH_SHOWN} more" if len(row.missing) > _NEEDLEBENCH_SHOWN else ""
        return f"no score, missing: {'; '.join(row.missing[:_NEEDLEBENCH_SHOWN])}{more}"
    score = row.score
    if score.value is None:
        return "no score, n = 0"
    ends = "no interval"
    if score.low is not None and score.high is not None:
        ends = f"95 % interval {percent1(score.low)}–{percent1(score.high)}"
    unscored = "".join(f", {count} {outcome}" for outcome, count in row.unscored.items())
    scored = f"{percent1(score.value)} % ({ends}), n = {row.n}{unscored}"
    if row.range is None:
        return scored
    return f"{range_words(row.range)} % (undecided answers all missed to all hit), of the scored {scored}"


def _reach(reach: Reach) -> str:
    if reach.needles is None:
        return f"undetermined, missing: {'; '.join(reach.missing[:_NEEDLEBENCH_SHOWN])}"
    if reach.dropped is None:
        return f"{reach.needles} or more"
    return f"{reach.needles} (below {percent(HELD)} % at {reach.dropped})"


_RULER_SHOWN = 4  # tasks without a score that are named


def ruler_sections(found: Sequence[RulerTable]) -> list[Section]:
    """A section for each model and language: a row for each length, the means over lengths, the effective length."""
    return [
        Section(
            f"RULER · {each.model} · {each.language}",
            charts=tuple(ruler_charts(found)) if each is found[0] else (),
            tables=(_ruler_table(each),),
            notes=tuple(_ruler_notes(each)),
            brief=True,
            open=any(length.mean is not None for length in each.lengths),
        )
        for each in found
    ]


def _ruler_table(found: RulerTable) -> Table:
    labels = length_labels([each.length for each in found.lengths])
    head = ("length", "score %", "95 % interval", "strict %", "n", "cut off (count as 0)", "unscored")
    rows = [
        (
            label,
            percent1_cell(each.mean),
            NONE if each.low is None or each.high is None else f"{percent1(each.low)}–{percent1(each.high)}",
            percent1_cell(each.strict),
            str(each.n),
            str(each.cut) if each.cut else NONE,
            str(each.unscored) if each.unscored else NONE,
        )
        for label, each in zip(labels, found.lengths, strict=True)
    ]
    return filled_table(f"score: the mean of {len(TASKS)} tasks, each weighing the same", head, rows, 1, range(2))


def _ruler_notes(found: RulerTable) -> list[str]:
    """The published means over lengths, the effective length, and why a length has no mean."""
    labels = length_labels([each.length for each in found.lengths])
    notes = []
    if found.increasing is not None and found.decreasing is not None:
        notes.append(f"wAvg(inc) {percent1(found.increasing)}, wAvg(dec) {percent1(found.decreasing)}")
    if any(each.mean is not None for each in found.lengths):
        notes.append(f"effective length, {found.effective.text}")
    for label, each in zip(labels, found.lengths, strict=True):
        names = [name.removeprefix("ruler_") for name in each.missing]
        more = f" and {len(names) - _RULER_SHOWN} more" if len(names) > _RULER_SHOWN else ""
        if names:
            notes.append(f"{label}: no mean, as there is no score for {', '.join(names[:_RULER_SHOWN])}{more}")
    if found.scorers:
        notes.append(f"scored by {', '.join(found.scorers)}, not as RULER does")
    return [one_line(note) for note in notes]


_CAPTION = "median and 95th percentile of answered requests: to the last token, to the first, of each further token"
_HEAD = (
    "model",
    "length",
    "n",
    "latency s",
    "p95",
    "first token s",
    "p95",
    "ms a token",
    "p95",
    "tokens/s",
    "cached %",
)


def latency_sections(rows: Sequence[LatencyRow], at_once: Sequence[str] = ()) -> list[Section]:
    """A row for each model and length; no section where nothing was measured.

    `at_once`: how requests were sent, as the run knows it.
    """
    if not rows:
        return []
    labels = dict(zip([row.length for row in rows], length_labels([row.length for row in rows]), strict=True))
    cells = [_latency_cells(row, labels[row.length]) for row in rows]
    several = len({row.model for row in rows}) > 1
    if not several:
        cells = [row[1:] for row in cells]
    head, names = (_HEAD, 2) if several else (_HEAD[1:], 1)
    earlier, n = sum(row.earlier for row in rows), sum(row.n for row in rows)
    notes = [*at_once]
    if earlier:
        notes.append(f"{earlier} of {n} answers were measured in an earlier session")
    if any(row.cached for row in rows):
        notes.append("cached %: prompt tokens that a cache held, which are faster than the model")
    table = filled_table(_CAPTION, head, cells, names, range(names + 3))
    return [Section("Latency by length", tables=(table,), notes=tuple(notes), name="latency")]


def _latency_cells(row: LatencyRow, label: str) -> tuple[str, ...]:
    rate = NONE if row.tokens_per_s is None else f"{row.tokens_per_s:,.1f}"
    cached = percent(row.cached) if row.cached else NONE
    return (
        one_line(row.model), label, str(row.n), *_both(row.latency_s), *_both(row.ttft_s),
        *_both(row.token_s, 1_000), rate, cached,
    )  # fmt: skip


def _both(times: Times | None, scale: float = 1) -> tuple[str, str]:
    return (NONE, NONE) if times is None else (_three(scale * times.median), _three(scale * times.p95))


def _three(value: float) -> str:
    """Three digits that count, never fewer than all whole ones: 0.0123, 1.23, 123, 1,234."""
    if value >= 100:
        return f"{value:,.0f}"
    digits = 1 if value >= 10 else 2 if value >= 1 else 3 if value >= 0.1 else 4
    return f"{value:.{digits}f}"
