"""The pages in a real browser: by keys alone, on a phone, and what axe-core says of them."""

import json
import re
from contextlib import ExitStack

import pytest

from tests.chromium import chromium_driver
from tests.loopback import kept_port
from tests.results.builders import write_rows
from tests.results.web.site import TOKEN, Chrome, served, write_predictions, write_questions


@pytest.fixture(scope="module")
def serve():
    """Start the server on paths and options; gives its address, `http://127.0.0.1:PORT/`. All end with the module."""
    with ExitStack() as started:
        yield lambda *words: started.enter_context(served(*words))[1]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """A browser; skips where there is none."""
    with chromium_driver(tmp_path_factory.mktemp("profile")) as driver:
        yield Chrome(driver)


selenium = pytest.importorskip(
    "axe_core_python.selenium", reason="axe-core-python is not installed (pip install -e '.[dev]')"
)
PAGES = (
    "", "nowhere", "rating/", "rating/0", "rating/results", "questions/0/", "questions/0/pair?key=0",
    "questions/0/pair?key=", "jsonl/0/", "jsonl/0/0", "jsonl/0/1",
)  # fmt: skip
LONG = "A long line of a document, and its keeper. "
ENTER, ESCAPE = "\ue007", "\ue00c"


def write_site(folder):
    """What `needlework serve` is given, with names and texts that are too long for a phone."""
    answers = write_predictions(folder / ("a" * 90), {"one": ["x" * 500, "b"], "two": ["c", "d"], "z" * 90: ["e", "f"]})
    about = {"instructions": ["question 0?"], "outputs": ["reference 0"]}
    write_rows(answers / "m.ref.jsonl", [{**about, "input": LONG * 400, "m_pred": ["c"]}])
    rows = [{"input": LONG * 4000, "instructions": ["Which?"], "outputs": ["This."]}, {"text": "Short."}]
    lines = write_rows(folder / "days.jsonl", rows)
    questions, documents = write_questions(folder)
    return answers, lines, questions, "--documents", documents, "--state", folder / "ratings.json"


@pytest.fixture(scope="module")
def shared(serve, tmp_path_factory):
    """A server whose files no test changes."""
    return serve(*write_site(tmp_path_factory.mktemp("shared")))


@pytest.fixture
def page(browser):
    """The module's browser; the test fails where its console has a message but that a page is not there."""
    browser.log()
    yield browser
    browser.driver.get("about:blank")
    assert [line for line in browser.log() if not re.search(r"40[0349]|CONNECTION_REFUSED", line)] == []


def violations(page):
    """What axe finds: the rule, and where."""
    result = selenium.Axe().run(page.driver)
    return [(each["id"], node["target"]) for each in result["violations"] for node in each["nodes"]]


def arrive(page, title):
    """Wait until a page is there, and its script has run."""
    script = "return document.readyState === 'complete' && document.querySelector('h1')?.textContent === arguments[0]"
    page.until(script, title)


@pytest.mark.parametrize("path", PAGES)
def test_axe_finds_nothing_and_nothing_scrolls_sideways(page, shared, path):
    for width, dark in ((1280, False), (1280, True), (400, False), (400, True), (320, False)):
        page.open(f"{shared}{path}", width=width, dark=dark)
        page.until("return [...document.querySelectorAll('[data-source]')].every(e => e.querySelector('h2, summary'))")
        assert violations(page) == [], (width, dark)
        assert page.ask("return document.documentElement.scrollWidth - innerWidth") <= 0, width


def test_axe_finds_what_is_wrong_and_nothing_where_nobody_is_logged_in(page, shared):
    page.open(shared)
    page.ask("const p = document.createElement('p'); p.textContent = 'pale'; document.querySelector('main').append(p)")
    page.ask("document.querySelector('main').lastChild.style.color = 'rgb(200, 200, 200)'")
    assert [rule for rule, _ in violations(page)] == ["color-contrast"]
    page.driver.delete_all_cookies()
    page.driver.get(shared)
    assert page.texts("h1") == ["This page needs its token"]
    assert violations(page) == []
    page.driver.get(f"{shared}?token={TOKEN}")
    page.driver.add_cookie({"name": "needlework-name", "value": "Ann"})


