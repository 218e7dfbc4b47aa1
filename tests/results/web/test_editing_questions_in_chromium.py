"""The review page in a real browser, with the real server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.results.web.chrome import Chrome
from tests.results.web.conftest import Serve
from tests.results.web.editing_questions_site import DOCUMENTS, QUESTIONS, write_documents, write_questions

ENTER, ESCAPE = "\ue007", "\ue00c"
TITLE = "return document.getElementById('title').textContent === arguments[0]"
SAID = "return document.getElementById('notice').textContent.includes(arguments[0])"
MARKED = "return document.querySelectorAll('#document mark').length"
LISTED = "return document.querySelectorAll('#competitors li').length"
PARAGRAPH = "The tide came in and went out again, and nobody at Port Elin wrote it down that year. " * 6 + "\n\n"
EDITING = "return document.activeElement.matches('#edit .question')"
BIG = 2_000_000  # characters


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Questions; among the documents one of two megabytes, in paragraphs, and one of as much in one line."""
    folder = tmp_path_factory.mktemp("review")
    tides = PARAGRAPH * (BIG // len(PARAGRAPH)) + "At last the gauge of Hollis read nine fathoms."
    line = "<script>alert(1)</script> שלום \u2028 " + "tide " * (BIG // 5) + "and the gauge of Hollis"
    write_documents(folder / "documents", {**DOCUMENTS, "tides.txt": tides, "line\nof tides.txt": line})
    more = {
        "big": {"question": "What did the gauge read?", "answer": "nine fathoms", "answer_doc": "tides.txt"},
        "line": {"question": "Which gauge?", "answer": "gauge of Hollis", "answer_doc": "line\nof tides.txt"},
    }
    write_questions(folder / "q.checked.json", {**QUESTIONS, **more})
    return folder


@pytest.fixture(scope="module")
def address(serve: Serve, folder: Path) -> str:
    return f"{serve(folder / 'q.checked.json', '--documents', folder / 'documents')}editing/0/"


@pytest.fixture
def page(chrome: Chrome) -> Iterator[Chrome]:
    """No page stays open: its server is asked again and again. The document of a pair may be gone, on purpose."""
    yield chrome
    assert [line for line in chrome.log() if "/document?key=3&" not in line] == []
    chrome.driver.get("about:blank")


def opened(page: Chrome, address: str, by: str, key: str, **window: int) -> None:
    page.open(f"{address}?by={by}&pair={key}", **window)
    page.until(SAID, f"you are {by}")
    page.until(MARKED)


def test_a_file_is_reviewed_by_keys_alone(page: Chrome, address: str, folder: Path) -> None:
    page.open(address)
    page.until("return document.activeElement.id === 'name'")
    page.press("Ann", ENTER)
    page.until(MARKED)
    page.until(LISTED)
    assert page.texts("#document mark") == ["1874"]
    assert "named by the check" in page.texts("#competitors li")[0]

    page.press("a")
    page.until(SAID, "pair 0: accepted, kept")
    page.until(TITLE, "Pair 1")  # it goes on by itself
    page.press("r", "2")
    page.until(SAID, "pair 1: rejected, kept")
    page.until(TITLE, "Pair 2")
    page.press("u")
    page.until(SAID, "pair 1: taken back")
    page.until(TITLE, "Pair 1")
    page.press("j")
    page.press("e")
    page.until(EDITING)
    page.ask("document.querySelector('#edit .answer').value = '一只灰猫'")
    page.driver.find_element("css selector", "#edit .question").send_keys("\ue009" + ENTER)  # Ctrl + Enter
    page.until(SAID, "pair 2: edited, kept")
    page.until(TITLE, "Pair 3")
    page.press("k")
    assert page.texts("#view #answer") == ["一只灰猫"]

    page.driver.refresh()
    page.until("return document.querySelectorAll('#rows .mark').length")
    assert page.texts("#rows .mark")[:4] == ["✓", "○", "✎", "○"]
    page.click("#write")
    page.until("return document.getElementById('digest').textContent.length === 64")
    rows = json.loads((folder / "q.reviewed.json").read_text(encoding="utf-8"))
    assert rows["2"]["answer"] == "一只灰猫"
    assert rows["0"]["decision"]["by"] == "Ann"
    assert "own-documents" in page.texts("#command")[0]


def test_keys_that_are_faster_than_the_server_are_for_the_pairs_that_follow(page: Chrome, address: str) -> None:
    opened(page, address, "Hal", "0")
    page.ask("window.kept = fetch")
    page.ask("window.fetch = async (...all) => { await new Promise(go => setTimeout(go, 200)); return kept(...all); }")
    page.press("a", "a", "r", "3")
    page.until(TITLE, "Pair 3")
    assert page.texts("#rows .mark")[:4] == ["✓", "✓", "✗", "○"]


def test_the_reviewed_file_comes_up_when_all_is_decided(page: Chrome, address: str) -> None:
    opened(page, address, "Ida", "0")
    first = "return document.querySelector('#pair > *').id"
    for key in ("0", "1", "2", "3", "big", "line"):
        assert page.ask(first) != "file"
        page.until(TITLE, f"Pair {key}")
        page.press("r", "1")
    page.until(SAID, "all pairs are decided")
    assert page.ask(first) == "file"
    page.until("return document.activeElement.id === 'write'")
    page.press("u")
    page.until(SAID, "pair line: taken back")
    assert page.ask(first) != "file"


def test_questions_that_begin_alike_are_told_apart(page: Chrome, serve: Serve, tmp_path: Path) -> None:
    begins = "According to the document, what is the name of the "
    rows = {at: {"question": f"{begins}{at}?", "answer": "x", "answer_doc": f"{at}.txt"} for at in ("keeper", "ship")}
    address = f"{serve(write_questions(tmp_path / 'alike.json', rows))}editing/0/"
    page.open(f"{address}?by=Ann")
    page.until("return document.querySelectorAll('#rows .asked').length === 2")
    assert page.texts("#rows .asked") == ["… keeper?", "… ship?"]
    assert page.texts("#rows .check")[0].startswith("keeper.txt · ")


def test_other_documents_open_with_their_places(page: Chrome, address: str) -> None:
    opened(page, address, "Bob", "0")
    page.until(LISTED)
    page.press("1")
    page.until("return document.getElementById('document-name').textContent === 'mills.txt'")
    page.until(MARKED)
    assert page.texts("#competitors [aria-current]") == ["mills.txt"]
    page.press("0")
    page.until("return document.getElementById('document-name').textContent === 'harbour.txt'")
    page.until("return document.getElementById('competitors').textContent.includes('twin of the answer document')")


def test_an_answer_is_quoted_from_the_document_as_in_the_other_editor(page: Chrome, address: str) -> None:
    opened(page, address, "Kim", "0")
    page.press("/", "grey cat", ENTER)
    page.until("return document.getElementById('found').textContent === '1 of 1'")
    page.press(ESCAPE, "q")
    assert page.ask("return document.querySelector('#edit .answer').value") == "grey cat"
    page.driver.switch_to.active_element.send_keys("\ue009" + ENTER)
    page.until(SAID, "pair 0: edited, kept")


def test_what_was_typed_outlives_a_server_that_refuses(page: Chrome, address: str) -> None:
    opened(page, address, "Bob", "1")
    page.press("e")
    page.until(EDITING)
    page.ask("document.querySelector('#edit .document-name').value = 'no such.txt'")
    page.driver.find_element("css selector", "#edit .question").send_keys(" Really?", "\ue009" + ENTER)
    page.until(SAID, "no such.txt")
    page.log()  # the browser names the refused request
    assert page.ask("return document.querySelector('#edit .question').value") == "Who kept a cat? Really?"
    page.click("#rows button")
    page.until(SAID, "save the edit, or cancel it")
    page.press(ESCAPE)
    page.until(SAID, "once more")
    page.press(ESCAPE)
    assert page.ask("return document.getElementById('edit').hidden")
    assert page.texts("#verdict") == ["○ undecided"]


def test_a_decision_that_is_not_kept_is_not_shown_as_one(page: Chrome, address: str) -> None:
    opened(page, address, "Bob", "0")
    page.ask("window.kept = fetch; window.fetch = () => Promise.reject(new Error('down'))")
    page.press("a")
    page.until(SAID, "not kept: the server does not answer")
    assert page.texts("#rows .mark")[0] == "!"
    assert page.texts("#verdict") == ["○ undecided"]
    page.ask("window.fetch = window.kept")
    page.press("a")
    page.until(SAID, "pair 0: accepted, kept")


def test_two_windows_of_one_reviewer_tell_each_other(page: Chrome, address: str) -> None:
    opened(page, address, "Cem", "0")
    first = page.driver.current_window_handle
    page.ask("Object.defineProperty(document, 'hidden', { value: true })")  # so that it does not look again by itself
    page.driver.switch_to.new_window("tab")
    opened(page, address, "Cem", "0")
    page.press("r", "3")
    page.until(SAID, "rejected, kept")
    page.driver.close()
    page.driver.switch_to.window(first)
    page.press("a")
    page.until(SAID, "another window")
    page.log()  # the browser names the refused request
    assert page.texts("#verdict") == ["✗ rejected"]


@pytest.mark.parametrize("key", ["big", "line"])
def test_a_document_of_megabytes_is_laid_out_where_it_is_seen(page: Chrome, address: str, key: str) -> None:
    opened(page, address, "Dia", key)
    blocks, at_once, nodes = page.ask("""
        const pane = document.getElementById("document");
        const blocks = [...pane.querySelectorAll(".text")];
        const atOnce = blocks.filter((block) => getComputedStyle(block).contentVisibility !== "auto");
        return [blocks.length, atOnce.length, pane.getElementsByTagName("*").length];
    """)
    assert 400 < blocks < 1_000
    assert at_once <= 1  # the one that was gone to
    assert nodes < blocks * 1.1
    place = "const b = document.getElementById('document').getBoundingClientRect();"
    inside = "return m.top >= b.top && m.bottom <= b.bottom"
    page.until(f"{place} const m = document.querySelector('#document mark').getBoundingClientRect(); {inside}")

    page.press("/", "gauge of hollis", ENTER)
    page.until("return document.getElementById('found').textContent === '1 of 1'")
    page.ask("window.before = document.querySelector('#document .text')")
    page.ask("document.getElementById('words').value = ''")
    page.press("tide", ENTER)
    page.until("return /of [0-9]+,[0-9]{3}$/.test(document.getElementById('found').textContent)")
    assert page.ask("return window.before === document.querySelector('#document .text')")  # nothing was made again
    assert page.ask("return CSS.highlights.get('found').size") <= 1000
    assert page.ask("return CSS.highlights.get('current').size") == 1


def test_a_narrow_window_needs_no_scrolling_sideways(page: Chrome, address: str) -> None:
    opened(page, address, "Eve", "0", width=320, height=700)
    assert page.ask("return document.documentElement.scrollWidth") <= 320
    assert page.ask("return scrollY") == 0  # the document's place is shown in its own pane
    page.press("e")
    assert page.ask("return document.documentElement.scrollWidth") <= 320


def test_the_list_shows_what_is_asked_for(page: Chrome, address: str) -> None:
    shown = (
        "return [...document.querySelectorAll('#rows li:not([hidden]) .check')].map(e => e.textContent.split(' · ')[1])"
    )
    opened(page, address, "Fay", "0")
    page.driver.find_element("id", "filter").send_keys("Undecided")
    page.press(ESCAPE, "a")
    page.until(SAID, "pair 0: accepted, kept")
    page.until(TITLE, "Pair 1")
    assert page.ask(shown) == ["1", "2", "3", "big", "line"]
    page.press("f", "gauge read")
    assert page.ask(shown) == ["1", "big"]
    page.press(ENTER)
    assert page.texts("#title") == ["Pair big"]


def test_a_file_that_changes_is_read_again_and_told(page: Chrome, address: str, folder: Path) -> None:
    opened(page, address, "Gil", "1")
    page.press("a")
    page.until(SAID, "pair 1: accepted, kept")
    page.until(TITLE, "Pair 2")
    page.press("k")
    file = folder / "q.checked.json"
    before = file.read_text(encoding="ascii")
    rows = json.loads(before)
    write_questions(file, {"new": rows["0"], **rows, "1": {**rows["1"], "question": "Who kept the cat?"}})
    try:
        page.ask("dispatchEvent(new Event('focus'))")
        page.until(SAID, "changed on disk and was read again")
        assert page.texts("#title") == ["Pair 1"]
        assert page.texts("#verdict") == ["○ undecided"]
        mine = next(each for each in page.texts("#opinions li") if each.startswith("You"))
        assert "before the file changed" in mine
    finally:
        file.write_text(before, encoding="ascii")


def test_names_and_texts_are_shown_as_text(page: Chrome, address: str) -> None:
    opened(page, address, "<b>Eve</b>", "line")

    assert page.texts("#document-name") == ["line of tides.txt"]
    assert page.texts("#document script") == []
    assert page.ask("return document.getElementById('document').textContent.includes('\u2028')")
    assert page.texts("b") == []
