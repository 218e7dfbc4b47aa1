"""`report.html`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from needlework.core.files import write_whole
from needlework.core.grid import depth_label
from needlework.core.labels import OWN_DOCUMENTS
from needlework.core.record import UNSCORED, Record
from needlework.results.adaptive.survey import LengthFound, LengthStatement
from needlework.results.html.charts import on_one_line, percent_number, picture_of
from needlework.results.html.details import fit
from needlework.results.html.page import page
from needlework.results.html.panels import NO_SCORE, entries, missed_of, panel_views, panels_data
from needlework.results.records.samples import task_of
from needlework.results.statistics.documents import ArmScore
from needlework.results.statistics.panels import Panel, depth_order
from needlework.results.statistics.run_facts import RunFacts, command_words
from needlework.results.statistics.run_followup import NextRun
from needlework.results.statistics.run_report import RunReport
from needlework.results.statistics.summary_sentence import Headline, headline_of
from needlework.results.statistics.tasks import GateRow, Macro, TaskScore, selection_words
from needlework.results.style import ColorsName, length_labels, natural, percent1
from needlework.results.tables.adaptive import MEANINGS, adaptive_lines, bar_words, length_words, series_name
from needlework.results.tables.documents import document_rows, document_tables, documents_name, retrieval_columns
from needlework.results.tables.documents import notes as notes_on
from needlework.results.tables.panels import missing_lines, task_columns, twins_name, twins_rows
from needlework.results.tables.suites import (
    field_group_table,
    field_name,
    latency_notes,
    latency_table,
    leval_name,
    leval_notes,
    leval_table,
    needlebench_name,
    needlebench_rows,
    ruler_name,
    ruler_notes,
    ruler_table,
)

LIMIT_BYTES = 3_000_000
NOTICE_BYTES = 1_000  # kept free for what is said about things left out


def write_html(path: Path, report: RunReport, *, title: str | None = None, colors: ColorsName = "safe") -> None:
    """Write `path` atomically. See `html_text`."""
    write_whole(path, html_text(report, title=title, colors=colors).encode())


def html_text(
    report: RunReport, *, title: str | None = None, colors: ColorsName = "safe", limit_bytes: int = LIMIT_BYTES
) -> str:
    """Return the page: the same for the same records in any order, and nothing in it is loaded from elsewhere.

    `title`: `Needlework: MODELS`, where none is given. Controls have no panel; tables tell of them. Scores are all in
    it, whatever their number: what `limit_bytes` limits is the details of the trials, and the page says what it left
    out.
    """
    report = replace(report, panels=tuple(sorted(report.panels, key=_as_people_sort)))
    panels = report.panels
    asked = [each for each in report.asked if not each.control]
    records = [each.record for each in asked]
    scores = panels_data(panels)
    views = panel_views(panels, report.statistics, report.adaptive)
    others = [row for row in report.tasks if task_of(row.task) not in OWN_DOCUMENTS]
    missed = missed_of(records, panels)
    fields = {
        "head": head_of(report),
        "picture": picture_of(report),
        "panels": views,
        "several": len(report.models) > 1,
        "lost": [name for name in UNSCORED if any(panel.overall.counts[name] for panel in panels)],
        "lengths": any(view.effective and view.effective.telling for view in views),
        "missed": missed,
        "missed_all": sum(each.trial.outcome != "found" for each in asked),
        "gates": gate_tables(report.gates, len(report.records)),
        "tasks": task_tables(others, report.macros, panels),
        "own_alone": all(task_of(panel.task) in OWN_DOCUMENTS for panel in panels),
        "twins": [
            (on_one_line(twins_name(each)), twins_rows(each))
            for each in report.twins
            if task_of(each.task) not in OWN_DOCUMENTS
        ],
        "tables": [
            *retrieval_tables(report.retrieval),
            *adaptive_tables(report.adaptive),
        ],
        "suites": [(on_one_line(needlebench_name(each)), needlebench_rows(each)) for each in report.suites],
        "documents": [
            (on_one_line(documents_name(each)), document_tables(each), document_rows(each)) for each in report.documents
        ],
        "field": [
            *(
                (on_one_line(ruler_name(each)), ruler_table(each), ruler_notes(each))
                for each in report.ruler
                if any(length.mean is not None for length in each.lengths)
            ),
            *((on_one_line(leval_name(each)), leval_table(each), leval_notes(each)) for each in report.leval),
            *((on_one_line(field_name(each)), field_group_table(each), each.notes) for each in report.field),
        ],
        "mixed": bool(report.macros),
        "facts": facts_tables(report.facts),
        "latency": _latency(report),
        "interrupted": report.interrupted,
        "notes": [on_one_line(note, 2_000) for note in report.notes if note != report.interrupted],
        "unscored": UNSCORED,
    }
    heading = f"Needlework: {', '.join(report.models)}" if title is None else title

    def with_details(details: str, notice: Sequence[str]) -> str:
        return page("report", heading, scores, details=details, colors=colors, notice=notice, fields=fields)

    room = limit_bytes - len(with_details("", ()).encode()) - NOTICE_BYTES
    kept = fit(entries(asked, panels), room)
    return with_details(kept.packed, kept.notice(limit_bytes))


def _as_people_sort(panel: Panel) -> tuple[object, ...]:
    """By the numbers in what was asked about: `n2` before `n16`."""
    return panel.model, panel.task, natural(panel.needle)


def _latency(report: RunReport) -> dict[str, object] | None:
    if not report.latency:
        return None
    return {"table": latency_table(report.latency), "notes": latency_notes(report.latency, report.sending)}


_FAULTS = 5  # reasons that are told at the top; the rest are counted


@dataclass(frozen=True, slots=True)
class NextStep:
    """What to do for a surer answer: `command` to type, `why`, its `cost` in time; empty where there is none."""

    command: str
    why: str
    cost: str


@dataclass(frozen=True, slots=True)
class PageHead:
    """The first thing on the page. `lead`, `rest`: the sentence, its first clause apart; `models`: a sentence each."""

    run: str
    lead: str
    rest: str
    models: tuple[str, ...]
    rests: str
    faults: tuple[str, ...]
    more_faults: int
    step: NextStep | None


def head_of(report: RunReport) -> PageHead:
    """What the head of the page says."""
    short = headline_of(report)
    lead, rest = short.lead, short.rest
    if short.models:  # their scores stand in a line each
        lead, rest = f"{len(short.models)} models: {rest or 'no single score to compare them by'}", ""
    return PageHead(
        run=_run(report),
        lead=_whole_numbers(on_one_line(f"{lead}.", 600)),
        rest=_whole_numbers(on_one_line(f"{rest[0].upper()}{rest[1:]}.", 1_200) if rest else ""),
        models=tuple(_whole_numbers(on_one_line(each, 900)) for each in short.models),
        rests=short.rests,
        faults=tuple(on_one_line(fault.text, 400) for fault in short.faults[:_FAULTS]),
        more_faults=sum(fault.count for fault in short.faults[_FAULTS:]),
        step=_step(short, report),
    )


def _whole_numbers(text: str) -> str:
    """Lines are not broken between a number and its unit."""
    return text.replace(" %", "\u00a0%").replace(" tokens", "\u00a0tokens")


def facts_tables(facts: RunFacts | None) -> list[dict[str, object]]:
    """How the run was made, as tables: the run, each model, the programs."""
    if facts is None:
        return []
    run = [
        ("run", facts.name), ("started", facts.started), ("commit", facts.commit), ("command", " ".join(facts.command))
    ]  # fmt: skip
    tables = [("The run", run), *((each.name, each.facts) for each in facts.models), ("Programs", facts.versions)]
    return [
        {
            "name": on_one_line(name),
            "rows": [(on_one_line(key), on_one_line(value, 1_000)) for key, value in rows if value],
        }
        for name, rows in tables
        if rows
    ]


def _run(report: RunReport) -> str:
    """`quick · 2026-11-22 · smollm2 (window 8,192 tokens · float32 · cpu)`; the names alone where nothing is known."""
    facts = report.facts
    known: Mapping[str, str] = {each.name: each.short for each in facts.models} if facts else {}
    models = [f"{name} ({known[name]})" if known.get(name) else name for name in report.models]
    made = [facts.name, facts.started[:10], facts.commit] if facts else []
    return on_one_line(" · ".join(filter(None, (*made, ", ".join(models)))), 400)


def _step(short: Headline, report: RunReport) -> NextStep | None:
    wanted, facts = short.next_run, report.facts
    if wanted is None:
        return None
    if not wanted.repeats:
        return NextStep("", wanted.what, "")
    command = command_words(facts, wanted.repeats) if facts else ""
    return NextStep(command or f"--repeats {wanted.repeats}", wanted.what, _cost(wanted, report.records, facts))


def _cost(wanted: NextRun, records: Sequence[Record], facts: RunFacts | None) -> str:
    """`about 12 minutes more`: what the further trials take at the pace of this run."""
    if facts is None or not facts.seconds:
        return ""
    asked = 1 + max(record.repeat for record in records)
    seconds = facts.seconds * len(records) * (wanted.repeats / asked - 1)
    if seconds < 90:
        return f"about {max(1, round(seconds))} seconds more"
    return (
        f"about {round(seconds / 60):,} minutes more" if seconds < 5400 else f"about {seconds / 3600:,.0f} hours more"
    )


_NAMES = ("model", "task", "retriever", "gate", "cells")
Bar = tuple[float, float, float]
"""Low end, score and high end, percent."""


def gate_tables(rows: Sequence[GateRow], recorded: int) -> list[dict[str, object]]:
    """What the gates decided; nothing of a run without. `recorded`: the run's trials."""
    head = ("gate", "cells", "verdict", "value", "interval", "n", "")
    cells = [
        (
            row.gate,
            row.group,
            row.verdict,
            NO_SCORE if row.value is None else f"{row.value:.3f}",
            NO_SCORE if row.low is None or row.high is None else f"{row.low:.3f}–{row.high:.3f} ({row.level:.4g} %)",
            str(row.n),
            row.remark,
        )
        for row in rows
    ]
    selection = selection_words(rows, recorded)
    return [_table("Gates", head, cells, [selection] if selection else [])] if rows else []