def test_answers_are_rated_by_keys_alone(page, serve, tmp_path):
    page.open(f"{serve(*write_site(tmp_path))}rating/")
    page.driver.delete_cookie("needlework-name")
    page.driver.refresh()
    arrive(page, "Your name")
    page.press("Zoë", ENTER)
    arrive(page, "Rate answers")
    page.press("o")
    arrive(page, "Question 1 of 2")
    count = page.ask("return document.querySelectorAll('.answer').length")
    page.press("c", "a comment", ESCAPE, "5")
    page.until("return document.querySelectorAll('[aria-pressed=true]').length === 1")
    assert page.ask("return document.activeElement.id") == "answer-1"  # the next answer
    assert page.ask("return document.querySelector('textarea').value") == "a comment"
    for done in range(1, count):
        page.press("2")
        if done + 1 < count:
            page.until("return document.querySelectorAll('[aria-pressed=true]').length === arguments[0]", done + 1)
    arrive(page, "Question 2 of 2")
    page.press("x", "unclear", ENTER)
    arrive(page, "Rate answers")
    (rater,) = json.loads((tmp_path / "ratings.json").read_text("utf-8"))["raters"]
    assert rater["name"] == "Zoë"
    marks = [mark for by_answer in rater["marks"].values() for mark in by_answer.values()]
    assert sorted({mark["rating"] for mark in marks}) == [2, 5]
    assert [mark["comment"] for mark in rater["skipped"].values()] == ["unclear"]


def test_a_question_is_edited_beside_its_document_and_accepted(page, serve, tmp_path):
    page.open(f"{serve(*write_site(tmp_path))}questions/0/")
    page.press("o")
    page.until("return document.querySelector('mark')?.textContent === '1874'")
    assert "the answer stands in it" in page.texts("#document p")[0]
    page.until("return document.querySelector('#others a')")
    page.click("#others a", 2)
    page.until("return document.querySelector('#document h2').textContent !== 'harbour.txt'")
    page.ask("const r = document.createRange(); r.selectNodeContents(document.querySelector('#document .block'));"
             "getSelection().removeAllRanges(); getSelection().addRange(r)")  # fmt: skip
    page.press("q")
    quoted = page.ask("return document.getElementById('answer').value")
    assert "1874" in quoted
    page.press(ESCAPE, "r")
    page.until("return /^not saved: reason/.test(document.getElementById('notice').textContent)")
    assert page.ask("return document.getElementById('answer').value") == quoted
    page.press("a")
    arrive(page, "Question 2 of 3 undecided")
    rows = json.loads((tmp_path / "q.reviewed.json").read_text("utf-8"))
    assert rows["0"]["answer"] == quoted
    assert rows["0"]["decision"]["edited"] == ["answers"]


def test_what_is_typed_stays_when_the_server_is_gone(page, tmp_path):
    port = str(kept_port())
    with served(*write_site(tmp_path), port=port) as (process, address):
        page.open(f"{address}jsonl/0/0")
        page.press("+", "Who wrote it?")
        page.press("\ue004", "The keeper.")
        assert page.ask("return document.querySelectorAll('.pair').length") == 3
        page.ask(
            "document.querySelectorAll('[data-do=up]')[2].click(); document.querySelectorAll('[data-do=up]')[1].click()"
        )
        process.kill()
        process.wait()
        page.ask("document.querySelector('.pair textarea').focus()")
        page.driver.switch_to.active_element.send_keys("\ue009\ue007")  # Ctrl+Enter
        page.until("return document.getElementById('notice').textContent.startsWith('not saved: the server')")
        with served(*write_site(tmp_path), port=port):
            page.click("[data-key=s]")
            page.until("return document.getElementById('notice').textContent === 'saved'")
    row = json.loads((tmp_path / "days.cleaned.jsonl").read_text("utf-8").splitlines()[0])
    assert row["instructions"] == ["Who wrote it?", "Which?"]
    assert row["outputs"] == ["The keeper.", "This."]


@pytest.mark.parametrize(
    ("text", "answers", "marked"),
    [
        ("Built in 1874. In 18740, 1,874?", ["1874"], ["1874", "1,874"]),
        ("MARA\n  VOSS and Voss", ["Voss", "Mara Voss"], ["MARA\n  VOSS", "Voss"]),
        ("The keeper’s cat, a “grey” one", ["keeper's cat", '"grey"'], ["keeper’s cat", "grey"]),
        ("A category, a cat.", ["Cat."], ["cat"]),
        ("守塔人养了一 只猫。", ["一只猫"], ["一 只猫"]),
        ("at 74°C (165°F) or more", ["74°C (165°F)"], ["74°C (165°F)"]),
        ("Storms came. The old keeper had a cat.\nFar away.", ["a keeper's old cat"], [" The old keeper had a cat."]),
        ("nothing of it", ["", " . "], []),
    ],
)
def test_the_answer_is_marked_in_its_document(page, shared, text, answers, marked):
    page.open(f"{shared}questions/0/pair?key=0")
    script = """
        const e = document.createElement("div"), b = document.createElement("div");
        b.className = "block"; b.textContent = arguments[0]; e.append(b);
        for (const value of arguments[1]) { const d = document.createElement("data"); d.value = value; e.append(d); }
        e.append(Object.assign(document.createElement("p"), {className: "soft"}));
        markAnswers(e);
        return [[...e.querySelectorAll("mark")].map((mark) => mark.textContent), b.textContent];"""
    assert page.ask(script, text, answers) == [marked, text]
