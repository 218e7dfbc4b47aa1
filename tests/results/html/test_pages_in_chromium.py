"""Pages of comparisons and leaderboards in a real browser, and what axe says of all pages."""

import base64
from collections.abc import Callable

import pytest

import needlework
from needlework.results.files.json_files import write_json
from needlework.results.html.comparison import comparison_html, sections_html
from needlework.results.html.report import html_text
from needlework.results.report.boards import board_sections
from needlework.results.statistics.comparison.comparison import compare_runs
from needlework.results.statistics.leaderboard import ModelRun, boards_of, entries_of
from needlework.results.statistics.panels import asked_of
from needlework.results.statistics.run_report import run_report
from tests.results.builders import asked, changed
from tests.results.html.pages import MakeRecord, grid

PLANTED = "<img src=x onerror=\"document.title='pwned'\"><script>document.title='pwned'</script>"
CHANGED = 'a[href^="#cell-"]'
MODELS = {"zeta/a-very-long-name-of-a-model-and-its-quantisation-q4_k_m": 0.25, "beta": 1.0, "alpha<script>": 0.5}


@pytest.fixture(scope="module")
def text(make_record):
    """2 lengths x 3 depths x 2 repeats; B fails at depth 50 of 8k and says something planted there."""

    def run(second):
        return [
            make_record(
                length=length,
                depth=depth,
                repeat=i,
                outcome="wrong" if second and (length, depth) == (8000, 50.0) else "found",
                response={"text": PLANTED if second else "It is 4711."},
                why="no such value" if second else "",
                prompt={"tokens": 980 + second, "sha256": "f" * 64},
            )
            for length in (1000, 8000)
            for depth in (0.0, 50.0, 100.0)
            for i in range(2)
        ]

    return comparison_html(compare_runs({"old": run(False), "new": run(True)}), title="B − A")


def test_a_click_in_the_list_shows_both_answers_side_by_side(browser, text):
    browser.show(text)
    browser.click(CHANGED)

    assert "length 8,000 · depth 50 %" in browser.texts("#pane-title")[0]
    assert browser.texts("#pane article:first-child .sides pre") == ["It is 4711.", "4711", PLANTED, "4711"]
    boxes = browser.ask(
        "return [...document.querySelectorAll('.sides')[0].children].map(e => e.getBoundingClientRect().toJSON())"
    )
    assert boxes[0]["top"] == boxes[1]["top"]
    assert boxes[0]["right"] <= boxes[1]["left"]
    assert browser.texts("#pane article:first-child .badge") == ["found", "wrong"]
    assert "What is the code?" in browser.texts("#pane-body")[0]
    assert browser.texts("#pane tr.differs th")[0] == "prompt tokens"
    assert browser.ask("return document.querySelectorAll('#pane img, #pane script').length") == 0
    assert browser.driver.title == "B − A"
    browser.press("\ue00c")
    assert browser.ask("return document.querySelector('#pane').hidden")
    assert browser.ask("return document.activeElement.hash") == "#cell-0,1,1"


def test_the_heatmap_works_from_the_keyboard(browser, text):
    browser.show(text)
    browser.ask("document.querySelector('table.heat td[tabindex=\"0\"]').focus()")
    browser.press("\ue015", "\ue014", "\ue007")

    assert "length 8,000 · depth 50 %" in browser.texts("#pane-title")[0]
    assert len(browser.texts("#pane article")) == 2


@pytest.mark.parametrize(("dark", "width"), [(False, 1280), (True, 1280), (False, 360)])
def test_dark_light_narrow_and_print(browser, text, dark, width):
    browser.show(text, dark=dark, width=width)
    overflow = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"

    assert browser.color("body") == ("rgb(20, 22, 26)" if dark else "rgb(255, 255, 255)")
    assert browser.color("td.by-100") == "rgb(103, 0, 31)"
    assert browser.ask(overflow) == 0
    browser.click(CHANGED)
    assert browser.ask(overflow) == 0
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    printed = browser.driver.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})["data"]
    assert base64.b64decode(printed).startswith(b"%PDF")


@pytest.fixture(scope="module")
def board(make_record):
    """Three models at six lengths."""
    runs = []
    for name, right in MODELS.items():
        records = [
            make_record(length=1000 * 2**power, repeat=repeat, outcome="found" if repeat < 16 * right else "wrong")
            for power in range(6)
            for repeat in range(16)
        ]
        entries = {entry.task: entry for entry in entries_of(asked_of(records), {})}
        runs.append(ModelRun(name, name, name, entries, link="../x/report.html"))
    return sections_html(board_sections(boards_of(runs)), title="Leaderboard", lead="", notes=["one run is left out"])


def test_a_click_sorts_a_leaderboard_and_a_second_one_turns_the_order(browser, board):
    browser.show(board)
    first, second, third = MODELS
    names = ".sortable tbody th a"

    assert browser.texts(names) == [second, third, first]
    for column, order in ((1, [third, second, first]), (1, [first, second, third]), (2, [second, third, first])):
        browser.click("button.sort", column)
        assert browser.texts(names) == order
    assert browser.ask("return document.querySelector('th[aria-sort]').cellIndex") == 2
    assert browser.driver.get_log("browser") == []


@pytest.mark.parametrize("dark", [False, True])
def test_a_phone_does_not_scroll_a_leaderboard_sideways(browser, board, dark):
    browser.show(board, width=400, dark=dark)
    assert browser.ask("return document.documentElement.scrollWidth") <= 400


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
