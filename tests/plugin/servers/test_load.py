"""Many requests in flight at a server that fails every fifth of them: every cell is scored or truly failed, none is
lost, none asked twice.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.storm_server import FAULTS, ROOT, storm_server

CONCURRENCY, RETRIES, DEPTHS = 64, 4, 10
TRANSIENT = {"rate_limit", "server", "timeout", "protocol"}


def run(folder: Path, url: str, *args: str) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable, "-m", "pytest", "benchmarks/test_niah.py", "-q", "-p", "no:cacheprovider",
        "-p", "no:hypothesispytest", "--model=openai:gpt-4", "--template=raw", f"--base-url={url}", "--corpus=pydoc",
        "--lengths=400", f"--results-dir={folder}", "--run-name=r", f"--concurrency={CONCURRENCY}",
        f"--retries={RETRIES}", *args,
    ]  # fmt: skip
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)


def journal(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "r" / "journal.jsonl").read_text(encoding="ascii").splitlines()]


@pytest.mark.parametrize(
    ("workers", "repeats"), [(0, 30), *(pytest.param(n, 200, marks=pytest.mark.slow) for n in (0, 2))]
)
def test_a_storm_loses_no_cell_and_asks_none_twice(workers: int, repeats: int, tmp_path: Path) -> None:
    grid = (f"--depths=0:100:{DEPTHS}", f"--repeats={repeats}", "--timeout=4", f"-n{workers}")
    with storm_server(latency_s=0.05, failing=0.2) as storm:
        result = run(tmp_path, storm.url, *grid)
        seen = storm.seen()
    assert result.returncode in (0, 1), result.stdout + result.stderr

    records = journal(tmp_path)
    assert len({record["id"] for record in records}) == len(records) == DEPTHS * repeats
    scored = [record for record in records if record["outcome"] == "found"]
    failed = [record for record in records if record["outcome"] == "error"]
    assert len(scored) + len(failed) == len(records)
    assert len(failed) <= 0.02 * len(records)
    assert all(record["error"]["kind"] in TRANSIENT for record in failed)
    assert all(record["timing"]["attempts"] > RETRIES for record in failed), "given up too early"

    # What the server saw. Some cells have the same prompt: at 400 tokens two depths can mean one place.
    trials = Counter(record["prompt"]["sha256"] for record in records)
    attempts: Counter[str] = Counter()
    for record in records:
        attempts[record["prompt"]["sha256"]] += record["timing"]["attempts"]
    answers = Counter(record["prompt"]["sha256"] for record in scored)
    assert {key: seen["answered"].get(key, 0) for key in trials} == {key: answers[key] for key in trials}
    # A kept connection that is closed before a byte came costs no attempt.
    free = [seen["asked"][key] - attempts[key] for key in trials]
    assert min(free) >= 0
    assert sum(free) <= seen["faults"]["dropped before"]
    assert seen["most_in_flight"] <= CONCURRENCY
    assert workers or seen["most_in_flight"] > CONCURRENCY / 2, "a worker knows only the cells that it has been given"
    assert set(seen["faults"]) == {"", *FAULTS}, "every fault was met"


@pytest.mark.slow
def test_a_rejected_key_ends_the_run_with_one_line(tmp_path: Path) -> None:
    with storm_server(refuses=True) as storm:
        result = run(tmp_path, storm.url, "--depths=0:100:10", "--repeats=20", "-n2")
        seen = storm.seen()
    assert result.returncode == 2, result.stdout + result.stderr
    assert "stopped: the server refuses the key: HTTP 401: Incorrect API key provided" in result.stdout
    assert len(journal(tmp_path)) <= 2, "one cell of each worker"
    assert sum(seen["asked"].values()) <= CONCURRENCY


@pytest.mark.slow
def test_a_dead_server_ends_the_run_and_the_next_run_goes_on(tmp_path: Path) -> None:
    grid = ("--depths=0:100:10", "--repeats=3")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    result = run(tmp_path, f"http://127.0.0.1:{port}/v1", *grid)
    assert result.returncode == 2, result.stdout + result.stderr
    assert f"stopped: http://127.0.0.1:{port}/v1 never answered" in result.stdout
    assert len(journal(tmp_path)) == 1, "the rest was not asked"

    with storm_server(port=port) as storm:
        result = run(tmp_path, storm.url, *grid)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "30 scored" in result.stdout
