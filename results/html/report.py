"""`report.html`: one file to look at and to pass on. First the answer and its picture; every trial is in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from needlework.haystack_fixtures.writing.whole_files import write_whole
from needlework.results.html.adaptive import adaptive_tables
from needlework.results.html.budget import fit
from needlework.results.html.head import facts_tables, head_of
from needlework.results.html.missed import missed_of
from needlework.results.html.page import page
from needlework.results.html.panels import entries, panel_views
from needlework.results.html.panels_data import panels_data
from needlework.results.html.picture import picture_of
from needlework.results.html.report_tables import gate_tables, retrieval_tables, task_tables
from needlework.results.html.texts import on_one_line
from needlework.results.records.record import UNSCORED
from needlework.results.records.samples import OWN_DOCUMENTS
from needlework.results.records.tests_of_cells import task_of
from needlework.results.statistics.panels import Panel
from needlework.results.statistics.run_report import RunReport
from needlework.results.style.palette import ColorsName
from needlework.results.style.text import natural
from needlework.results.tables.documents import document_rows, document_tables, documents_name
from needlework.results.tables.field import field_group_table, field_name
from needlework.results.tables.latency import latency_notes, latency_table
from needlework.results.tables.leval import leval_name, leval_notes, leval_table
from needlework.results.tables.needlebench import needlebench_name, needlebench_rows
from needlework.results.tables.panels import twins_name, twins_rows
from needlework.results.tables.ruler import ruler_name, ruler_notes, ruler_table

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
