"""The real `needlework serve`, and a real browser: Debian's `chromium`."""

from collections.abc import Callable
from contextlib import ExitStack

import pytest

from tests.chromium import chromium_driver
from tests.results.web.site import Chrome, served

Serve = Callable[..., str]


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


@pytest.fixture
def chrome(browser):
    """The module's browser; the test fails where its console has a message that the test did not take."""
    browser.log()
    yield browser
    assert browser.log() == []
