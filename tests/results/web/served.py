"""The real `needlework serve` in a process of its own."""

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from needlework.results.web.app import VARIABLE
from tests.results.web.site import TOKEN

ROOT = Path(__file__).parents[3]


@contextmanager
def served(*words, port="0"):
    """The process on these paths and options, and its address, `http://127.0.0.1:PORT/`; its token is the tests'."""
    command = [sys.executable, "-m", "needlework", "serve", *map(str, words), "--port", port]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, VARIABLE: TOKEN},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line.startswith("http://127.0.0.1:"):
                process.kill()
                pytest.fail(f"needlework serve: {line}{process.communicate()[1]}")
            yield process, line.split()[0]
        finally:
            process.kill()
