"""Every section's numbers stand in the terminal, on the page and, unrounded, in results.json."""

from __future__ import annotations

import json
from collections.abc import Callable
from html import escape

from needlework.core.record import Record
from needlework.results.files.json_files import json_text
from needlework.results.html.report import html_text
from needlework.results.report.section import section_lines
from needlework.results.report.sections import run_sections
from needlework.results.statistics.run_report import run_report
from needlework.results.statistics.suites.ruler import TASKS
from tests.results.document_records import asked


def test_the_same_numbers_stand_in_terminal_page_and_json(make_record: Callable[..., Record]) -> None:
    records = [
        make_record(
            task=task, length=length, repeat=repeat, outcome="found" if repeat else "wrong", score=float(repeat)
        )
        for task in TASKS
        for length in (4000, 8000)
        for repeat in range(2)
    ]
    report = run_report([*records, *(asked(question, "found") for question in range(3))])
    sections = run_sections(report)
    page = html_text(report)
    terminal = " ".join(section_lines(sections))

    assert [each.title.split(" · ")[0] for each in sections] == ["Tasks", "mock", "RULER"]
    for section in sections:
        for text in (*section.notes, *(finding.text for finding in section.findings)):
            assert text in terminal
            assert escape(text) in page
        for table in section.tables:
            for row in table.rows:
                assert all(text in terminal for text in row)
                assert all(escape(text) in page for text in row if not text.startswith("doc_"))
    ruler = json.loads(json_text(report))["ruler"][0]["lengths"]
    (table,) = sections[-1].tables
    assert [f"{100 * each['mean']:.1f}" for each in ruler] == [row[1] for row in table.rows]
