"""All sections of a run's report, in their order."""

from __future__ import annotations

from needlework.results.report.documents import document_sections, retrieval_sections
from needlework.results.report.section import Section
from needlework.results.report.suites import data_set_sections, leval_sections, needlebench_sections, ruler_sections
from needlework.results.report.tasks import task_sections
from needlework.results.statistics.run_report import RunReport


def run_sections(report: RunReport) -> list[Section]:
    """What the run has to say beside its heatmaps; a new table is a function here and its statistics."""
    return [
        *task_sections(report.tasks, report.macros),
        *document_sections(report.documents),
        *retrieval_sections(report.retrieval),
        *needlebench_sections(report.suites),
        *ruler_sections(report.ruler),
        *leval_sections(report.leval),
        *data_set_sections(report.field),
    ]