def task_tables(
    tasks: Sequence[TaskScore], macros: Sequence[Macro], panels: Sequence[Panel]
) -> list[dict[str, object]]:
    """The table of tasks; none where each model has one task and no control: the rest of the page says it all.

    `bars`: the interval of each row; `links`: the number of its first heatmap, or `None`.
    """
    several = any(len(list(rows)) > 1 for _, rows in groupby(tasks, key=lambda row: row.model))
    if not several and not any(row.focused.trials or row.twins for row in tasks):
        return []
    head, rows = task_columns(tasks, macros)
    first = {(panel.model, panel.task): at for at, panel in reversed(list(enumerate(panels)))}
    bars: list[Bar | None] = []
    links: list[int | None] = []
    for model in dict.fromkeys(row.model for row in tasks):
        for row in (row for row in tasks if row.model == model):
            ends = row.overall.interval
            bars.append(_bar(ends.low if ends else None, row.overall.mean, ends.high if ends else None))
            links.append(first.get((row.model, row.task)))
        for macro in (each for each in macros if each.model == model):
            bars.append(_bar(macro.score.low, macro.score.value, macro.score.high))
            links.append(None)
    return [{**_table("Tasks", head, rows, missing_lines(macros)), "bars": bars, "links": links}]


def retrieval_tables(rows: Sequence[ArmScore]) -> list[dict[str, object]]:
    """What search found; nothing of a run without."""
    return [_table("Search in place of reading everything", *retrieval_columns(rows), notes_on(rows))] if rows else []


