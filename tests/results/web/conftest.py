"""The real `needlework serve` in a process of its own, and a real browser: Debian's `chromium`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.chromium import chromium_driver
from tests.results.web.chrome import Chrome

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
    with chromium_driver(tmp_path_factory.mktemp("profile")) as driver:
        yield Chrome(driver)


@pytest.fixture
def chrome(browser: Chrome) -> Iterator[Chrome]:
    """The module's browser; the test fails where its console has a message that the test did not take."""
    browser.log()
    yield browser
    assert browser.log() == []
