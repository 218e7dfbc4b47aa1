"""A small set of runs as every renderer shows them.

`pytest tests/results/snapshots --snapshot-update` writes them anew. Read the difference before you commit it: it is
what users will see.
"""

import json
import re
from pprint import pformat

import pytest
from msgspec import to_builtins

from needlework.results.compare.leaderboard import csv_text
from needlework.results.files.csv_files import cells_text
from needlework.results.files.json_files import comparison_object, results_bytes, summary_object
from needlework.results.html.comparison import comparison_html, sections_html
from needlework.results.html.report import html_text
from needlework.results.report.boards import board_sections, series_sections
from needlework.results.report.charts import bar_chart
from needlework.results.report.comparison import comparison_lines, comparison_sentence
from needlework.results.report.section import section_lines
from needlework.results.report.sections import run_charts
from needlework.results.report.suites import cost_sections, latency_sections
from needlework.results.report.tasks import gate_sections, panel_sections, twins_sections
from needlework.results.statistics.comparison.comparison import compare_runs
from needlework.results.statistics.leaderboard import ModelRun, boards_of, entries_of, series_of
from needlework.results.tables.terminal import Screen, ending, markdown_lines, next_line, run_lines, shared_lines
from tests.results.html.pages import Page
from tests.results.snapshots.runs import RUNS, compared

DIGITS = 5  # of numbers: the last ones differ from processor to processor


def rounded(value):
    if isinstance(value, dict):
        return {str(key): rounded(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(part) for part in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def as_text(value):
    """A value in few lines, with numbers rounded."""
    return pformat(rounded(to_builtins(value, str_keys=True)), width=150, compact=True, sort_dicts=False)


def page_text(html):
    """The words of a page in their order, and the numbers that its script reads."""
    page = Page(html)
    words = [data.strip() for tag, data in page.contents if tag not in ("style", "script") and data.strip()]
    looks = [attributes["class"] for tag, attributes in page.elements if tag == "td" and attributes.get("class")]
    links = [attributes["href"] for tag, attributes in page.elements if tag == "a" and "href" in attributes]
    folded = [attributes for tag, attributes in page.elements if tag == "details" and "open" not in attributes]
    closed = " ".join(str(attributes.get("id")) for attributes in folded)
    lines = [word for word, before in zip(words, ["", *words], strict=False) if word != before]
    return "\n".join([*lines, " ".join(looks), " ".join(map(str, links)), closed, as_text(page.data())])


def rounded_table(text):
    """A CSV table with four digits of each number: processors differ in the last of an interval's."""
    return re.sub(r"(?<![^,\n])\d+\.\d+(e-\d+)?(?![^,\n])", lambda number: f"{float(number[0]):.4g}", text.strip())


@pytest.fixture(scope="module", params=RUNS)
def report(request):
    return RUNS[request.param]()


def test_the_end_of_a_run(report, snapshot):
    lines = [f"{color:6} {line}" for line, color in ending(report, Screen(100), skipped=[], folder="runs/r", last=2)]
    assert "\n".join([*lines, next_line(report, "runs/r"), *shared_lines(report.records)]) == snapshot


def test_the_terminal(report, snapshot):
    sections = [*gate_sections(report.gates, len(report.records)), *panel_sections(report.statistics)]
    sections += [*twins_sections(report.twins), *latency_sections(report.latency, report.sending)]
    lines = section_lines([*sections, *cost_sections(report.cost)])
    assert "\n".join([*run_lines(report, Screen(120)), *lines]) == snapshot


def test_markdown(report, snapshot):
    assert "\n".join(markdown_lines(report)) == snapshot


def test_the_page(report, snapshot):
    assert page_text(html_text(report)) == snapshot


def test_summary_and_statistics(report, snapshot):
    content = summary_object(report) | json.loads(results_bytes(report))
    left_out = {"records"} if len(report.panels) < 3 else {"records", "panels", "summary", "statistics"}
    assert as_text({name: part for name, part in content.items() if name not in left_out}) == snapshot


def test_the_table_of_cells(report, snapshot):
    assert rounded_table(cells_text(report.panels)) == snapshot


def test_charts(report, snapshot):
    assert as_text(run_charts(report, numbers=True)) == snapshot


def test_the_bars_of_two_runs(snapshot):
    chart = bar_chart([("", RUNS["leval"]()), ("later", RUNS["models on one task"]())], "Score by task")
    assert as_text(chart) == snapshot


@pytest.mark.parametrize("base", ["first", "previous"])
def test_a_comparison_of_runs(base, snapshot):
    runs = compare_runs({"old": compared(), "new": compared(3), "newest": compared(6), "none": []}, base)

    assert "\n".join([comparison_sentence(runs), *comparison_lines(runs)]) == snapshot(name="terminal")
    assert as_text(comparison_object(runs)) == snapshot(name="json")
    assert page_text(comparison_html(runs, title="Three", links={"new": "../new.html"})) == snapshot(name="page")


def test_a_leaderboard_and_a_history(snapshot):
    runs = []
    for number, lost in enumerate((0, 0, 3, 6)):
        name = f"m{number}"
        entries = {entry.task: entry for entry in entries_of(compared(lost), {})}
        runs.append(ModelRun(name, f"run-{name}", name, entries, when=f"2026-01-0{number + 1}"))
    boards, series = boards_of(runs), series_of(runs, by_model=False)
    sections = [*board_sections(boards), *series_sections(series)]

    assert "\n".join(section_lines(sections)) == snapshot(name="terminal")
    assert page_text(sections_html(sections, title="Models", lead="Lead.", notes=["a note"])) == snapshot(name="page")
    assert rounded_table(csv_text(boards)) == snapshot(name="csv")
    assert as_text([chart for section in sections for chart in section.charts]) == snapshot(name="charts")
