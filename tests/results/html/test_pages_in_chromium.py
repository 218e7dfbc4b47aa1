"""Pages of runs, comparisons and leaderboards in a real browser."""

import base64
from itertools import product
from typing import Any

import pytest

from needlework.results.html.comparison import comparison_html, sections_html
from needlework.results.html.report import html_text
from needlework.results.report.boards import board_sections
from needlework.results.statistics.comparison.comparison import compare_runs
from needlework.results.statistics.leaderboard import ModelRun, boards_of, entries_of
from needlework.results.statistics.panels import OUTCOMES
from needlework.results.statistics.run_report import run_report
from tests.results.builders import exit_code, grid_of, new_record, run_of
from tests.results.html.pages import EVIL, hostile
from tests.results.snapshots.runs import RUNS, compared

PLANTED = "<img src=x onerror=\"document.title='pwned'\"><script>document.title='pwned'</script>\x1b[31m 你好 \u202eabc"
SHOWN = (
    "<img src=x onerror=\"document.title='pwned'\"><script>document.title='pwned'</script>⟨U+001B⟩[31m 你好 ⟨U+202E⟩abc"
)
CELLS = "table.heat tbody td"


def page(records, **options):
    return html_text(run_report(records, notes=["one note"]), title="A run", **options)


@pytest.fixture(scope="module")
def records():
    """4 lengths x 3 depths x 2 trials of one panel, every outcome, and one more panel."""
    made = []
    for number, (length, depth) in enumerate(product((1000, 2000, 4000, 8000), (0.0, 50.0, 100.0))):
        needle = {"name": "n", "depth": depth, "before": f"before {PLANTED}", "text": "The code.", "after": "after"}
        fields: dict[str, Any] = {
            "outcome": OUTCOMES[number % len(OUTCOMES)],
            "response": {"text": f"answer {number}" if number else PLANTED},
            "prompt": {"tokens": 980, "slack": 1, "sha256": "f" * 64, "needles": [needle]},
        }
        made += [new_record(length=length, depth=depth, repeat=repeat, **fields) for repeat in range(2)]
    return [*made, new_record(model="通义千问", needle="实习地点", response={"text": PLANTED})]


def test_it_loads_alone_and_nothing_but_our_own_script_runs(browser, records):
    browser.show(page(records))

    assert browser.driver.get_log("browser") == []
    assert browser.ask("return performance.getEntriesByType('resource').length") == 0
    assert browser.ask("return document.querySelectorAll('table.heat[role=grid]').length") == 2
    assert (len(browser.texts(CELLS)), len(browser.texts(".plot > svg"))) == (12 + 1, 2)
    browser.ask("""
        const script = document.createElement('script');
        script.textContent = "document.title = 'pwned'";
        document.body.append(script);
        document.body.insertAdjacentHTML('beforeend', `<img src=x onerror="document.title='pwned'">`);
    """)
    assert browser.driver.title == "A run"
    assert browser.requests == ["/report.html"]


def test_a_click_shows_what_the_model_said_and_nothing_of_it_runs(browser, records):
    browser.show(page(records))
    browser.click(CELLS)

    assert browser.texts("#pane article pre")[:3] == [SHOWN, "4711", f"… before {SHOWN}The code.after …"]
    assert browser.ask("return document.querySelectorAll('#pane img, #pane script').length") == 0
    pane = browser.texts("#pane-body")[0]
    for fact in ("What is the code?", "4711", "match version 1", "f" * 64, "0.250 s", "Trial 1", "found"):
        assert fact in pane
    assert "length 1,000 · depth 0 %" in browser.texts("#pane-title")[0]
    assert browser.driver.title == "A run"
    assert (browser.requests, browser.driver.get_log("browser")) == (["/report.html"], [])
    browser.click("#pane-close")
    assert browser.ask("return document.querySelector('#pane').hidden")


def test_everything_works_from_the_keyboard(browser, records):
    browser.show(page(records))
    browser.ask("document.querySelector('table.heat td[tabindex=\"0\"]').focus()")
    left, right, up, down, home, end, enter, escape = (
        "\ue012", "\ue014", "\ue013", "\ue015", "\ue011", "\ue010", "\ue007", "\ue00c",
    )  # fmt: skip

    assert browser.focused() == (1, 2)
    browser.press(right, down, down, down)
    assert browser.focused() == (2, 4)
    browser.press(end)
    assert browser.focused() == (4, 4)
    browser.press(right, up, left, home, left)
    assert browser.focused() == (1, 3)
    browser.press(up, up, up)
    assert browser.focused() == (1, 1)  # the means
    browser.press(enter)
    assert browser.ask("return document.querySelector('#pane').hidden")
    browser.press(down)
    assert "score 100 % (95 % interval" in browser.texts("#tip")[0]
    assert "length 1,000, " not in browser.ask("return document.activeElement.ariaLabel")
    assert "length 1,000 · depth 0 %" in browser.ask("return document.activeElement.ariaLabel")
    assert browser.ask("return getComputedStyle(document.activeElement).outlineStyle") == "solid"
    browser.press(enter)
    assert browser.ask("return document.activeElement.id") == "pane-title"
    browser.press(escape)
    assert browser.ask("return document.querySelector('#pane').hidden")
    assert browser.focused() == (1, 2)
    assert browser.ask("return document.querySelectorAll('table.heat td[tabindex]').length") == 2


