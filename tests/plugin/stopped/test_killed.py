"""`kill -9` at any moment, then the same command again: the same final files, and no scored trial asked twice.

The model is a server that counts its requests: it is the one witness that cannot be fooled by our own files.
One kill, and 60 more that are slow. A seed of `NEEDLEWORK_KILL_SEED` tries other moments.
"""

from __future__ import annotations

import csv
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.loopback import Loopback, loopback, mixed

ROOT = Path(__file__).parents[3]
SEED = int(os.environ.get("NEEDLEWORK_KILL_SEED", "1"))
CONCURRENCY = 6
GRID = ("--lengths=300,400", "--depths=0,40,100", "--repeats=8", "--answer-budget=16", "--corpus=pydoc")
CELLS = 2 * 3 * 8
TIMES = ("latency_s", "ttft_s", "tokens_per_s", "cached_tokens", "attempts")


@dataclass
class Command:
    """`pytest benchmarks` against one server into one folder, as a user types it."""

    server: Loopback
    runs: Path
    name: str
    log: list[str] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        return self.runs / self.name

    def start(self, workers: int) -> subprocess.Popen[bytes]:
        """Begin it, in a session of its own, so that it can be killed with everything that it started."""
        return subprocess.Popen(
            [
                sys.executable, "-m", "pytest", str(ROOT / "benchmarks"), "-q", f"-n{workers}", *GRID,
                "-p", "no:cacheprovider", "-p", "no:hypothesispytest", "--rootdir", str(ROOT),
                "--model=openai:gpt-4", "--template=raw", f"--base-url={self.server.url}",
                f"--concurrency={CONCURRENCY}", f"--results-dir={self.runs}", f"--run-name={self.name}",
            ],
            cwd=ROOT, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )  # fmt: skip

    def finish(self, workers: int) -> None:
        """Run it to its end."""
        process = self.start(workers)
        _, said = process.communicate(timeout=180)
        assert process.returncode == 0, said.decode()

    def scored(self) -> set[str]:
        """The sha256 of every prompt whose trial the journal has; only its last line may be torn."""
        path = self.folder / "journal.jsonl"
        *lines, _torn = path.read_bytes().split(b"\n") if path.exists() else [b""]
        records = [json.loads(line) for line in lines]
        return {r["prompt"]["sha256"] for r in records if r["outcome"] not in ("error", "invalid", "skipped")}

    def files(self) -> dict[str, Any]:
        """What the run left, without what may differ between two runs: times, and who asked."""
        content: dict[str, Any] = {"names": sorted(path.name for path in self.folder.iterdir())}
        results = json.loads((self.folder / "results.json").read_text("utf-8"))
        del (
            results["latency"],
            results["run"],
            results["models"],
        )  # times, and what the manifest knew when it was killed
        for record in results["records"]:
            del record["timing"]
        rows = list(csv.DictReader((self.folder / "results.csv").open(encoding="utf-8", newline="")))
        content |= {"json": results, "csv": [{k: v for k, v in row.items() if k not in TIMES} for row in rows]}
        return content | {path.name: path.read_bytes() for path in self.folder.glob("heatmap-*.png")}


@pytest.fixture(scope="module")
def server() -> Iterator[Loopback]:
    with loopback(mixed, latency_s=(0.01, 0.06)) as running:
        yield running


@pytest.fixture(scope="module")
def undisturbed(server: Loopback, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    command = Command(server, tmp_path_factory.mktemp("undisturbed"), "run")
    command.finish(workers=0)
    assert server.asked.total() == CELLS
    assert len(server.asked) == CELLS
    return command.files()


@pytest.mark.parametrize(
    ("chain", "kills"), [(0, 1), *(pytest.param(chain, 5, marks=pytest.mark.slow) for chain in range(1, 13))]
)
def test_a_killed_run_goes_on_and_ends_like_an_undisturbed_one(
    chain: int, kills: int, server: Loopback, undisturbed: dict[str, Any], tmp_path: Path
) -> None:
    chance = random.Random(f"{SEED} {chain}")
    command = Command(server, tmp_path, "run")
    server.asked.clear()
    frozen: dict[str, int] = {}
    killed, sessions = 0, 0
    while killed < kills:
        workers = chance.choice((0, 2, 2, 3))
        process = command.start(workers)
        try:
            killed += _kill_somewhere(process, command, workers, chance)
        finally:
            sessions += 1
        for sha, asked in frozen.items():
            assert server.asked[sha] == asked, f"a scored trial was asked again; {command.log}"
        frozen |= {sha: server.asked[sha] for sha in command.scored()}
        command.log.append(f"  scored {len(frozen)} of {CELLS}, asked {server.asked.total()} times")
    command.finish(workers=chance.choice((0, 2)))
    print("\n".join(command.log))

    repeated = server.asked.total() - CELLS
    print(f"chain {chain}: {killed} kills, {sessions + 1} sessions, {repeated} requests repeated")
    assert {sha: server.asked[sha] for sha in frozen} == frozen, "a scored trial was asked again"
    assert len(server.asked) == CELLS
    # What was in flight, and what workers without a controller ask before they notice.
    assert repeated <= 2 * killed * CONCURRENCY, command.log
    assert command.files() == undisturbed


def _kill_somewhere(process: subprocess.Popen[bytes], command: Command, workers: int, chance: random.Random) -> int:
    """Kill a part of a run at a random moment; returns how many kills it took."""
    server, left = command.server, CELLS - len(command.server.asked)
    kind = chance.choice(
        ("start", "requests", "requests", "requests", "end") if left else ("any", "writing", "writing")
    )
    if kind == "writing":
        moment = 0.0
        while process.poll() is None and not list(command.folder.glob(".*.tmp")):
            time.sleep(0.0002)
    elif kind in ("start", "any"):
        moment = chance.uniform(0, 3 if kind == "start" else 7)  # an empty session takes some four seconds
        _sleep_while_alive(process, moment)
    else:
        wanted = left if kind == "end" else chance.randint(1, max(1, left // 2))
        server.wait_for(server.asked.total() + wanted, 60)
        moment = chance.uniform(0, 3 if kind == "end" else 0.05)
        _sleep_while_alive(process, moment)
    victim = chance.choice(("controller", "worker", "all", "all")) if workers else "all"
    command.log.append(f"-n {workers}: {victim} killed at {kind} + {moment:.2f} s; alive: {process.poll() is None}")
    if process.poll() is not None:
        process.communicate()
        return 0
    kills = 1
    children = [child for child in psutil.Process(process.pid).children(recursive=True) if child.is_running()]
    if victim == "worker" and children:
        chance.choice(children).kill()
        _sleep_while_alive(process, chance.uniform(0.1, 2.0))
        kills += process.poll() is None
    if victim == "controller":
        process.kill()  # its workers are left alone; they must not go on asking for long
    else:
        _kill_group(process.pid)
    process.communicate()
    return kills


def _sleep_while_alive(process: subprocess.Popen[bytes], seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until and process.poll() is None:
        time.sleep(0.005)


def _kill_group(leader: int) -> None:
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        return
