"""The real `needlework serve` in a process of its own, and a real browser: Debian's `chromium`."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.results.web.chrome import FLAGS, Chrome

ROOT = Path(__file__).parents[3]
Serve = Callable[..., str]


@pytest.fixture(scope="module")
def serve() -> Iterator[Serve]:
    """Start the server on paths and options; gives its address, `http://127.0.0.1:PORT/`. All end with the module."""
    started: list[subprocess.Popen[str]] = []

    def start(*words: object) -> str:
        command = [sys.executable, "-m", "needlework", "serve", *map(str, words), "--port", "0"]
        process = subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8"
        )
        started.append(process)
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line.startswith("http://127.0.0.1:"):
            process.kill()
            pytest.fail(f"needlework serve: {line}{process.communicate()[1]}")
        return line.split()[0]

    yield start
    for process in started:
        process.terminate()
        process.communicate(timeout=10)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    """A browser; skips where there is none."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed (pip install -e '.[dev]')")
    chromium, driver_path = shutil.which("chromium"), shutil.which("chromedriver")
    if not (chromium and driver_path):
        pytest.skip("needs Debian's chromium and chromium-driver (apt-get install them)")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver: Any = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver_path))
    try:
        yield Chrome(driver)
    finally:
        driver.quit()


@pytest.fixture
def chrome(browser: Chrome) -> Iterator[Chrome]:
    """The module's browser; the test fails where its console has a message that the test did not take."""
    browser.log()
    yield browser
    assert browser.log() == []
