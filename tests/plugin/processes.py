"""A run in a process of its own, which a test stops when it likes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).parents[2]


def start(folder: Path, *words: str, program: tuple[str, ...] = ("pytest",)) -> subprocess.Popen[str]:
    """`pytest` in this folder, in a session of its own: it can be killed with everything that it started."""
    if program == ("pytest",):
        program = ("pytest", "-pno:cacheprovider", "-pno:hypothesispytest", "-pno:syrupy")
    return subprocess.Popen(
        [sys.executable, "-m", *program, *words],
        cwd=folder, env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, start_new_session=True,
    )  # fmt: skip


def output_of(process: subprocess.Popen[str], timeout_s: float = 180) -> str:
    """Wait for its end."""
    text, _ = process.communicate(timeout=timeout_s)
    return text


def kill(process: subprocess.Popen[str]) -> None:
    """`kill -9`, of all that it has started too."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def wait_until(is_so: Callable[[], object], process: subprocess.Popen[str] | None = None, seconds: float = 60) -> None:
    """Wait until it is so; also where the process ends before."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and not is_so() and (process is None or process.poll() is None):
        time.sleep(0.005)
