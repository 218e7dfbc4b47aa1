"""All pages in a window of 400 pixels: nothing scrolls sideways, and what one came for is near the top."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.results.web.chrome import Chrome
from tests.results.web.conftest import Serve
from tests.results.web.every_page import PAGES, unexpected, visit, write_site

SIDEWAYS = "return document.documentElement.scrollWidth - innerWidth"
TOP = "return document.querySelector(arguments[0]).getBoundingClientRect().top"


@pytest.fixture(scope="module")
def address(serve: Serve, tmp_path_factory: pytest.TempPathFactory) -> str:
    return serve(*write_site(tmp_path_factory.mktemp("phone")))


@pytest.fixture
def phone(chrome: Chrome) -> Iterator[Chrome]:
    """No page stays open: its server is asked no more. What is not there is said to be so."""
    yield chrome
    chrome.driver.get("about:blank")
    assert unexpected(chrome.log()) == []


@pytest.mark.parametrize("path", PAGES)
def test_no_page_scrolls_sideways(phone: Chrome, address: str, path: str) -> None:
    visit(phone, address, path, width=400, height=800)
    assert phone.ask(SIDEWAYS) <= 0


def test_pairs_come_first_and_the_document_is_a_click_away(phone: Chrome, address: str) -> None:
    visit(phone, address, "editing/0/0/", width=400, height=800)
    assert phone.ask(TOP, ".pair") < 400
    assert not phone.ask("return document.getElementById('document').checkVisibility()")
    phone.click("#fold")
    phone.until("return document.querySelector('#document .block')?.getBoundingClientRect().height > 0")
    assert phone.ask(TOP, "#document") < 400
    phone.click("#fold")
    assert phone.ask(TOP, ".pair") < 400


def test_a_name_is_asked_for_first(phone: Chrome, address: str) -> None:
    visit(phone, address, "editing/0/", width=400, height=800)
    phone.ask("localStorage.removeItem('needlework-person')")
    phone.driver.refresh()
    phone.until("return document.getElementById('ask').open && document.activeElement.id === 'name'")
    phone.press("Bob", "\ue007")
    assert phone.ask("return [document.getElementById('ask').open, person.name]") == [False, "Bob"]


def test_a_pressed_button_shows_its_key(phone: Chrome, address: str) -> None:
    visit(phone, address, "editing/1/?by=Ann&pair=1", width=400, height=800)
    phone.press("a")
    phone.until("return document.getElementById('title').textContent === 'Pair 2'")
    phone.press("k")
    colours = (
        "const c = getComputedStyle(document.querySelector('#do-accept kbd')); return [c.color, c.backgroundColor]"
    )
    phone.until("return document.getElementById('do-accept').getAttribute('aria-pressed') === 'true'")
    text, behind = phone.ask(colours)
    assert text == "rgb(255, 255, 255)"
    assert behind == "rgba(0, 0, 0, 0)"  # the button's own colour shows through
