"""`needlework launch` as a process, and the processes of its shards: looked at, killed, compared with one process."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psutil

ROOT = Path(__file__).parents[3]
_PATIENCE_S = 120.0
CELLS = 200
# 20 haystacks, ten cells each. Every answer takes its time, so that there is some to kill things in.
GRID = ("benchmarks", "--lengths=500,1000", "--depths=0:100:5", "--repeats=20", "--gate=score >= 0.9")


@dataclass
class Launches:
    """Launches of one run. `environment`: in addition to ours."""

    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    shards: int = 4
    model: str = "mock:sleep=0.3"
    _started: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def run(self):
        return self.folder / "r"

    def words(self, *more):
        return [*GRID, f"--model={self.model}", f"--results-dir={self.folder}", "--run-name=r", *more]

    def one_process(self):
        command = [sys.executable, "-m", "pytest", "-q", *self.words()]
        subprocess.run(command, cwd=ROOT, env=self._env(), check=True, stdout=subprocess.DEVNULL, timeout=300)

    def start(self, engine, *options, words=()):
        command = [sys.executable, "-m", "needlework", "launch", engine, f"--shards={self.shards}", *options]
        command += ["--", *self.words(*words)]
        started = subprocess.Popen(
            command, cwd=ROOT, env=self._env(), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip
        self._started.append(started)
        return started

    def ended(self, launch):
        """Wait for a launch to end; its exit code, and what it said."""
        said, _ = launch.communicate(timeout=300)
        return launch.returncode, said

    def ended_whole(self, launch, one):
        """What a launch says that ends with the results of the run `one`."""
        code, said = self.ended(launch)
        assert code == 0, said
        assert same_results(one, self.run)
        return said

    def asked_once(self):
        """Whether no cell was asked twice."""
        return [self.answered(shard) for shard in (1, 2, 3, 4)] == [50] * 4

    def _env(self):
        return {**os.environ, "PYTHONPATH": str(ROOT), **self.environment}

    def answered(self, shard):
        journal = self.run / "shards" / f"{shard}-of-{self.shards}" / "journal.jsonl"
        return journal.read_bytes().count(b"\n") if journal.exists() else 0

    def wait_for(self, shard, cells):
        wait_until(lambda: self.answered(shard) >= cells, f"{cells} cells of shard {shard}")

    def process(self, shard, module):
        """The process of a shard."""
        for process in psutil.process_iter(["cmdline"]):
            words = process.info["cmdline"] or []
            named = words[1:3] == ["-m", module] and f"{shard}/{self.shards}" in words
            if named and any(str(self.folder) in word for word in words):
                return process
        raise AssertionError(f"no process of shard {shard}")

    def kill(self, shard, module):
        self.process(shard, module).kill()

    def log(self, shard):
        return (self.run / "launch" / f"shard-{shard}-of-{self.shards}.log").read_text(encoding="utf-8")

    def close(self):
        for each in self._started:
            if each.poll() is None:
                each.send_signal(signal.SIGTERM)
                each.communicate(timeout=90)


def wait_until(true, what, seconds=_PATIENCE_S):
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until, f"waited {seconds:.0f} s for {what}"
        time.sleep(0.2)


def same_results(one, other):
    """Whether two runs have the same results.json, apart from times and who answered, and the same cells.csv."""
    a, b = (json.loads((run / "results.json").read_text(encoding="utf-8")) for run in (one, other))
    del a["latency"], b["latency"]
    for records in (a["records"], b["records"]):
        assert len(records) == CELLS
        for record in records:
            del record["timing"]
            record["response"].pop("latency_s", None)
    told = (a.keys() | b.keys()) - {"run", "latency"}  # its name and times
    assert [name for name in told if a.get(name) != b.get(name)] == []
    return (one / "cells.csv").read_bytes() == (other / "cells.csv").read_bytes()
