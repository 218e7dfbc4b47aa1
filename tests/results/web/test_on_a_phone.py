"""All pages in a window of 400 pixels: nothing scrolls sideways, and what one came for is near the top."""

from __future__ import annotations

import json

import pytest

from tests.results.web.browsing_runs import record, write_journal
from tests.results.web.chrome import Chrome
from tests.results.web.conftest import Serve
from tests.results.web.editing_questions_site import write_documents, write_questions
from tests.results.web.rating_site import predictions

LONG_NAME = "a" * 90
SIDEWAYS = "return document.documentElement.scrollWidth - innerWidth"


@pytest.fixture(scope="module")
def address(serve: Serve, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("phone") / LONG_NAME
    run = write_journal(folder / LONG_NAME, [record(at, details={"flags": [], "recipe": "r" * 300}) for at in range(3)])
    predictions(folder, {"one": ["x" * 500, "b"], "two": ["c", "d"]})
    row = {"input": "A long line of a document. " * 4000, "instructions": ["Which?"], "outputs": ["This."]}
    (folder / "days.jsonl").write_text(json.dumps(row))
    documents = write_documents(folder / "documents")
    questions = write_questions(folder / "q.json")
    return serve(run, folder / "days.jsonl", questions, "--documents", documents)


@pytest.mark.parametrize(
    "path",
    [
        "", "browse/", "browse/0/", "rating/", "editing/", "editing/0/", "editing/0/0/", "editing/1/",
        "editing/1/?by=Ann",
    ],
)  # fmt: skip
def test_no_page_scrolls_sideways(chrome: Chrome, address: str, path: str) -> None:
    chrome.open(f"{address}{path}", width=400, height=800)
    chrome.until("return document.readyState === 'complete'")
    assert chrome.ask(SIDEWAYS) <= 0
    chrome.driver.get("about:blank")  # its server is asked no more


def test_the_first_pair_of_a_row_is_a_screen_below_its_document(chrome: Chrome, address: str) -> None:
    chrome.open(f"{address}editing/0/0/", width=400, height=800)
    chrome.until("return document.body.dataset.ready")
    assert chrome.ask("return document.querySelector('.pair').getBoundingClientRect().top") < 2 * 800


def test_a_pressed_button_shows_its_key(chrome: Chrome, address: str) -> None:
    chrome.open(f"{address}editing/1/?by=Ann&pair=1")
    chrome.until("return document.getElementById('title').textContent")
    chrome.press("a")
    colours = (
        "const c = getComputedStyle(document.querySelector('#do-accept kbd')); return [c.color, c.backgroundColor]"
    )
    chrome.until("return document.getElementById('do-accept').getAttribute('aria-pressed') === 'true'")
    text, behind = chrome.ask(colours)
    assert text == "rgb(255, 255, 255)"
    assert behind == "rgba(0, 0, 0, 0)"  # the button's own colour shows through
    chrome.driver.get("about:blank")
