"""`kill -9` in a shard, and in a merge, at any moment: the same commands again end like undisturbed ones.

The shards ask a server that counts its requests: no scored trial is asked twice.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from needlework.results.merge.command import main
from tests.loopback import Loopback, loopback, mixed

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[3]
GRID = ("--lengths=300,400", "--depths=0,40,100", "--repeats=4", "--answer-budget=16", "--corpus=pydoc", "--task=niah")
CELLS, SHARDS = 2 * 3 * 4, 3
CHANCE = random.Random(os.environ.get("NEEDLEWORK_KILL_SEED", "1"))


@pytest.fixture(scope="module")
def server() -> Iterator[Loopback]:
    with loopback(mixed, latency_s=(0.05, 0.1)) as running:
        yield running


def start(server: Loopback, runs: Path, *words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [
            sys.executable, "-m", "pytest", str(ROOT / "benchmarks"), "-q", *GRID, *words, "-p", "no:cacheprovider",
            "-p", "no:hypothesispytest", "--rootdir", str(ROOT), "--model=openai:gpt-4", "--template=raw",
            f"--base-url={server.url}", "--concurrency=2", f"--results-dir={runs}",
        ],
        cwd=ROOT, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def kill(process: subprocess.Popen[bytes]) -> None:
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def files(run: Path) -> dict[str, Any]:
    """What one process and a merge write alike."""
    results = json.loads((run / "results.json").read_text("utf-8"))
    del results["latency"], results["run"]
    for record in results["records"]:
        del record["timing"]
    return {"json": results} | {path.name: path.read_bytes() for path in run.glob("heatmap-*")}


@pytest.fixture(scope="module")
def one(server: Loopback, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    runs = tmp_path_factory.mktemp("one")
    assert start(server, runs, "--run-name=run").wait(timeout=120) == 0
    return files(runs / "run")


@pytest.fixture
def shards(server: Loopback, tmp_path: Path) -> Path:
    running = [start(server, tmp_path, "--run-name=run", f"--shard={n}/{SHARDS}") for n in range(1, SHARDS + 1)]
    assert [process.wait(timeout=120) for process in running] == [0] * SHARDS
    return tmp_path / "run"


def test_a_shard_that_is_killed_goes_on(server: Loopback, one: dict[str, Any], tmp_path: Path) -> None:
    server.asked.clear()
    run = tmp_path / "run"
    lines = run / "shards/2-of-3/journal.jsonl"
    for number in range(1, SHARDS + 1):
        process = start(
            server, tmp_path, "--run-name=run", f"--shard={number}/{SHARDS}", "-n2" if number == 3 else "-n0"
        )
        if number != 2:
            assert process.wait(timeout=120) == 0
            continue
        until = time.monotonic() + 60
        while time.monotonic() < until and not (lines.exists() and lines.read_bytes().count(b"\n") > 1):
            time.sleep(0.01)
        kill(process)
    scored = [json.loads(line)["prompt"]["sha256"] for line in lines.read_bytes().split(b"\n")[:-1]]
    before = {sha: server.asked[sha] for sha in scored}

    assert main([str(run)]) == 3
    assert start(server, tmp_path, "--run-name=run", f"--shard=2/{SHARDS}").wait(timeout=120) == 0
    assert main([str(run)]) == 0
    assert files(run) == one
    assert scored
    assert {sha: server.asked[sha] for sha in scored} == before, "a scored trial was asked again"


def test_a_merge_that_is_killed_has_lost_nothing(shards: Path, one: dict[str, Any]) -> None:
    journals = {path: path.read_bytes() for path in shards.glob("shards/*/journal.jsonl")}
    for _ in range(8):
        merge = subprocess.Popen(
            [sys.executable, "-m", "needlework", "merge", str(shards)],
            cwd=ROOT, start_new_session=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        time.sleep(CHANCE.uniform(0.3, 2.0))
        if merge.poll() is None:
            kill(merge)
        kept = shards / "journal.jsonl"
        lines = kept.read_bytes().split(b"\n") if kept.exists() else [b""]
        assert lines.pop() == b""
        assert len(lines) in (0, CELLS), "the old journal or the new one, whole"

    assert {path: path.read_bytes() for path in shards.glob("shards/*/journal.jsonl")} == journals
    assert main([str(shards)]) == 0
    assert files(shards) == one
    assert not list(shards.glob(".*.tmp"))