def test_filters_hide_panels_and_dim_cells(browser, records):
    browser.show(page(records))
    choose = """
        const select = document.querySelector(arguments[0]);
        select.value = arguments[1];
        select.dispatchEvent(new Event('change'));
    """
    shown = "return [...document.querySelectorAll('.panel[data-panel]')].filter(e => !e.hidden).length"
    browser.ask(choose, "#filter-model", "通义千问")
    assert browser.ask(shown) == 1
    assert browser.texts("#filtered") == ["1 of 2 heatmaps"]
    browser.ask(choose, "#filter-model", "")
    browser.ask(choose, "#filter-outcome", "wrong")

    assert browser.ask(shown) == 2
    assert browser.texts("#filtered") == ["2 of 2 heatmaps, 1 cell with a trial that is wrong"]
    assert len(browser.texts(f"{CELLS}.dim")) == 12


def test_dark_and_light_and_print(browser, records):
    browser.show(page(records), dark=True)
    assert browser.color("body") == "rgb(20, 22, 26)"
    score = browser.color("td.c100")
    browser.show(page(records))
    assert browser.color("body") == "rgb(255, 255, 255)"
    assert browser.color("td.c100") == score == "rgb(253, 231, 37)"
    browser.click(CELLS)
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    seen = "return arguments[0].map(s => getComputedStyle(document.querySelector(s)).display)"
    assert browser.ask(seen, ["#pane", "#filters", ".heat", ".plot"]) == ["none", "none", "table", "block"]
    printed = browser.driver.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})["data"]
    assert base64.b64decode(printed).startswith(b"%PDF")


@pytest.mark.parametrize("width", [320, 400, 1280])
@pytest.mark.parametrize(("columns", "rows"), [(35, 35), (100, 20)])
def test_wide_grids_scroll_inside_their_box(browser, width, columns, rows):
    many = grid_of([1000 * c + 1000 for c in range(columns)], [100 * r / (rows - 1) for r in range(rows)])
    browser.show(page([*many, new_record(model="a-very-long-name-" * 8)]), width=width)
    overflow = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"

    assert browser.ask(overflow) == 0
    assert len(browser.texts(CELLS)) == columns * rows + 1
    assert browser.ask("return document.querySelectorAll('.heat.small td, .heat.tiny td')[0].offsetWidth") >= 24
    browser.click(CELLS)
    assert browser.ask(overflow) == 0
    assert browser.driver.get_log("browser") == []


def test_the_page_without_a_script_has_the_scores(browser, records):
    browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.show(page(records))
        visible = browser.driver.find_element("css selector", "body").text
    finally:
        browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})

    assert "Without JavaScript this page has every score" in visible
    assert "95 % interval" in visible
    assert "通义千问" in visible


@pytest.mark.parametrize("dark", [False, True])
def test_hostile_texts_of_every_size_in_every_field_run_nothing(browser, dark):
    """Markup, scripts, terminal escapes, NUL, halves of surrogates and ten megabytes, in each field that is shown."""
    evil = PLANTED + EVIL.replace("alert(1)", "document.title='pwned'")
    responses = [{"text": text, "reasoning": text, "finish_reason": evil} for text in (evil, evil + "<" * 10_000_000)]
    records = [hostile(evil, repeat=i, response=response) for i, response in enumerate(responses)]
    text = html_text(run_report(records, notes=[evil]), title=evil)
    browser.show(text, dark=dark)
    title = browser.driver.title
    browser.click(CELLS)
    browser.ask("document.querySelectorAll('details').forEach(each => { each.open = true; })")

    assert len(text.encode()) < 3_000_000
    assert browser.texts("#pane article pre")[0].startswith("<img src=x onerror=\"document.title='pwned'\"><script>")
    assert "characters left out" in browser.texts("#pane mark.cut")[0]
    assert "⟨U+0000⟩" in browser.texts("#pane article pre")[0]
    assert browser.ask("return document.querySelectorAll('img, iframe, #pane script').length") == 0
    assert browser.ask("return document.scripts.length") == 3
    assert browser.driver.title == title != "pwned"
    assert browser.requests == ["/report.html"]
    assert browser.driver.get_log("browser") == []
    overflow = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert browser.ask(overflow) == 0


# 5 lengths x 5 depths of one task, as the default run has them.
ANSWERS = grid_of(
    (500, 1000, 2000, 3000, 4000),
    (0.0, 25.0, 50.0, 75.0, 100.0),
    outcome=lambda _, depth, __: "wrong" if depth == 25 else "found",
)


def test_an_answer_in_the_list_opens_its_trial_and_gets_the_focus_back(browser):
    browser.show(page(ANSWERS), unfold=False)
    browser.click("button.place", 2)

    assert "length 2,000 · depth 25 %" in browser.texts("#pane-title")[0]
    browser.press("\ue00c")
    assert browser.ask("return document.activeElement.dataset.place") == "0,2,1"


