"""axe-core, Deque's checks of contrast, names, landmarks and keyboard access, finds nothing on any page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.results.web.chrome import Chrome
from tests.results.web.conftest import Serve
from tests.results.web.every_page import PAGES, unexpected, visit, write_site

selenium = pytest.importorskip(
    "axe_core_python.selenium", reason="axe-core-python is not installed (pip install -e '.[dev]')"
)


@pytest.fixture(scope="module")
def address(serve: Serve, tmp_path_factory: pytest.TempPathFactory) -> str:
    return serve(*write_site(tmp_path_factory.mktemp("accessible")))


@pytest.fixture
def page(chrome: Chrome) -> Iterator[Chrome]:
    """No page stays open: its server is asked no more. What is not there is said to be so."""
    yield chrome
    chrome.driver.get("about:blank")
    assert unexpected(chrome.log()) == []


@pytest.mark.parametrize("path", PAGES)
def test_axe_finds_nothing(page: Chrome, address: str, path: str) -> None:
    for width in (1280, 400):
        for dark in (False, True):
            visit(page, address, path, width=width, dark=dark)
            assert found(page) == [], (width, dark)


def test_axe_finds_nothing_where_nobody_is_logged_in(page: Chrome, address: str) -> None:
    page.open(address)
    page.driver.delete_all_cookies()
    page.driver.get(address)
    page.log()  # the browser names the refused request
    assert page.texts("h1") == ["This page needs its token"]
    assert found(page) == []
    page.forget()


def test_axe_finds_what_is_wrong(page: Chrome, address: str) -> None:
    page.open(address)
    page.ask("const p = document.createElement('p'); p.textContent = 'pale'; document.querySelector('main').append(p)")
    page.ask("document.querySelector('main').lastChild.style.color = 'rgb(200, 200, 200)'")
    assert [rule for rule, _ in found(page)] == ["color-contrast"]


def found(page: Chrome) -> list[tuple[Any, Any]]:
    """What axe finds: the rule, and where."""
    result = selenium.Axe().run(page.driver)
    return [(each["id"], node["target"]) for each in result["violations"] for node in each["nodes"]]
