"""axe-core, Deque's checks of contrast, names, landmarks and keyboard access, finds nothing on a run's pages."""

from collections.abc import Callable

import pytest

import needlework
from needlework.results.files.json_files import write_json
from needlework.results.html.comparison import comparison_html
from needlework.results.html.report import html_text
from needlework.results.statistics.comparison.comparison import compare_runs
from needlework.results.statistics.run_report import run_report
from tests.results.changed import changed
from tests.results.document_records import asked
from tests.results.html.pages import MakeRecord, grid

selenium = pytest.importorskip(
    "axe_core_python.selenium", reason="axe-core-python is not installed (pip install -e '.[dev]')"
)


def documents(model):
    """Questions on documents: by position, by size, by what a search found."""
    outcome = ("found", "wrong", "refused")
    return [
        asked(question, outcome[question % 3], task=task, arm=arm, length=length, model=model)
        for question in range(6)
        for length in (4000, 8000)
        for task, arm in (("doc_position", ""), ("doc_size", ""), ("doc_size", "bm25"), ("doc_absent", "absent"))
    ]


def report(records):
    return html_text(run_report(records, notes=["one note"]), title="A run")


def errors(make):
    fault = {"kind": "timeout", "message": "no answer in 60 s"}
    return [make(repeat=at, outcome="error", error=fault, response={}) for at in range(6)]


def halves(make):
    return grid(make, 3, 3), [changed(record, outcome="wrong", score=0.0) for record in grid(make, 3, 3)]


def two(make):
    a, b = halves(make)
    tasks = [changed(record, task="chain", key=f"c{record.key}") for record in a]
    runs = compare_runs({"old": [*a, *tasks], "new": [*b, *tasks]})
    return comparison_html(runs, title="B - A")


def several(make):
    a, b = halves(make)
    return comparison_html(compare_runs({"a": a, "b": b, "c": a}), title="Three")


PAGES: dict[str, Callable[[MakeRecord], str]] = {
    "default": lambda make: report(grid(make, 4, 5)),
    "own documents": lambda make: report(documents("mock:a")),
    "own documents, two models": lambda make: report([*documents("mock:a"), *documents("mock:b")]),
    "two models": lambda make: report([*grid(make, 3, 3), *grid(make, 3, 3, model="other")]),
    "errors": lambda make: report(errors(make)),
    "two runs": two,
    "several runs": several,
}

FOLDERS = {"leaderboard": ["leaderboard", "--every-run"], "history": ["history", "--order", "step"]}


def of_folder(command, make, folder):
    """What a command makes of two runs."""
    for name, records in zip(("step-1", "step-2"), halves(make), strict=True):
        write_json(folder / "runs" / name / "results.json", run_report(records))
    assert needlework.main([*command, str(folder / "runs"), "--out", str(folder)]) == 0
    return (folder / "report.html").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("name", [*PAGES, *FOLDERS])
def test_axe_finds_nothing(browser, make_record, tmp_path, name, width):
    page = PAGES[name](make_record) if name in PAGES else of_folder(FOLDERS[name], make_record, tmp_path)
    for dark in (False, True):
        browser.show(page, width=width, dark=dark)
        browser.ask("document.querySelectorAll('details').forEach(part => { part.open = true; })")
        result = selenium.Axe().run(browser.driver)
        assert [(each["id"], node["target"]) for each in result["violations"] for node in each["nodes"]] == [], dark
        assert browser.ask("return document.documentElement.scrollWidth <= innerWidth")