def test_a_point_of_a_chart_leads_to_its_trials_by_the_keyboard_too(browser):
    browser.show(page(grid_of((1000, 2000, 4000), repeats=3)), unfold=False)
    browser.ask("document.querySelectorAll('.point')[1].focus()")

    assert "niah · code, 2k: 100 %" in browser.texts("#tip")[0]
    browser.press("\ue007")
    assert "length 2,000 · depth 50 %" in browser.texts("#pane-title")[0]
    assert len(browser.texts("#pane article")) == 3


def test_a_head_says_what_it_means_on_focus_and_leads_to_the_glossary(browser):
    browser.show(page(ANSWERS))
    browser.ask("document.querySelector('a.term[href*=score]').focus()")

    assert "How right the answers are" in browser.texts("#tip")[0]
    browser.ask("document.querySelectorAll('details').forEach(part => { part.open = false; })")
    browser.ask("document.querySelector('a.term[href*=score]').click()")
    assert browser.ask("return document.querySelector('#words').open")
    browser.ask("window.dispatchEvent(new Event('beforeprint'))")
    assert browser.ask("return [...document.querySelectorAll('details')].every(part => part.open)")


def test_a_browser_that_cannot_unpack_says_so_and_shows_the_scores(browser, records):
    old = {"source": "delete window.DecompressionStream"}
    script = browser.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", old)
    try:
        browser.show(page(records))
        browser.click(CELLS)
    finally:
        browser.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)

    assert browser.texts("#pane .notice") == ["This browser cannot unpack the trials; results.json has them."]
    assert "score 100 % (95 % interval" in browser.texts("#pane-title")[0]
    assert len(browser.texts(CELLS)) == 12 + 1


CHANGED = 'a[href^="#cell-"]'
MODELS = {"zeta/a-very-long-name-of-a-model-and-its-quantisation-q4_k_m": 0.25, "beta": 1.0, "alpha<script>": 0.5}


@pytest.fixture(scope="module")
def text():
    """2 lengths x 3 depths x 2 repeats; B fails at depth 50 of 8k and says something planted there."""

    def run(said, tokens, fails, why):
        prompt = {"tokens": tokens, "sha256": "f" * 64}
        grid = ((1000, 8000), (0.0, 50.0, 100.0), 2, lambda *at: "wrong" if at[:2] == fails else "found")
        return grid_of(*grid, response={"text": said}, why=why, prompt=prompt)

    old, new = run("It is 4711.", 980, None, ""), run(PLANTED, 981, (8000, 50.0), "no such value")
    return comparison_html(compare_runs({"old": old, "new": new}), title="B − A")


def test_a_click_in_the_list_shows_both_answers_side_by_side(browser, text):
    browser.show(text)
    browser.click(CHANGED)

    assert "length 8,000 · depth 50 %" in browser.texts("#pane-title")[0]
    assert browser.texts("#pane article:first-child .sides pre") == ["It is 4711.", "4711", SHOWN, "4711"]
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


@pytest.fixture(scope="module")
def board():
    """Three models at six lengths."""
    runs = []
    for name, right in MODELS.items():
        lengths = [1000 * 2**power for power in range(6)]
        records = grid_of(
            lengths, repeats=16, outcome=lambda *at, right=right: "found" if at[2] < 16 * right else "wrong"
        )
        entries = {entry.task: entry for entry in entries_of(records, {})}
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


selenium = pytest.importorskip(
    "axe_core_python.selenium", reason="axe-core-python is not installed (pip install -e '.[dev]')"
)


REPORTS = ("needles", "models on one task", "documents", "interrupted models", "failed")
COMPARED = {"two runs": (0, 3), "several runs": (0, 3, 6)}
COMMANDS = {"leaderboard": ["leaderboard", "--every-run"], "history": ["history", "--order", "step"]}


def page_named(name, folder):
    """The page of a run, of a comparison, or what a command makes of two runs."""
    if name in REPORTS:
        return html_text(RUNS[name](), title="A run")
    if name in COMPARED:
        return comparison_html(compare_runs({f"lost {n}": compared(n) for n in COMPARED[name]}), title="B - A")
    for step, right in (("step-1", 12), ("step-2", 0)):
        run_of(folder / "runs" / step, right)
    assert exit_code(*COMMANDS[name], folder / "runs", "--out", folder) == 0
    return (folder / "report.html").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("name", [*REPORTS, *COMPARED, *COMMANDS])
def test_axe_finds_nothing(browser, tmp_path, name, width):
    page = page_named(name, tmp_path)
    for dark in (False, True):
        browser.show(page, width=width, dark=dark)
        browser.ask("document.querySelectorAll('details').forEach(part => { part.open = true; })")
        result = selenium.Axe().run(browser.driver)
        assert [(each["id"], node["target"]) for each in result["violations"] for node in each["nodes"]] == [], dark
        assert browser.ask("return document.documentElement.scrollWidth <= innerWidth")
