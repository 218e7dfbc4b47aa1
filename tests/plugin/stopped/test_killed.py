"""`kill -9` at any moment, then the same command again: the same final files, and no scored trial asked twice.

The model is a server that counts its requests: it is the one witness that cannot be fooled by our own files.
61 kills. A seed of `NEEDLEWORK_KILL_SEED` tries other moments.
"""

from __future__ import annotations

import csv
import json
import os
import random
import subprocess
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

import psutil
import pytest

from needlework.results.merge.command import main
from tests.loopback import Loopback, loopback, mixed
from tests.plugin.conftest import ROOT, comparable, kill, output_of, start, wait_until

SEED = int(os.environ.get("NEEDLEWORK_KILL_SEED", "1"))
CONCURRENCY = 6
GRID = ("--lengths=300,400", "--depths=0,40,100", "--repeats=8", "--answer-budget=16", "--corpus=pydoc")
CELLS, SHARDS = 2 * 3 * 8, 3
TIMES = ("latency_s", "ttft_s", "tokens_per_s", "cached_tokens", "attempts")


@dataclass
class Command:
    """`pytest benchmarks` against one server into one folder, as a user types it."""

    server: Loopback
    runs: Path
    log: list[str] = field(default_factory=list)

    @property
    def folder(self):
        return self.runs / "run"

    def start(self, workers, *more):
        return start(
            ROOT, str(ROOT / "benchmarks"), "-q", f"-n{workers}", *GRID, "--rootdir", str(ROOT),
            "--model=openai:gpt-4", "--template=raw", f"--base-url={self.server.url}", f"--concurrency={CONCURRENCY}",
            f"--results-dir={self.runs}", "--run-name=run", *more,
        )  # fmt: skip

    def finish(self, workers, *more):
        process = self.start(workers, *more)
        text = output_of(process)
        assert process.returncode == 0, text

    def scored(self, folder="."):
        """The sha256 of every prompt whose trial the journal has; only its last line may be torn."""
        path = self.folder / folder / "journal.jsonl"
        *lines, _torn = path.read_bytes().split(b"\n") if path.exists() else [b""]
        records = [json.loads(line) for line in lines]
        return {r["prompt"]["sha256"] for r in records if r["outcome"] not in ("error", "invalid", "skipped")}

    def results(self):
        """Numbers and pictures, without times, and without what the manifest knew when it was killed."""
        results = comparable(json.loads((self.folder / "results.json").read_text("utf-8")))
        return {"json": results} | {path.name: path.read_bytes() for path in self.folder.glob("heatmap-*")}

    def files(self):
        """All that one process leaves, without times and who asked."""
        rows = list(csv.DictReader((self.folder / "results.csv").open(encoding="utf-8", newline="")))
        return self.results() | {
            "names": sorted(path.name for path in self.folder.iterdir()),
            "csv": [{name: value for name, value in row.items() if name not in TIMES} for row in rows],
        }


@pytest.fixture(scope="module")
def server():
    with loopback(mixed, latency_s=(0.01, 0.06)) as running:
        yield running


@pytest.fixture(scope="module")
def undisturbed(server, tmp_path_factory):
    command = Command(server, tmp_path_factory.mktemp("undisturbed"))
    command.finish(workers=0)
    assert server.asked.total() == len(server.asked) == CELLS
    return command


@pytest.mark.slow
@pytest.mark.parametrize(("chain", "kills"), [(0, 1), *((chain, 5) for chain in range(1, 13))])
def test_a_killed_run_goes_on_and_ends_like_an_undisturbed_one(chain, kills, server, undisturbed, tmp_path):
    chance = random.Random(f"{SEED} {chain}")
    command = Command(server, tmp_path)
    server.asked.clear()
    frozen = {}
    killed = 0
    while killed < kills:
        workers = chance.choice((0, 2, 2, 3))
        killed += _kill_somewhere(command.start(workers), command, workers, chance)
        for sha, times in frozen.items():
            assert server.asked[sha] == times, f"a scored trial was asked again; {command.log}"
        frozen |= {sha: server.asked[sha] for sha in command.scored()}
        command.log.append(f"  scored {len(frozen)} of {CELLS}, asked {server.asked.total()} times")
    command.finish(workers=chance.choice((0, 2)))
    repeated = server.asked.total() - CELLS
    print("\n".join([*command.log, f"chain {chain}: {killed} kills, {repeated} requests repeated"]))

    assert {sha: server.asked[sha] for sha in frozen} == frozen, "a scored trial was asked again"
    assert len(server.asked) == CELLS
    # What was in flight, and what workers without a controller ask before they notice.
    assert repeated <= 2 * killed * CONCURRENCY, command.log
    assert command.files() == undisturbed.files()


def _kill_somewhere(process, command, workers, chance):
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
        with suppress(psutil.NoSuchProcess):  # it may end by itself meanwhile
            chance.choice(children).kill()
        _sleep_while_alive(process, chance.uniform(0.1, 2.0))
        kills += process.poll() is None
    if victim == "controller":
        process.kill()  # its workers are left alone; they must not go on asking for long
        process.communicate()
    else:
        kill(process)
    return kills


def _sleep_while_alive(process, seconds):
    with suppress(subprocess.TimeoutExpired):
        process.wait(seconds)


@pytest.mark.slow
def test_killed_shards_and_merges_lose_nothing(server, undisturbed, tmp_path, monkeypatch):
    killed = threading.Event()

    def held_after_ten(request):
        """The shard cannot end before it is killed: later prompts have no answer until then."""
        if request.is_trial and sha256(request.prompt.encode()).hexdigest() not in list(server.asked)[:10]:
            killed.wait()
        return mixed(request)

    server.asked.clear()
    command = Command(server, tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(server, "say", held_after_ten)
        second = command.start(0, f"--shard=2/{SHARDS}")
        wait_until(lambda: len(command.scored(f"shards/2-of-{SHARDS}")) > 1, second)
        kill(second)
    killed.set()
    before = {sha: server.asked[sha] for sha in command.scored(f"shards/2-of-{SHARDS}")}
    command.finish(0, f"--shard=1/{SHARDS}")
    command.finish(2, f"--shard=3/{SHARDS}")
    assert main([str(command.folder)]) == 3
    command.finish(0, f"--shard=2/{SHARDS}")
    assert before
    assert {sha: server.asked[sha] for sha in before} == before, "a scored trial was asked again"

    journals = {path: path.read_bytes() for path in command.folder.glob("shards/*/journal.jsonl")}
    merged = command.folder / "journal.jsonl"
    for seconds in (0, 0, 0.01, 0.05, 0.2, 0.5):  # after it has begun to write
        merged.unlink(missing_ok=True)
        merge = start(ROOT, str(command.folder), program=("needlework", "merge"))
        wait_until(lambda: merged.exists() and merged.stat().st_size, merge)
        _sleep_while_alive(merge, seconds)
        kill(merge)
        assert merged.read_bytes().count(b"\n") == CELLS, "the new journal, whole"
    assert {path: path.read_bytes() for path in journals} == journals
    assert main([str(command.folder)]) == 0
    assert command.results() == undisturbed.results()
    assert not list(command.folder.glob(".*.tmp"))
