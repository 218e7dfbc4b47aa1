"""All outputs of a run say the same numbers, in plain characters where a stream has no others."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import needlework
from needlework.results.files.json_files import results_bytes
from needlework.results.html.report import html_text
from needlework.results.report.charts import panel_heatmap
from needlework.results.report.section import BarChart, LineChart
from needlework.results.report.sections import run_charts, run_sections
from needlework.results.statistics.run_report import run_report
from needlework.results.statistics.suites.published import TASKS
from needlework.results.style import percent, percent1
from needlework.results.tables.terminal import Screen, markdown_lines, run_lines
from tests.results.builders import asked, new_record, write_run
from tests.results.html.pages import Page


@pytest.fixture(scope="module")
def report():
    """Families, RULER, L-Eval and own documents, each partly right."""
    families = [
        (("niah", "chain"), "code", {}),
        (TASKS, "code", {}),
        (("leval_tpo", "leval_quality"), "doc0_q0", {"scorer": "leval_letter", "depth": None}),
    ]
    records = [
        new_record(task=task, needle=needle, length=length, repeat=i, outcome="found" if i % 3 else "wrong", **fields)
        for tasks, needle, fields in families
        for task in tasks
        for length in (4000, 8000)
        for i in range(4)
    ]
    records += [asked(q, "found" if q + depth else "wrong", depth=depth) for q in range(4) for depth in (0.0, 50.0)]
    records += [asked(q, "wrong" if q else "found", task="doc_size", length=n) for q in range(4) for n in (2000, 4000)]
    records += [asked(q, task="doc_size", arm="bm25", length=n) for q in range(4) for n in (2000, 4000)]
    return run_report(records)


def cells(report, *, without=""):
    for section in run_sections(report):
        if section.name != without:
            yield from (finding.text for finding in section.findings)
            yield from (text for table in section.tables for row in table.rows for text in row[table.names :])


def test_there_is_a_section_of_each_kind(report):
    titles = [section.title for section in run_sections(report)]
    for word in ("Tasks", "your documents", "RULER", "L-Eval"):
        assert any(word in title for title in titles), word


def test_the_terminal_and_markdown_have_every_number(report):
    terminal = "\n".join(run_lines(report, Screen(1000)))
    markdown = "\n".join(markdown_lines(report))

    assert [text for text in cells(report) if text not in terminal] == []
    assert [text for text in cells(report, without="tasks") if text not in markdown] == []
    for panel in report.panels:
        assert percent1(panel.overall.mean or 0.0) in markdown


def test_the_page_has_every_number(report):
    page = " ".join(data for _, data in Page(html_text(report)).contents)
    own = {row.task for row in report.tasks if row.task.startswith("doc_")}  # the page has them in their own section
    assert own
    shown = [text for text in cells(report, without="tasks") if text not in page]
    assert shown == []


def numbers_in(value):
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        yield float(value)
    elif isinstance(value, (dict, list)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from numbers_in(each)


def test_json_has_every_score_of_tables_and_charts(report):
    known = {percent1(number) for number in numbers_in(json.loads(results_bytes(report))) if 0 <= number <= 1}
    scores = {
        match[0]
        for section in run_sections(report)
        for table in section.tables
        for row in table.rows
        for head, text in zip(table.head, row, strict=True)
        if head == "score %" and (match := re.match(r"[\d.]+", text))
    }
    for chart in run_charts(report):
        if isinstance(chart, LineChart):
            scores |= {percent1(p.score / 100) for line in chart.lines for p in line.points if p.score is not None}
        elif isinstance(chart, BarChart):
            scores |= {percent1(bar.score / 100) for row in chart.rows for bar in row.bars if bar.score is not None}

    assert len(scores) > 5
    assert {score for score in scores if f"{float(score):.1f}".removesuffix(".0") not in _rounded(known)} == set()


def _rounded(known):
    return {f"{float(each):.1f}".removesuffix(".0") for each in known}


def test_a_heatmap_of_pictures_is_that_of_the_page(report):
    (panel,) = (panel for panel in report.panels if panel.task == "niah")
    chart = panel_heatmap(panel)
    page = html_text(report)

    assert [[cell.text if cell else "" for cell in row] for row in chart.rows] == [
        [percent(panel.cells[length, depth].mean or 0.0) for length in panel.lengths] for depth in panel.depths
    ]
    for row in chart.rows:
        for cell in row:
            assert f'<td class="c{cell.text}">{cell.text}<small>{cell.notes[-1]}</small></td>' in page


ROOT = Path(needlework.__path__[0]).parent
HEAVY = ("torch", "transformers", "openai", "tokenizers", "tiktoken")


@pytest.mark.parametrize("words", [["compare", "a", "b"], ["rescore", "a", "--scorer", "match"]])
def test_a_command_writes_its_files_on_a_plain_stream_and_loads_no_model_library(tmp_path, words):
    for name in ("a", "b"):
        records = [new_record(repeat=i, model="通义 \ud800", reference={"answers": ["4711"]}) for i in range(3)]
        write_run(tmp_path / name, records)
    argv = [*words, *(["--format", "svg"] if words[0] != "rescore" else [])]
    code = (
        f"import sys, needlework; assert needlework.main({argv!r}) == 0; assert not {{*{HEAVY!r}}} & {{*sys.modules}}"
    )
    plain = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=plain, capture_output=True, check=False)

    assert done.returncode == 0, done.stderr
    said = done.stdout.decode("ascii")
    assert said.strip()
    if words[0] == "rescore":
        assert " ? niah ? code" in said


@pytest.mark.slow
def test_progress_is_plain_where_the_table_is(tmp_path):
    quick = ("-p", "needlework.plugin", "-p", "no:cacheprovider", "--pyargs", "needlework.benchmarks.test_niah")
    options = ("--model=mock:middle", "--lengths=400", "--depths=0,50", "--corpus=pydoc")
    plain = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii"}
    words = [sys.executable, "-m", "pytest", *quick, *options]
    done = subprocess.run(words, cwd=tmp_path, env=plain, capture_output=True, text=True)

    assert done.returncode == 0, done.stdout
    assert re.search(r" 70 +\[100%\]", done.stdout)
    assert "\\u25" not in done.stdout
