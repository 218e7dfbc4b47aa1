"""A whole run in words: for the terminal, and as Markdown for the page of a CI run."""

from __future__ import annotations

from html import escape

from needlework.results.statistics.in_short.surer import asks_again
from needlework.results.statistics.published.ruler import ruler_lines
from needlework.results.statistics.run_report import RunReport
from needlework.results.style.glyphs import can_encode
from needlework.results.style.palette import ColorsName
from needlework.results.tables.adaptive import adaptive_lines
from needlework.results.tables.documents import document_lines
from needlework.results.tables.field import field_lines
from needlework.results.tables.leval import leval_lines
from needlework.results.tables.markdown import panel_table
from needlework.results.tables.needlebench import needlebench_lines
from needlework.results.tables.retrieval import retrieval_lines
from needlework.results.tables.tasks import task_lines
from needlework.results.tables.terminal import terminal_heatmaps

_MOST_PANELS = 12  # heatmaps in a terminal; a run with more shows its table
_NO_MISS = ("found", "error", "skipped")


def run_lines(
    report: RunReport, *, color: bool, encoding: str | None, width: int, colors: ColorsName = "safe"
) -> list[str]:
    """Every panel as a heatmap of text, where they are not too many, a table of the tasks, summaries of suites.

    `width`: terminal columns; the others as for `terminal_heatmaps`.
    """
    shown = report.panels if len(report.panels) <= _MOST_PANELS else ()
    lines = terminal_heatmaps(shown, color=color, encoding=encoding, width=width, colors=colors)
    for block in _tables(report, ascii_only=not can_encode(encoding), width=width):
        lines += [*([""] if lines and block else []), *block]
    return [*lines, *report.notes]


def markdown_lines(report: RunReport) -> list[str]:
    """A table with a row for each panel, and summaries of suites."""
    summary = [line for block in _tables(report)[1:] for line in block]
    block = ["", "```", *summary, "```"] if summary else []
    notes = ["", *(f"- {escape(note, quote=False)}" for note in report.notes)] if report.notes else []
    return [*panel_table(report.panels, report.statistics, report.adaptive), *block, *notes]


def next_line(report: RunReport, folder: str) -> str:
    """What to do after the run, with `folder` as the user would write it; trials that failed come first."""
    again = asks_again(report.records, report.facts.name if report.facts else "")
    line = f"next: {again}{'; ' if again else ''}open {folder}/report.html (a click on a cell shows its answers)"
    missed = first_miss(report)
    return line if missed is None else f"{line}; needlework prompt {folder} {missed} prints what the model saw"


def first_miss(report: RunReport) -> str | None:
    """The first trial that a model answered, and not rightly: one that was not answered shows nothing it saw."""
    return next((record["id"] for record in report.records if record["outcome"] not in _NO_MISS), None)


def _tables(report: RunReport, *, ascii_only: bool = False, width: int = 1000) -> tuple[list[str], ...]:
    return (
        task_lines(report.tasks, report.macros, ascii_only=ascii_only, width=width),
        retrieval_lines(report.retrieval, ascii_only=ascii_only),
        needlebench_lines(report.suites, ascii_only=ascii_only),
        ruler_lines(report.ruler, ascii_only=ascii_only),
        document_lines(report.documents, ascii_only=ascii_only),
        adaptive_lines(report.adaptive, ascii_only=ascii_only),
        field_lines(report.field, ascii_only=ascii_only),
        leval_lines(report.leval, ascii_only=ascii_only),
    )
