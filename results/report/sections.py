"""All sections of a run's report, in their order, and all charts of it."""

from needlework.results.report.adaptive import adaptive_sections
from needlework.results.report.charts import drawn_panels, model_charts, panel_heatmap
from needlework.results.report.documents import document_sections, retrieval_sections
from needlework.results.report.section import Chart, Section
from needlework.results.report.suites import data_set_sections, leval_sections, needlebench_sections, ruler_sections
from needlework.results.report.tasks import task_sections
from needlework.results.statistics.run_report import RunReport
from needlework.results.style import ColorsName


def run_sections(report: RunReport) -> list[Section]:
    """All sections beside the heatmaps; add new tables or charts here."""
    return [
        *task_sections(report.tasks, report.macros),
        *document_sections(report.documents),
        *retrieval_sections(report.retrieval),
        *needlebench_sections(report.suites),
        *ruler_sections(report.ruler),
        *leval_sections(report.leval),
        *data_set_sections(report.field),
    ]


def run_charts(report: RunReport, colors: ColorsName = "viridis", *, numbers: bool = False) -> list[Chart]:
    """The charts written beside the report: of its sections, of several models, and the heatmaps."""
    return [
        *section_charts(report),
        *model_charts(report.panels),
        *(panel_heatmap(panel, colors=colors, numbers=numbers) for panel in drawn_panels(report.panels)),
    ]


def section_charts(report: RunReport) -> list[Chart]:
    """The charts of the sections."""
    sections = [*adaptive_sections(report.adaptive), *run_sections(report)]
    return [chart for section in sections for chart in section.charts]
