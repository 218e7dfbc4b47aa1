"""Everything that is written from the records of a run, and what the terminal says about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from needlework.haystack_fixtures.tasks.catalogue import family_of
from needlework.results.files.cells_file import write_cells
from needlework.results.files.csv_file import write_csv
from needlework.results.files.json_file import write_json
from needlework.results.html.report import write_html
from needlework.results.pictures.documents_chart import write_document_charts
from needlework.results.pictures.heatmap import write_heatmaps
from needlework.results.pictures.panel import DEFAULT, Style
from needlework.results.pictures.task_chart import write_task_charts
from needlework.results.records.record import Record
from needlework.results.statistics.absent import absent_twins
from needlework.results.statistics.documents import Documents, document_statistics
from needlework.results.statistics.needlebench import Design, NeedleBench, needlebench
from needlework.results.statistics.panels import Panel, summarise
from needlework.results.statistics.retrieval import ArmScore, arm_scores
from needlework.results.statistics.ruler import RulerTable, ruler_lines, ruler_tables
from needlework.results.statistics.stability import Stability, stability_line, stability_of
from needlework.results.statistics.summary_rows import run_statistics, statistics_object
from needlework.results.statistics.tasks import Macro, TaskScore, macros, task_scores
from needlework.results.style.palette import ColorsName
from needlework.results.tables.documents import document_lines
from needlework.results.tables.markdown import panel_table
from needlework.results.tables.needlebench import needlebench_lines
from needlework.results.tables.panels import statistics_lines
from needlework.results.tables.retrieval import retrieval_lines
from needlework.results.tables.tasks import task_lines
from needlework.results.tables.terminal import can_encode, terminal_heatmaps

_MOST_PANELS = 12  # heatmaps in a terminal; a run with more shows its table


@dataclass(frozen=True)
class Written:
    """The files of a run, its panels, its statistics as lines and its scores as a Markdown table.

    `missed`: the id of the first trial that was not found.
    """

    paths: tuple[Path, ...]
    panels: tuple[Panel, ...]
    statistics: tuple[str, ...]
    markdown: tuple[str, ...]
    colors: ColorsName
    tasks: tuple[TaskScore, ...] = ()
    macros: tuple[Macro, ...] = ()
    suites: tuple[NeedleBench, ...] = ()
    ruler: tuple[RulerTable, ...] = ()
    documents: tuple[Documents, ...] = ()
    retrieval: tuple[ArmScore, ...] = ()
    stability: Stability | None = None
    missed: str | None = None

    def terminal_lines(self, *, color: bool, encoding: str | None, width: int) -> list[str]:
        """Every panel as a heatmap of text, where they are not too many, a table of the tasks, a suite's summary."""
        shown = self.panels if len(self.panels) <= _MOST_PANELS else ()
        lines = terminal_heatmaps(shown, color=color, encoding=encoding, width=width, colors=self.colors)
        ascii_only = not can_encode(encoding)
        for block in (
            task_lines(self.tasks, self.macros, ascii_only=ascii_only),
            retrieval_lines(self.retrieval, ascii_only=ascii_only),
            needlebench_lines(self.suites, ascii_only=ascii_only),
            ruler_lines(self.ruler, ascii_only=ascii_only),
            document_lines(self.documents, ascii_only=ascii_only),
        ):
            lines += [*([""] if lines and block else []), *block]
        return [*lines, *self._stability_lines()]

    def markdown_lines(self) -> list[str]:
        """A table with a row for each panel, and a suite's summary."""
        summaries = (
            retrieval_lines(self.retrieval),
            needlebench_lines(self.suites),
            ruler_lines(self.ruler),
            document_lines(self.documents),
        )
        summary = [line for each in summaries if each for line in each]
        stability = [f"- {line}" for line in self._stability_lines()]
        block = ["", "```", *summary, "```"] if summary else []
        return [*self.markdown, *block, *([""] if stability else []), *stability]

    def next_line(self, folder: str) -> str:
        """What to do after the run, with `folder` as the user would write it."""
        line = f"next: open {folder}/report.html (a click on a cell shows its answers)"
        if self.missed is None:
            return line
        return f"{line}; needlework prompt {folder} {self.missed} prints what the model saw"

    def _stability_lines(self) -> list[str]:
        return [stability_line(self.stability)] if self.stability else []


def write_files(
    folder: Path, records: Sequence[Record], style: Style = DEFAULT, design: Design | None = None, vote: int = 0
) -> Written:
    """Write report.html, results.json, results.csv, cells.csv and the pictures.

    `design`: what a run of a NeedleBench preset is to ask, for its summary. `vote`: the run's `--vote`.
    Raises `OSError` when the folder cannot take them.
    """
    panels = summarise(records)
    statistics = run_statistics(records)
    stability = stability_of(records)
    twins = absent_twins(records)
    rows = task_scores(records, family_of)
    found = macros(rows)
    retrieval = arm_scores(records)
    suites = needlebench(records, design)
    documents = document_statistics(records, vote)
    notes = [stability_line(stability)] if stability else []
    lines = statistics_lines(statistics, twins)
    paths = [folder / "report.html", folder / "results.json", folder / "results.csv", folder / "cells.csv"]
    write_json(paths[1], records, statistics_object(statistics), panels, suites, documents)
    write_csv(paths[2], records)
    write_cells(paths[3], panels)
    write_html(
        paths[0],
        records,
        title=f"Needlework: {', '.join(dict.fromkeys(record['model'] for record in records))}",
        statistics=statistics,
        twins=twins,
        tasks=rows,
        macros=found,
        suites=suites,
        documents=documents,
        retrieval=retrieval,
        notes=notes,
        colors=style.colors,
        panels=panels,
    )
    heatmaps = write_heatmaps(panels, folder, style=style)
    for old in set(folder.glob("heatmap-*")) - set(heatmaps):
        old.unlink()  # of an earlier run with other options
    charts = write_task_charts(rows, found, folder)
    for old in set(folder.glob("tasks-*")) - set(charts):
        old.unlink()
    curves = write_document_charts(documents, folder)
    for old in set(folder.glob("documents-*")) - set(curves):
        old.unlink()
    paths += [*charts, *curves, *heatmaps]
    return Written(
        paths=tuple(paths),
        panels=panels,
        statistics=tuple(lines),
        markdown=tuple(panel_table(panels, statistics)),
        colors=style.colors,
        tasks=rows,
        macros=found,
        suites=suites,
        ruler=ruler_tables(records),
        documents=documents,
        retrieval=retrieval,
        stability=stability,
        missed=next((record["id"] for record in records if record["outcome"] != "found"), None),
    )
