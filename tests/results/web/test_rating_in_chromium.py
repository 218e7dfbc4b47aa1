"""Rating in a real browser: keys, a reload, two tabs, a server that is gone, a document of 5 MB."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.results.web.chrome import Chrome
from tests.results.web.rating_site import predictions, write_rows

LONG = "".join(f"Line {number} tells of spools and thread, and no more.\n" for number in range(100_000))
END = "The needle\nis here. העברית מימין 中文\n"
ESCAPE, ENTER = "\ue00c", "\ue007"
PRESSED = """return [...document.querySelectorAll('#answers .card')]
    .map(card => card.querySelector('[aria-pressed=true]')?.textContent ?? null)"""
IN_VIEW = """const [frame, place] = [document.getElementById('pages'), [...CSS.highlights.get('current')][0]]
    .map(each => each.getBoundingClientRect());
    return frame.top <= place.top && place.bottom <= frame.bottom"""
COMMENT = "#answers .card:nth-child({}) textarea"


@pytest.fixture(scope="module")
def address(serve: Callable[..., str], tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("rating")
    answers = {model: [f"answer {at} of {model}" for at in range(3)] for model in ("x1", "x2", "x3")}
    predictions(folder / "answers", answers)
    row = {
        "instructions": [f"question {at}?" for at in range(3)],
        "outputs": [f"reference {at}" for at in range(3)],
        "input": LONG + END,
        "evaluation": "human",
    }
    data = write_rows(folder / "data.jsonl", [row])
    return serve(folder / "answers", data, "--state", folder / "people.sqlite")


def begin(chrome: Chrome, address: str, name: str) -> None:
    chrome.open(f"{address}rating/")
    chrome.driver.find_element("id", "name").send_keys(name + ENTER)
    loaded(chrome, "Question 1 of 3")


def loaded(chrome: Chrome, number: str) -> None:
    chrome.until("return document.getElementById('number')?.textContent === arguments[0]", number)


def told(chrome: Chrome, line: str) -> None:
    chrome.until("return document.getElementById('notice').textContent.includes(arguments[0])", line)


def test_a_question_is_rated_by_keys_and_a_reload_shows_it(chrome: Chrome, address: str) -> None:
    begin(chrome, address, "Ann")
    chrome.press("5", "2", "4")  # each goes on to the next answer, and the last one to the next question
    told(chrome, "C: 4, kept")
    loaded(chrome, "Question 2 of 3")
    assert chrome.texts("#count") == ["1 of 3 done"]

    chrome.press("u")
    told(chrome, "taken back, question 1")
    loaded(chrome, "Question 1 of 3")
    assert chrome.ask(PRESSED) == ["5", "2", None]
    chrome.press("c")
    chrome.press("too short 你好")
    chrome.press(ESCAPE, "3")
    loaded(chrome, "Question 2 of 3")
    chrome.press("p")
    loaded(chrome, "Question 1 of 3")
    chrome.driver.refresh()
    loaded(chrome, "Question 1 of 3")
    assert chrome.ask(PRESSED) == ["5", "2", "3"]
    assert chrome.ask(f"return document.querySelector('{COMMENT.format(3)}').value") == "too short 你好"


def test_one_goes_on_where_one_stopped_and_can_skip(chrome: Chrome, address: str) -> None:
    begin(chrome, address, "Bob")
    chrome.press("s")
    chrome.press("unreadable" + ENTER)
    loaded(chrome, "Question 2 of 3")
    chrome.open(f"{address}rating/")
    chrome.driver.find_element("id", "name").send_keys(" bob" + ENTER)
    loaded(chrome, "Question 2 of 3")
    assert chrome.texts("#count") == ["1 of 3 done, 1 skipped"]
    chrome.press("p")
    loaded(chrome, "Question 1 of 3")
    assert chrome.texts("#skipped .plain") == ["unreadable"]


def test_two_tabs_do_not_overwrite_each_other(chrome: Chrome, address: str) -> None:
    begin(chrome, address, "Cem")
    here = chrome.ask("return location.href")
    first = chrome.driver.current_window_handle
    chrome.driver.switch_to.new_window("tab")
    chrome.open(here)
    loaded(chrome, "Question 1 of 3")
    chrome.press("1")
    told(chrome, "A: 1, kept")
    chrome.driver.close()
    chrome.driver.switch_to.window(first)
    chrome.driver.find_element("css selector", COMMENT.format(1)).send_keys("typed here")
    chrome.press(ESCAPE)
    told(chrome, "not kept: this was changed elsewhere")

    assert chrome.ask(PRESSED) == ["1", None, None]
    assert chrome.ask(f"return document.querySelector('{COMMENT.format(1)}').value") == "typed here"
    assert [line for line in chrome.log() if "409" not in line] == []


def test_what_cannot_be_kept_is_not_shown_as_kept_and_stays_typed(chrome: Chrome, address: str) -> None:
    begin(chrome, address, "Dot")
    network = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    chrome.driver.execute_cdp_cmd("Network.enable", {})
    chrome.driver.execute_cdp_cmd("Network.emulateNetworkConditions", {"offline": True, **network})
    try:
        chrome.press("4")
        told(chrome, "not kept: the server does not answer")
        assert chrome.ask(PRESSED) == [None, None, None]
        chrome.press("c")
        chrome.press("words", ESCAPE, "n")
        chrome.until("return document.getElementById('notice').classList.contains('bad')")
        assert chrome.texts("#number") == ["Question 1 of 3"]  # it is not left
    finally:
        chrome.driver.execute_cdp_cmd("Network.emulateNetworkConditions", {"offline": False, **network})
    chrome.press("n")
    loaded(chrome, "Question 2 of 3")
    chrome.press("p")
    loaded(chrome, "Question 1 of 3")
    assert chrome.ask(f"return document.querySelector('{COMMENT.format(1)}').value") == "words"
    assert [line for line in chrome.log() if "ERR_INTERNET_DISCONNECTED" not in line] == []


def test_a_document_of_5_mb_is_laid_out_in_parts_and_searched(chrome: Chrome, address: str) -> None:
    begin(chrome, address, "Eve")
    length = "return document.getElementById('pages').textContent.length === arguments[0]"
    chrome.until(length, len(LONG) + len(END))
    blocks = chrome.ask("return document.querySelectorAll('.block').length")
    assert 1000 < blocks < 1500
    chrome.until("return longText.inSight.size")
    assert chrome.ask("return longText.inSight.size") < 20

    chrome.press("/")
    chrome.press("NEEDLE is" + ENTER)  # over the end of a line
    chrome.until("return document.getElementById('found').textContent === '1 of 1'")
    assert chrome.ask("return [...CSS.highlights.get('current')].map(String)") == ["needle\nis"]
    chrome.until(IN_VIEW)
    chrome.press(ESCAPE, "/")
    chrome.ask("document.getElementById('words').select()")
    chrome.press("spools" + ENTER)
    chrome.until("return document.getElementById('found').textContent === '1 of 100,000'")
    assert chrome.ask("return document.querySelectorAll('.block').length") == blocks
    assert chrome.ask("return CSS.highlights.get('found').size") < 5000


@pytest.mark.parametrize("path", ["", "of/1/", "results"])
def test_nothing_is_cut_off_at_400_percent(chrome: Chrome, address: str, path: str) -> None:
    chrome.open(f"{address}rating/{path}", width=320, height=256)
    chrome.until("return !document.querySelector('#work') || document.querySelector('#answers .card')")
    assert chrome.ask("return document.scrollingElement.scrollWidth") <= 320


def test_done_leads_to_results_and_files(chrome: Chrome, address: str) -> None:
    begin(chrome, address, "Fay")
    chrome.press("5", "5", "5")
    told(chrome, "C: 5, kept")
    loaded(chrome, "Question 2 of 3")
    chrome.click("#finish")
    assert chrome.texts("#finish") == ["Done, with 2 left?"]
    chrome.click("#finish")
    chrome.until("return document.getElementById('show')")
    chrome.click("#show")
    chrome.until("return document.querySelector('caption')?.textContent === 'What each model got'")
    chrome.click("button.write")
    told(chrome, "written: ")
    assert Path(chrome.texts("#notice")[0].removeprefix("written: ")).is_file()