def _bar(low: float | None, mean: float | None, high: float | None) -> Bar | None:
    if low is None or mean is None or high is None:
        return None
    first, middle, last = (percent_number(min(1.0, max(0.0, each))) for each in (low, mean, high))
    return first, middle, last


def _table(name: str, head: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str]) -> dict[str, object]:
    return {
        "id": name.lower().replace(" ", "-"),
        "name": name,
        "head": head,
        "rows": [[on_one_line(text) for text in row] for row in rows],
        "notes": [on_one_line(note) for note in notes],
        "names": sum(column in _NAMES for column in head),
        "bars": (),
        "links": (),
    }


def adaptive_tables(statements: Sequence[LengthStatement]) -> list[dict[str, object]]:
    """Return the tables, as `report.html.j2` takes them."""
    return [
        _adaptive_table(number, name, list(found))
        for number, (name, found) in enumerate(groupby(statements, key=series_name))
    ]


def _adaptive_table(number: int, name: str, found: Sequence[LengthStatement]) -> dict[str, object]:
    first = found[0]
    return {
        "id": f"adaptive-{number}",
        "name": on_one_line(f"Effective length: {name}"),
        "head": [
            "trials at depth",
            *length_labels([each.length for each in first.lengths]),
        ],
        "rows": [[on_one_line(text) for text in row] for row in _rows(found)],
        "notes": [on_one_line(line) for line in (*adaptive_lines(found, lengths=False), *MEANINGS)],
        "names": 1,
        "bars": (),
        "links": (),
    }


def _rows(found: Sequence[LengthStatement]) -> Iterator[list[str]]:
    first = found[0]
    depths = sorted({depth for each in first.lengths for depth in each.per_depth}, key=depth_order)
    for depth in depths:
        label = "all" if depth is None else f"{depth_label(depth)} %"
        yield [label, *(str(each.per_depth.get(depth, 0)) for each in first.lengths)]
    yield ["trials", *(str(each.asked) for each in first.lengths)]
    for statement in found:
        base = statement.base.length if statement.base else None
        yield [bar_words(statement), *(length_words(each, base) for each in statement.lengths)]
        yield ["score % (95 % interval as stopped)", *(_score(each) for each in statement.lengths)]


def _score(each: LengthFound) -> str:
    if not each.n or each.low is None or each.high is None:
        return "–"
    return f"{percent1(each.total / each.n)} ({percent1(each.low)}–{percent1(each.high)})"
