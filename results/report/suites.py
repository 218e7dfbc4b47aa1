"""Sections of published suites and data sets, and of latency."""

from collections.abc import Iterator, Sequence

from needlework.results.report.charts import ruler_charts
from needlework.results.report.section import GLOSSARY, Finding, Section, Table, filled_table
from needlework.results.statistics import wording
from needlework.results.statistics.panels import Share
from needlework.results.statistics.run_facts import CostRow, LatencyRow, Times
from needlework.results.statistics.suites.data_sets import MRCR, DataSetGroup, FieldTable, LevalSummary
from needlework.results.statistics.suites.published import HELD, TASKS, NeedleBench, NeedleBenchRow, Reach, RulerTable
from needlework.results.style import NONE, first_few, length_label, one_line, percent, percent1


def data_set_sections(tables: Sequence[FieldTable]) -> list[Section]:
    """A section for each data set and model: a row for each group of its rows."""
    return [
        Section(
            f"{each.model} · {each.task} · {each.groups[0].score.trials:,} answers",
            tables=(_data_set_table(each),),
            notes=each.notes,
            brief=True,
            open=True,
        )
        for each in tables
    ]


def _data_set_table(table: FieldTable) -> Table:
    rules = list(dict.fromkeys(rule for group in table.groups for rule in group.others))
    mrcr = table.task in MRCR
    unread = "no string" if mrcr else "no list" if table.task == "graphwalks" else "no letter"
    head = ["group", "score %", "95 %", "n", "chance %", "corrected %", *(f"{rule} %" for rule in rules)]
    head += ["noise %", unread, *(["another piece"] if mrcr else []), "unscored"]
    caption = "score: ours; the other columns: what each published rule gives the same answers"
    if any(each.noise for each in table.groups):
        caption += "; noise: what it gives for any piece of the ask"
    return filled_table(caption, head, [_cells(group, rules, mrcr=mrcr) for group in table.groups], 1)


def _cells(group: DataSetGroup, rules: Sequence[str], *, mrcr: bool) -> list[str]:
    return [
        one_line(group.name),
        *wording.score_and_interval(group.score),
        str(group.score.n),
        wording.number_cell(group.chance) if group.chance else NONE,
        wording.number_cell(group.corrected.value) if group.chance else NONE,
        *(wording.number_cell(group.others.get(rule)) for rule in rules),
        wording.number_cell(group.noise),
        str(group.unread),
        *([str(group.another)] if mrcr else []),
        wording.unscored_words(group.score.unscored),
    ]


_RULES = GLOSSARY["leval_rules"]


def leval_sections(summaries: Sequence[LevalSummary]) -> list[Section]:
    """A section for each model, length and retriever; none for a run with fewer than two tasks of L-Eval."""
    return [
        Section(
            " · ".join(filter(None, ("L-Eval", each.model, length_label(each.length), each.retriever))),
            tables=(_leval_table(each),),
            notes=tuple(_leval_notes(each)),
            brief=True,
            open=True,
        )
        for each in summaries
    ]


def _leval_table(summary: LevalSummary) -> Table:
    rows = [
        (
            each.name,
            wording.percent2(each.score.value),
            wording.interval_cell(each.score),
            f"{len(each.tasks)} of {each.of}",
            str(each.n),
            str(each.unscored or NONE),
        )
        for each in summary.averages
    ]
    head = ("average", "score %", "95 %", "tasks", "n", "unscored")
    return filled_table("each task weighs the same", head, rows, 1)


def _leval_notes(summary: LevalSummary) -> Iterator[str]:
    """Notes on the rule, and on averages that differ from the published ones as something is missing."""
    averages: dict[tuple[str, ...], list[str]] = {}
    for average in summary.averages:
        if average.missing and average.name != "all tasks":
            averages.setdefault(average.missing, []).append(average.name.removesuffix(" average"))
    yield _RULES[summary.rule]
    for missing, names in averages.items():
        yield f"{', '.join(names)}: not the published average, without {first_few(missing)}"


_MEANINGS = GLOSSARY["findings"]["needlebench"]


def needlebench_sections(summaries: Sequence[NeedleBench]) -> list[Section]:
    """A section for each model with the published summary's rows; none for other presets."""
    sections = []
    for summary in summaries:
        changed = f" (not as published: {', '.join(summary.changed)})" if summary.changed else ""
        title = f"{summary.model} · {summary.preset}{changed}"
        sections.append(Section(title, findings=tuple(_needlebench_findings(summary)), brief=True))
    return sections


def _needlebench_findings(summary: NeedleBench) -> Iterator[Finding]:
    weights = "a third each" if len(set(summary.weights.values())) == 1 else "0.4, 0.3 and 0.3"
    for row in summary.rows:
        whole = row.name in ("Overall", "S-RT", "M-RT", "M-RS")  # the others are part of one, and indented
        name = "ATC" if row.name.startswith("ATC-") and row.name.count("-") == 1 else row.name
        name = "by needles" if row.name.endswith(" by needles") else name
        meaning = _MEANINGS.get(name, "").format(weights=weights)
        yield Finding(row.name if whole else f"  {row.name}", _row_words(row), meaning)
    for reach in summary.max_needles:
        yield Finding(reach.name, _reach_words(reach), _MEANINGS["max needles"].format(held=percent(HELD)))


