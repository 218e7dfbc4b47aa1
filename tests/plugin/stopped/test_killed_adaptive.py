"""`kill -9` of an adaptive run, twice, then the same command again: the statement of a run that nothing stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
CURVE = {300: 0.99, 600: 0.97, 1200: 0.9, 2400: 0.5}
MODEL = "mock:curve=" + ",".join(f"{length}:{share}" for length, share in CURVE.items())
TRUTH = 1200  # the longest length up to which all hold 85.6 %
GRID = (f"--lengths={','.join(map(str, CURVE))}", "--depths=0:100:11", "--corpus=pydoc", "--adaptive")


def start(runs: Path, name: str, *more: str) -> subprocess.Popen[bytes]:
    command = [
        sys.executable, "-m", "pytest", str(ROOT / "benchmarks"), "-q", *GRID, f"--model={MODEL}", *more,
        "-p", "no:cacheprovider", "-p", "no:hypothesispytest", "--rootdir", str(ROOT),
        f"--results-dir={runs}", f"--run-name={name}",
    ]  # fmt: skip
    return subprocess.Popen(command, cwd=ROOT, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def finish(runs: Path, name: str, *more: str) -> str:
    process = start(runs, name, *more)
    said, _ = process.communicate(timeout=300)
    assert process.returncode == 0, said.decode()
    return said.decode()


def kill_after(runs: Path, name: str, records: int, *more: str) -> None:
    """Kill it, and all that it has started, when its journal has so many lines."""
    process, journal = start(runs, name, *more), runs / name / "journal.jsonl"
    until = time.monotonic() + 240
    while process.poll() is None and time.monotonic() < until:
        if journal.exists() and journal.read_bytes().count(b"\n") >= records:
            break
        time.sleep(0.02)
    assert process.poll() is None, "it ended before it could be killed"
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def statement(runs: Path, name: str) -> dict[str, Any]:
    (found,) = json.loads((runs / name / "results.json").read_text(encoding="utf-8"))["adaptive"]
    return found  # type: ignore[no-any-return]


@pytest.mark.slow
def test_killed_twice_it_says_what_an_undisturbed_run_says(tmp_path):
    finish(tmp_path, "whole")
    whole = statement(tmp_path, "whole")
    kill_after(tmp_path, "killed", 30)
    kill_after(tmp_path, "killed", whole["trials"] * 2 // 3)
    said = finish(tmp_path, "killed", "-vv")  # less `-q`: all tables
    assert statement(tmp_path, "killed") == whole
    assert (whole["low"] or 0) <= TRUTH <= whole["high"]
    saved = f"tokens, {whole['trials']} trials in {len(whole['turns'])} turns (full grid of ten samples: 495k)"
    assert saved in " ".join(said.split())  # a line may be folded
    assert whole["tokens"] < whole["grid_tokens"]
    # No answer that the journal had was asked for again: a repeat stands there once.
    lines = (tmp_path / "killed" / "journal.jsonl").read_text(encoding="utf-8").split("\n")[:-1]
    ids = [json.loads(line)["id"] for line in lines if '"waiting"' not in line]
    assert len(ids) == len(set(ids)) == whole["trials"]
