"""A run that waits for its server ends at once when it is told to, whatever the server does."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.loopback import Asked, Said, honest, loopback
from tests.plugin.conftest import GRID, Project

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name == "nt", reason="sends signals")]
SOON_S = 4.0  # most of it is the end of an idle run: its files, and Python's own


def refuses(_asked: Asked) -> Said:
    return Said(raw=b'{"error": {"message": "slow down"}}', status=429, headers={"Retry-After": "1"})


def hangs(_asked: Asked) -> Said:
    threading.Event().wait(60)
    return Said("too late")


def after(trials: int, then: Callable[[Asked], Said]) -> Callable[[Asked], Said]:
    """So many trials are answered before."""
    left = [trials]
    lock = threading.Lock()

    def say(asked: Asked) -> Said:
        with lock:
            left[0] -= asked.is_trial
            answers = left[0] >= 0
        return honest(asked) if answers else then(asked)

    return say


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
@pytest.mark.parametrize(
    ("then", "answered"),
    [(refuses, None), (refuses, 2), (hangs, 2), (hangs, None)],
    ids=["refuses from the start", "refuses after two", "hangs after two", "hangs from the start"],
)
def test_a_run_that_waits_ends_soon(
    project: Project, then: Callable[[Asked], Said], answered: int | None, name: str, workers: int
) -> None:
    """From the start: before the first trial, whose two short requests have no answer yet."""
    say = then if answered is None else after(answered, then)
    arguments = [*GRID, "--concurrency=2", "--run-name=r", f"-n{workers}", "--gate=score >= 0.1", "-v"]
    with loopback(say) as server:
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:hypothesispytest", *arguments,
             "--tokenizer=tiktoken:cl100k_base", "--model=openai:stub", f"--base-url={server.url}"],
            cwd=project.pytester.path, env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
        )  # fmt: skip
        until = time.monotonic() + 30
        while not (server.asked.total() > answered if answered else server.requests):
            assert time.monotonic() < until
            time.sleep(0.05)
        time.sleep(1)  # it waits
        begun = time.monotonic()
        (os.killpg if name == "SIGINT" else os.kill)(process.pid, getattr(signal, name))
        said, _ = process.communicate(timeout=60)
        took = time.monotonic() - begun

    scored, kept = re.search(r"interrupted after (\d) of 6 trials", said), re.search(r"(\d) more answers? came", said)
    assert scored is not None, said
    assert int(scored[1]) + (int(kept[1]) if kept else 0) == (answered or 0), said  # of two in flight any comes first
    assert took < SOON_S, said
    assert "Traceback" not in said
    if int(scored[1]):
        assert process.returncode == 11
        assert {record["outcome"] for record in project.records()} == {"found"}
