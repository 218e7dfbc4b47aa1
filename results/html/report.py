"""`report.html`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from needlework.core.files import write_whole
from needlework.core.labels import OWN_DOCUMENTS
from needlework.core.record import UNSCORED, Record
from needlework.results.html.charts import on_one_line, picture_of, table_view
from needlework.results.html.details import fit
from needlework.results.html.page import page
from needlework.results.html.panels import entries, missed_of, panel_views, panels_data
from needlework.results.records.samples import task_of
from needlework.results.report.adaptive import adaptive_sections
from needlework.results.report.section import Section
from needlework.results.report.sections import run_sections
from needlework.results.report.suites import latency_sections
from needlework.results.report.tasks import gate_sections, twins_sections
from needlework.results.statistics.panels import Panel
from needlework.results.statistics.run_facts import RunFacts, command_words
from needlework.results.statistics.run_followup import NextRun
from needlework.results.statistics.run_report import RunReport
from needlework.results.statistics.summary_sentence import Headline, headline_of
from needlework.results.style import ColorsName, natural

LIMIT_BYTES = 3_000_000
NOTICE_BYTES = 1_000  # kept free for what is said about things left out


def write_html(path: Path, report: RunReport, *, title: str | None = None, colors: ColorsName = "viridis") -> None:
    """Write `path` atomically. See `html_text`."""
    write_whole(path, html_text(report, title=title, colors=colors).encode())


def html_text(
    report: RunReport, *, title: str | None = None, colors: ColorsName = "viridis", limit_bytes: int = LIMIT_BYTES
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
    others = tuple(row for row in report.tasks if task_of(row.task) not in OWN_DOCUMENTS)
    missed = missed_of(records, panels)
    fields = {
        "head": _head(report),
        "picture": picture_of(report),
        "panels": views,
        "several": len(report.models) > 1,
        "lost": [name for name in UNSCORED if any(panel.overall.counts[name] for panel in panels)],
        "lengths": any(view["effective"] for view in views),
        "missed": missed,
        "missed_all": sum(each.trial.outcome != "found" for each in asked),
        "gates": _shown(gate_sections(report.gates, len(report.records)), panels),
        "sections": _shown([*run_sections(replace(report, tasks=others)), *adaptive_sections(report.adaptive)], panels),
        "own_alone": all(task_of(panel.task) in OWN_DOCUMENTS for panel in panels),
        "twins": _shown(
            twins_sections([each for each in report.twins if task_of(each.task) not in OWN_DOCUMENTS]), panels
        ),
        "mixed": bool(report.macros),
        "facts": facts_tables(report.facts),
        "latency": _shown(latency_sections(report.latency, report.sending), panels),
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


def _shown(sections: Sequence[Section], panels: Sequence[Panel]) -> list[dict[str, object]]:
    """The sections as the template draws them: texts on one line, links as numbers of panels, bars in percent."""
    first = {(panel.model, panel.task): at for at, panel in reversed(list(enumerate(panels)))}
    return [
        {
            "title": on_one_line(each.title),
            "name": each.name,
            "open": each.open,
            "tables": [
                table_view(table, [_link(first.get(key) if key else None) for key in table.panels])
                for table in each.tables
            ],
            "findings": each.findings,
            "notes": [on_one_line(note, 600) for note in each.notes],
        }
        for each in sections
    ]


def _link(panel: int | None) -> str:
    return "" if panel is None else f"#panel-{panel}"


_FAULTS = 5  # reasons that are told at the top; the rest are counted


def _head(report: RunReport) -> dict[str, object]:
    """The first thing on the page. `lead`, `rest`: the sentence, its first clause apart; `models`: a sentence each."""
    short = headline_of(report)
    lead, rest = short.lead, short.rest
    if short.models:  # their scores stand in a line each
        lead, rest = f"{len(short.models)} models: {rest or 'no single score to compare them by'}", ""
    return {
        "run": _run(report),
        "lead": _whole_numbers(on_one_line(f"{lead}.", 600)),
        "rest": _whole_numbers(on_one_line(f"{rest[0].upper()}{rest[1:]}.", 1_200) if rest else ""),
        "models": [_whole_numbers(on_one_line(each, 900)) for each in short.models],
        "rests": short.rests,
        "faults": [on_one_line(fault.text, 400) for fault in short.faults[:_FAULTS]],
        "more_faults": sum(fault.count for fault in short.faults[_FAULTS:]),
        "step": _step(short, report),
    }


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


def _step(short: Headline, report: RunReport) -> dict[str, str] | None:
    """What to do for a surer answer: a command to type, why, and its cost in time; empty where there is none."""
    wanted, facts = short.next_run, report.facts
    if wanted is None:
        return None
    if not wanted.repeats:
        return {"command": "", "why": wanted.what, "cost": ""}
    command = (facts and command_words(facts, wanted.repeats)) or f"--repeats {wanted.repeats}"
    return {"command": command, "why": wanted.what, "cost": _cost(wanted, report.records, facts)}


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