def _row_words(row: NeedleBenchRow) -> str:
    if row.missing:
        return f"no score, missing: {first_few(row.missing, separator='; ')}"
    if row.value is None:
        return "no score, n = 0"
    unscored = f", {wording.unscored_words(row.unscored)}" if row.unscored else ""
    scored = f"{wording.rate_words(row, row.n, 'no interval')}{unscored}"
    if row.range is None:
        return scored
    return f"{wording.range_words(row.range)} % (undecided answers all missed to all hit), of the scored {scored}"


def _reach_words(reach: Reach) -> str:
    if reach.needles is None:
        return f"undetermined, missing: {first_few(reach.missing, separator='; ')}"
    if reach.dropped is None:
        return f"{reach.needles} or more"
    return f"{reach.needles} (below {percent(HELD)} % at {reach.dropped})"


def ruler_sections(tables: Sequence[RulerTable]) -> list[Section]:
    """A section for each model and language: rows by length, means over lengths, effective length."""
    return [
        Section(
            f"RULER · {each.model} · {each.language}",
            charts=tuple(ruler_charts(tables)) if each is tables[0] else (),
            tables=(_ruler_table(each),),
            notes=tuple(map(one_line, _ruler_notes(each))),
            brief=True,
            open=any(length.mean is not None for length in each.lengths),
        )
        for each in tables
    ]


def _ruler_table(table: RulerTable) -> Table:
    head = ("length", "score %", "95 % interval", "strict %", "n", "cut off (count as 0)", "unscored")
    rows = [
        (
            length_label(each.length),
            wording.number_cell(each.mean),
            wording.interval_cell(Share(each.mean, each.low, each.high)),
            wording.number_cell(each.strict),
            str(each.n),
            str(each.cut or NONE),
            str(each.unscored or NONE),
        )
        for each in table.lengths
    ]
    return filled_table(f"score: the mean of {len(TASKS)} tasks, each weighing the same", head, rows, 1)


def _ruler_notes(table: RulerTable) -> Iterator[str]:
    """The published means over lengths, the effective length, and why a length has no mean."""
    if table.increasing is not None and table.decreasing is not None:
        yield f"wAvg(inc) {percent1(table.increasing)}, wAvg(dec) {percent1(table.decreasing)}"
    if any(row.mean is not None for row in table.lengths):
        yield f"effective length, {table.effective.text}"
    for row in table.lengths:
        if row.missing:
            names = first_few([name.removeprefix("ruler_") for name in row.missing], 4)
            yield f"{length_label(row.length)}: no mean, as there is no score for {names}"
    if table.scorers:
        yield f"scored by {', '.join(table.scorers)}, not as RULER does"


_CAPTION = "median and 95th percentile of answered requests: to the last token, to the first, of each further token"
_HEAD = (
    *("model", "length", "n", "latency s", "p95", "first token s", "p95"),
    *("ms a token", "p95", "tokens/s", "cached %"),
)


def cost_sections(rows: Sequence[CostRow]) -> list[Section]:
    """A row for each model: tokens of its answered requests, and dollars where `--price` is known."""
    cells = [
        (
            one_line(row.model),
            *(f"{count:,}" for count in (row.answers, row.prompt_tokens, row.cached_tokens, row.answer_tokens)),
            NONE if row.dollars is None else f"{row.dollars:,.4g}",
        )
        for row in rows
    ]
    head = ("model", "answers", "prompt tokens", "of these cached", "answer tokens", "dollars")
    uncounted = sum(row.uncounted for row in rows)
    notes = [f"{uncounted:,} answers have tokens that nobody counted"] * bool(uncounted)
    notes.append("answered requests of trials: what failed on the way, judges and probes come on top")
    table = filled_table("", head, cells, 1)
    return [Section("Tokens and cost", (table,), notes=tuple(notes), name="cost")] if rows else []


def latency_sections(rows: Sequence[LatencyRow], at_once: Sequence[str] = ()) -> list[Section]:
    """A row for each model and length; no section where nothing was measured.

    `at_once`: how requests were sent, as the run knows it.
    """
    if not rows:
        return []
    earlier, n = sum(row.earlier for row in rows), sum(row.n for row in rows)
    notes = [*at_once]
    if earlier:
        notes.append(f"{earlier} of {n} answers were measured in an earlier session")
    if any(row.cached for row in rows):
        notes.append("cached %: prompt tokens that a cache held, which are faster than the model")
    table = filled_table(_CAPTION, _HEAD, list(map(_latency_cells, rows)), 2)
    return [Section("Latency by length", tables=(table,), notes=tuple(notes), name="latency")]


def _latency_cells(row: LatencyRow) -> tuple[str, ...]:
    rate = NONE if row.tokens_per_s is None else f"{row.tokens_per_s:,.1f}"
    cached = percent(row.cached) if row.cached else NONE
    return (
        one_line(row.model), length_label(row.length), str(row.n), *_both(row.latency_s), *_both(row.ttft_s),
        *_both(row.token_s, 1_000), rate, cached,
    )  # fmt: skip


def _both(times: Times | None, scale: float = 1) -> tuple[str, str]:
    return (NONE, NONE) if times is None else (_three(scale * times.median), _three(scale * times.p95))


def _three(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:#.3g}"
