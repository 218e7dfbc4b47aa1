"""`report.html`: one file to look at and to pass on, with the scores, the heatmaps, the curves and every trial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from needlework.haystack_fixtures.whole_files import write_whole
from needlework.results.html.budget import fit
from needlework.results.html.page import page
from needlework.results.html.panels import entries, looks_of, panel_views
from needlework.results.html.panels_data import panels_data
from needlework.results.html.texts import on_one_line
from needlework.results.records.controls import without_controls
from needlework.results.records.record import UNSCORED, Record
from needlework.results.statistics.absent import AbsentTwins
from needlework.results.statistics.documents import Documents
from needlework.results.statistics.needlebench import NeedleBench
from needlework.results.statistics.panels import Panel, summarise
from needlework.results.statistics.retrieval import ArmScore
from needlework.results.statistics.summary_rows import PanelStatistics
from needlework.results.statistics.tasks import Macro, TaskScore
from needlework.results.style.palette import ColorsName
from needlework.results.tables.documents import document_rows, document_tables, documents_name
from needlework.results.tables.needlebench import needlebench_name, needlebench_rows
from needlework.results.tables.panels import twins_name, twins_rows
from needlework.results.tables.retrieval import MEANINGS as RETRIEVAL_MEANINGS
from needlework.results.tables.retrieval import notes as notes_on
from needlework.results.tables.retrieval import retrieval_columns
from needlework.results.tables.tasks import MEANINGS, missing_lines, task_columns

LIMIT_BYTES = 3_000_000
NOTICE_BYTES = 1_000  # kept free for what is said about things left out


def write_html(
    path: Path,
    records: Sequence[Record],
    *,
    title: str,
    statistics: Sequence[PanelStatistics] = (),
    twins: Sequence[AbsentTwins] = (),
    tasks: Sequence[TaskScore] = (),
    macros: Sequence[Macro] = (),
    suites: Sequence[NeedleBench] = (),
    documents: Sequence[Documents] = (),
    retrieval: Sequence[ArmScore] = (),
    notes: Sequence[str] = (),
    colors: ColorsName = "safe",
    panels: Sequence[Panel] | None = None,
    limit_bytes: int = LIMIT_BYTES,
) -> None:
    """Write `path` atomically. See `html_text`."""
    text = html_text(
        records,
        title=title,
        statistics=statistics,
        twins=twins,
        tasks=tasks,
        macros=macros,
        suites=suites,
        documents=documents,
        retrieval=retrieval,
        notes=notes,
        colors=colors,
        panels=panels,
        limit_bytes=limit_bytes,
    )
    write_whole(path, text.encode())


def html_text(
    records: Sequence[Record],
    *,
    title: str,
    statistics: Sequence[PanelStatistics] = (),
    twins: Sequence[AbsentTwins] = (),
    tasks: Sequence[TaskScore] = (),
    macros: Sequence[Macro] = (),
    suites: Sequence[NeedleBench] = (),
    documents: Sequence[Documents] = (),
    retrieval: Sequence[ArmScore] = (),
    notes: Sequence[str] = (),
    colors: ColorsName = "safe",
    panels: Sequence[Panel] | None = None,
    limit_bytes: int = LIMIT_BYTES,
) -> str:
    """Return the page: the same for the same records in any order, and nothing in it is loaded from elsewhere.

    Controls have no panel: `tasks` and `macros` tell of them, in a table; `retrieval` is one of retrievers. `notes`:
    sentences about the run as a whole; `panels`: those of `records`, where the caller has them already. Scores are all
    in it, whatever their number: what `limit_bytes` limits is the details of the trials, and the page says what it left
    out.
    """
    panels = summarise(records) if panels is None else panels
    records = without_controls(records)
    scores = panels_data(panels)
    fields = {
        "panels": panel_views(panels, statistics),
        "twins": [(on_one_line(twins_name(each)), twins_rows(each)) for each in twins],
        "tables": [*_task_table(tasks, macros), *_retrieval_table(retrieval)],
        "suites": [(on_one_line(needlebench_name(each)), needlebench_rows(each)) for each in suites],
        "documents": [
            (on_one_line(documents_name(each)), document_tables(each), document_rows(each)) for each in documents
        ],
        "notes": [on_one_line(note, 2_000) for note in notes],
        "unscored": UNSCORED,
        "trials": len(records),
    }

    def with_details(details: str, notice: Sequence[str]) -> str:
        return page("report", title, scores, details=details, colors=colors, notice=notice, fields=fields)

    room = limit_bytes - len(with_details("", ()).encode()) - NOTICE_BYTES
    kept = fit(entries(records, panels), [looks_of(panel) for panel in panels], room)
    return with_details(kept.packed, kept.notice(limit_bytes))


def _task_table(tasks: Sequence[TaskScore], macros: Sequence[Macro]) -> list[dict[str, object]]:
    """The table of tasks; none where it would say no more than the panels do."""
    if len(tasks) < 2 and not any(row.focused.trials or row.twins for row in tasks):
        return []
    return [_table("Tasks", task_columns(tasks, macros), MEANINGS, missing_lines(macros))]


def _retrieval_table(rows: Sequence[ArmScore]) -> list[dict[str, object]]:
    return [_table("Retrieval", retrieval_columns(rows), RETRIEVAL_MEANINGS, notes_on(rows))] if rows else []


def _table(
    name: str, table: tuple[Sequence[str], Sequence[Sequence[str]]], meanings: Mapping[str, str], notes: Sequence[str]
) -> dict[str, object]:
    head, rows = table
    return {
        "id": name.lower(),
        "name": name,
        "head": [(column, meanings.get(column, "")) for column in head],
        "rows": [[on_one_line(text) for text in row] for row in rows],
        "notes": [on_one_line(note) for note in notes],
        "names": sum(column in ("model", "task", "retriever") for column in head),
    }
