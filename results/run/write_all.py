"""Every file that is written from a run's records."""

from __future__ import annotations

from pathlib import Path

from needlework.results.files.cells_file import write_cells
from needlework.results.files.csv_file import write_csv
from needlework.results.files.json_file import write_json
from needlework.results.files.summary_file import SUMMARY, write_summary
from needlework.results.html.report import write_html
from needlework.results.pictures.asked_chart import write_asked_charts
from needlework.results.pictures.documents_chart import write_document_charts
from needlework.results.pictures.heatmap import write_heatmaps
from needlework.results.pictures.model_lines import write_model_lines
from needlework.results.pictures.panel import DEFAULT, Style
from needlework.results.pictures.task_chart import write_task_charts
from needlework.results.pictures.telling import heatmap_title, telling
from needlework.results.statistics.run_report import RunReport

PICTURES = ("asked-*", "tasks*", "models-*", "documents-*", "heatmap-*")
FILES = ("report.html", "results.json", SUMMARY, "results.csv", "cells.csv")


def write_files(folder: Path, report: RunReport, style: Style = DEFAULT) -> tuple[Path, ...]:
    """Write report.html, results.json, summary.json, results.csv, cells.csv and the pictures; return their paths.

    Pictures of an earlier run with other options are removed. Raises `OSError` when the folder cannot take them.
    """
    page, json, summary, rows, cells = paths = [folder / name for name in FILES]
    write_json(json, report)
    write_summary(summary, report)
    write_csv(rows, report.records)
    write_cells(cells, report.panels)
    write_html(page, report, colors=style.colors)
    shown = telling(report.panels)
    pictures = [
        *write_asked_charts(report.adaptive, folder),
        *write_task_charts(report.tasks, report.macros, folder),
        *write_document_charts(report.documents, folder),
        *write_model_lines(report.panels, folder),
        *write_heatmaps(shown, folder, style=style, titles=list(map(heatmap_title, shown))),
    ]
    for pattern in PICTURES:
        for old in set(folder.glob(pattern)) - set(pictures):
            old.unlink()
    return (*paths, *pictures)
