"""`report.html`: the page of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from needlework.core.files import write_whole
from needlework.core.labels import OWN_DOCUMENTS
from needlework.core.record import UNSCORED
from needlework.results.html.charts import picture_of, table_view
from needlework.results.html.details import fit
from needlework.results.html.page import page
from needlework.results.html.panels import missed_of, panel_views, panels_data, trial_details
from needlework.results.html.text import on_one_line
from needlework.results.records.samples import task_of
from needlework.results.report.adaptive import adaptive_sections
from needlework.results.report.panels import panels_table
from needlework.results.report.section import Section
from needlework.results.report.sections import run_sections
from needlework.results.report.suites import latency_sections
from needlework.results.report.tasks import gate_sections, twins_sections
from needlework.results.statistics.run_facts import RunFacts, command_words
from needlework.results.statistics.run_followup import NextRun
from needlework.results.statistics.run_report import RunReport
from needlework.results.statistics.summary_sentence import headline_of
from needlework.results.style import ColorsName, duration, natural

LIMIT_BYTES = 3_000_000
NOTICE_BYTES = 1_000  # kept free for what is said about things left out
_FAULTS = 5  # reasons that are listed at the top; the rest are counted


def write_html(path: Path, report: RunReport, *, title: str | None = None, colors: ColorsName = "viridis") -> None:
    """Write `path` atomically. See `html_text`."""
    write_whole(path, html_text(report, title=title, colors=colors).encode())


def html_text(
    report: RunReport, *, title: str | None = None, colors: ColorsName = "viridis", limit_bytes: int = LIMIT_BYTES
) -> str:
    """Return the page: the same for the same records in any order, and nothing in it is loaded from elsewhere.

    `title`: `Needlework: MODELS`, where none is given. Controls have no panel but tables. Scores are all in the page,
    whatever their number: what `limit_bytes` limits is the details of the trials, and the page says what it left out.
    """
    # By the numbers in what was asked about: `n2` before `n16`.
    panels = sorted(report.panels, key=lambda panel: (panel.model, panel.task, natural(panel.needle)))
    report = replace(report, panels=tuple(panels))
    trials = [each for each in report.asked if not each.control]
    scores, numbers = panels_data(panels), range(len(panels))
    overview = panels_table(report, with_model=len(report.models) > 1)
    heading = f"Needlework: {', '.join(report.models)}" if title is None else title
    tasks = tuple(row for row in report.tasks if task_of(row.task) not in OWN_DOCUMENTS)
    twins = [each for each in report.twins if task_of(each.task) not in OWN_DOCUMENTS]
    fields = {
        "head": _head(report),
        "picture": picture_of(report),
        "panels": panel_views(report),
        "overview": table_view(overview, [f"#panel-{at}" for at in numbers], numbers),
        "missed": missed_of([each.record for each in trials], panels),
        "missed_all": sum(each.trial.outcome != "found" for each in trials),
        "gates": _section_views(gate_sections(report.gates, len(report.records)), report),
        "sections": _section_views(
            [*run_sections(replace(report, tasks=tasks)), *adaptive_sections(report.adaptive)], report
        ),
        "own_alone": all(task_of(panel.task) in OWN_DOCUMENTS for panel in panels),
        "twins": _section_views(twins_sections(twins), report),
        "mixed": bool(report.macros),
        "facts": _facts_tables(report.facts),
        "latency": _section_views(latency_sections(report.latency, report.sending), report),
        "interrupted": report.interrupted,
        "notes": [on_one_line(note, 2_000) for note in report.notes if note != report.interrupted],
        "unscored": UNSCORED,
    }

    def with_details(details: str, notice: Sequence[str]) -> str:
        return page("report", heading, scores, details=details, colors=colors, notice=notice, fields=fields)

    room = limit_bytes - len(with_details("", ()).encode()) - NOTICE_BYTES
    details = fit(trial_details(trials, panels), room)
    return with_details(details.packed, details.notice(limit_bytes))


def _section_views(sections: Sequence[Section], report: RunReport) -> list[dict[str, object]]:
    """Return the sections as the template draws them: texts on one line, links to panels, bars in percent."""
    links = {(panel.model, panel.task): f"#panel-{at}" for at, panel in reversed(list(enumerate(report.panels)))}
    return [
        {
            "title": on_one_line(section.title),
            "name": section.name,
            "open": section.open,
            "tables": [
                table_view(table, [links.get(key, "") if key else "" for key in table.panels])
                for table in section.tables
            ],
            "findings": section.findings,
            "notes": [on_one_line(note, 600) for note in section.notes],
        }
        for section in sections
    ]


def _head(report: RunReport) -> dict[str, object]:
    """Return the first thing on the page: faults, the sentence (`lead`, then `rest`), one of each model, what next."""
    headline, facts = headline_of(report), report.facts
    lead, rest = headline.lead, headline.rest
    if headline.models:  # their scores stand in a line each
        lead, rest = f"{len(headline.models)} models: {rest or 'no single score to compare them by'}", ""
    known = {model.name: model.short for model in facts.models} if facts else {}
    models = ", ".join(f"{name} ({known[name]})" if known.get(name) else name for name in report.models)
    made = [facts.name, facts.started[:10], facts.commit] if facts else []
    return {
        "run": on_one_line(" · ".join(filter(None, (*made, models))), 400),
        "lead": _unbroken(on_one_line(f"{lead}.", 600)),
        "rest": _unbroken(on_one_line(f"{rest[0].upper()}{rest[1:]}.", 1_200) if rest else ""),
        "models": [_unbroken(on_one_line(sentence, 900)) for sentence in headline.models],
        "rests": headline.rests,
        "faults": [on_one_line(fault.text, 400) for fault in headline.faults[:_FAULTS]],
        "more_faults": sum(fault.count for fault in headline.faults[_FAULTS:]),
        "step": headline.next_run and _step(headline.next_run, report),
    }


def _unbroken(text: str) -> str:
    """Return a text without line breaks between a number and its unit."""
    return text.replace(" %", "\u00a0%").replace(" tokens", "\u00a0tokens")


def _step(step: NextRun, report: RunReport) -> dict[str, str]:
    """Return what to run next for a narrower interval: a command to type, why, and its time at the pace of this run."""
    facts, records = report.facts, report.records
    if not step.repeats:
        return {"command": "", "why": step.what, "cost": ""}
    command, cost = (facts and command_words(facts, step.repeats)) or f"--repeats {step.repeats}", ""
    if facts and facts.seconds:
        repeats = 1 + max(record.repeat for record in records)
        cost = f"about {duration(facts.seconds * len(records) * (step.repeats / repeats - 1))} more"
    return {"command": command, "why": step.what, "cost": cost}


def _facts_tables(facts: RunFacts | None) -> list[dict[str, object]]:
    """Return how the run was made, as tables: the run, each model, the programs."""
    if facts is None:
        return []
    names, command = ("run", "started", "commit", "command"), " ".join(facts.command)
    run = list(zip(names, (facts.name, facts.started, facts.commit, command), strict=True))
    tables = [("The run", run), *((model.name, model.facts) for model in facts.models), ("Programs", facts.versions)]
    return [
        {
            "name": on_one_line(name),
            "rows": [(on_one_line(key), on_one_line(text, 1_000)) for key, text in rows if text],
        }
        for name, rows in tables
        if rows
    ]
